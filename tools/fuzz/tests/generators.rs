//! What the inputs of the targets are made into: inputs that are refused at once test little of what follows.

use std::collections::BTreeMap;

// Nothing here is a target. But all suites are linked together when one is fuzzed by coverage, and what counts the coverage is
// in this crate.
use bolero as _;
use fuzz::{READERS, Read, generated};
use prost::Message;
use prost_types::FileDescriptorSet;

/// Random bytes from a seed.
fn random<const N: usize>(seed: u32) -> [u8; N] {
    let mut bytes = [0; N];
    blake3::Hasher::new().update(&seed.to_le_bytes()).finalize_xof().fill(&mut bytes);
    bytes
}

#[test]
fn many_of_the_generated_messages_are_good() {
    let mut good = BTreeMap::<&str, [u32; 2]>::new();
    for seed in 0..20_000 {
        let (name, read) = generated(&random::<300>(seed));
        let tally = good.entry(name).or_default();
        tally[0] += u32::from(read == Read::Good);
        tally[1] += 1;
    }
    for reader in READERS {
        let [good, all] = good[reader.name];
        assert!(good * 20 > all, "{}: {good} of {all}", reader.name);
    }
}

#[test]
fn every_message_of_the_services_is_read() {
    let files = FileDescriptorSet::decode(wire::DESCRIPTORS).expect("they were encoded so");
    let methods = files.file.iter().flat_map(|file| &file.service).flat_map(|s| &s.method);
    for message in methods.flat_map(|method| [method.input_type(), method.output_type()]) {
        let name = message.rsplit('.').next().expect("it has a name");
        assert!(READERS.iter().any(|reader| reader.name == name), "READERS lacks {name}");
    }
}

//! Messages of any kind, made from the descriptors: well-formed for the most part, and often such as
//! an honest program might send.

use std::collections::HashMap;
use std::sync::LazyLock;

use board::{Cut, Method, Problem};
use farm::{
    Across, AuditPolicy, AuditView, Held, JobState, LoanKind, LoanProof, LostWorkers, Maker, Plan,
    Range, Suspect,
};
use prost::Message;
use prost::encoding::{WireType, encode_key, encode_varint};
use prost_types::field_descriptor_proto::{Label, Type};
use prost_types::{DescriptorProto, FieldDescriptorProto, FileDescriptorProto, FileDescriptorSet};

use crate::source::Source;

/// Messages within messages; none of ours goes deeper.
const MAX_DEPTH: u32 = 8;

/// By full name, with a dot before it.
static KINDS: LazyLock<HashMap<String, DescriptorProto>> = LazyLock::new(|| {
    let files = FileDescriptorSet::decode(wire::DESCRIPTORS).expect("they were encoded so");
    let of_file = |file: FileDescriptorProto| {
        let package = file.package().to_owned();
        let named = move |kind: DescriptorProto| (format!(".{package}.{}", kind.name()), kind);
        file.message_type.into_iter().map(named)
    };
    files.file.into_iter().flat_map(of_file).collect()
});

/// The bytes of a message of this kind, named without its package.
pub(crate) fn message(name: &str, source: &mut Source<'_>) -> Vec<u8> {
    let mut bytes = Vec::new();
    encode(&format!(".queens.v1.{name}"), 0, source, &mut bytes);
    bytes
}

fn encode(name: &str, depth: u32, source: &mut Source<'_>, out: &mut Vec<u8>) {
    // A made-up plan is refused for its fingerprint.
    if name == ".queens.v1.Plan" && !source.one_in(4) {
        return out.extend(plan(source));
    }
    // A made-up seed is refused for its commitment, and eight ranges for the one that is empty.
    if name == ".queens.v1.Audit" && !source.one_in(16) {
        return out.extend(audit(source));
    }
    if name == ".queens.v1.Held" && !source.one_in(16) {
        return out.extend(held(source));
    }
    if name == ".queens.v1.LostWorkers" && !source.one_in(16) {
        return out.extend(lost(source));
    }
    let kind = &KINDS[name];
    // One field of each `oneof` is set; all lists of a message have the same length.
    let chosen: Vec<usize> = (0..kind.oneof_decl.len())
        .map(|oneof| {
            let is_of = |field: &&FieldDescriptorProto| field.oneof_index == Some(oneof as i32);
            source.below(kind.field.iter().filter(is_of).count())
        })
        .collect();
    let mut seen = vec![0; kind.oneof_decl.len()];
    let len = source.below(6);
    for field in &kind.field {
        if let Some(oneof) = field.oneof_index {
            let place = seen[oneof as usize];
            seen[oneof as usize] += 1;
            if place != chosen[oneof as usize] {
                continue;
            }
        }
        // A job has so many fields that one of those without which it means nothing is often missing.
        if !source.one_in(32) {
            encode_field(field, len, depth, source, out);
        }
    }
}

fn encode_field(
    field: &FieldDescriptorProto,
    len: usize,
    depth: u32,
    source: &mut Source<'_>,
    out: &mut Vec<u8>,
) {
    let tag = field.number() as u32;
    let is_list = field.label() == Label::Repeated;
    let len = if source.one_in(16) { source.below(9) } else { len };
    match field.r#type() {
        Type::Message => {
            for _ in 0..if is_list { len } else { 1 } {
                let mut bytes = Vec::new();
                if depth < MAX_DEPTH {
                    encode(field.type_name(), depth + 1, source, &mut bytes);
                }
                delimited(tag, &bytes, out);
            }
        }
        Type::String => delimited(tag, text(field.name(), source).as_bytes(), out),
        Type::Bytes => {
            if field.name() == "proof" && !source.one_in(16) {
                return delimited(tag, &proof(source), out);
            }
            let len = match field.name() {
                "fingerprint" => 32,
                "digest" if !source.one_in(16) => 16,
                _ => len,
            };
            let bytes: Vec<u8> = (0..len).map(|_| 1 + source.byte() % 8).collect();
            delimited(tag, &bytes, out);
        }
        Type::Fixed32 | Type::Sfixed32 | Type::Float => {
            scalars(tag, WireType::ThirtyTwoBit, is_list, len, out, || {
                (source.number() as u32).to_le_bytes().to_vec()
            });
        }
        Type::Fixed64 | Type::Sfixed64 | Type::Double => {
            scalars(tag, WireType::SixtyFourBit, is_list, len, out, || {
                source.number().to_le_bytes().to_vec()
            });
        }
        _ => scalars(tag, WireType::Varint, is_list, len, out, || {
            let number = match field.name() {
                "protocol" if !source.one_in(16) => wire::PROTOCOL.into(),
                // More than `start`, as a rule.
                "end" => source.number().saturating_add(12),
                "shard" | "share_ppm" if !source.one_in(16) => 1 + source.below(2) as u64,
                "state" if !source.one_in(16) => 1 + source.below(5) as u64,
                "shards" if !source.one_in(16) => 2 + source.below(9) as u64,
                _ => source.number(),
            };
            let mut bytes = Vec::new();
            encode_varint(number, &mut bytes);
            bytes
        }),
    }
}

fn scalars(
    tag: u32,
    wire_type: WireType,
    is_list: bool,
    len: usize,
    out: &mut Vec<u8>,
    mut scalar: impl FnMut() -> Vec<u8>,
) {
    if is_list {
        let packed: Vec<u8> = (0..len).flat_map(|_| scalar()).collect();
        delimited(tag, &packed, out);
    } else {
        encode_key(tag, wire_type, out);
        out.extend(scalar());
    }
}

fn delimited(tag: u32, bytes: &[u8], out: &mut Vec<u8>) {
    encode_key(tag, WireType::LengthDelimited, out);
    encode_varint(bytes.len() as u64, out);
    out.extend_from_slice(bytes);
}

fn text(name: &str, source: &mut Source<'_>) -> String {
    let is_name = matches!(name, "owner" | "key");
    match source.below(8) {
        1.. if is_name => "rack7".into(),
        0 => String::new(),
        1 => "x".repeat(129),
        _ if name == "total" => (u128::from(source.number()) << source.below(64)).to_string(),
        _ => source.choose(&["a", "worker-1", "avx512", "search", "Zoë", "\x1b[2J"]).to_string(),
    }
}

/// The form of a proof of a loan.
fn proof(source: &mut Source<'_>) -> Vec<u8> {
    let start = source.number() >> 1;
    let range = Range::new(start, start + 1).expect("it has a task");
    let kind = *source.choose(&[LoanKind::Count, LoanKind::Recount]);
    LoanProof { range, kind, seal: [source.byte(); 16] }.to_bytes().to_vec()
}

/// An audit as the farm shows it, of a job that runs or is over.
fn audit(source: &mut Source<'_>) -> Vec<u8> {
    let (share_ppm, by_search) = (source.below(9) as u32, source.one_in(2));
    let (seed, salt) = (source.number() >> 1, source.number().into());
    let across = *source.choose(&[Across::Machines, Across::Owners]);
    let policy = AuditPolicy { share_ppm, seed, salt, by_search, across };
    let state = *source.choose(&[JobState::Running, JobState::Done]);
    wire::v1::Audit::from(AuditView::of(policy, state)).encode_to_vec()
}

/// Workers that a job has lost.
fn lost(source: &mut Source<'_>) -> Vec<u8> {
    let lost = LostWorkers {
        maker: Maker { owner: "o".into(), machine: "m".into() },
        processes: source.byte().into(),
        threads: source.byte().into(),
        memory: source.number(),
        memory_kills: source.number(),
    };
    wire::v1::LostWorkers::from(lost).encode_to_vec()
}

/// Why a job is held, with some suspects.
fn held(source: &mut Source<'_>) -> Vec<u8> {
    let suspects = source.below(1 + Suspect::NAMED) as u64;
    let range = |start| Range::new(start, start + 1).expect("it has a task");
    let maker = Maker { owner: "o".into(), machine: "m".into() };
    let suspect = |start| Suspect {
        range: range(start),
        count: start,
        worker: "a".into(),
        maker: maker.clone(),
    };
    let held = Held { reason: text("reason", source), worst: (0..suspects).map(suspect).collect() };
    wire::v1::Held::from(held).encode_to_vec()
}

/// A plan as the farm makes it, of a small board.
fn plan(source: &mut Source<'_>) -> Vec<u8> {
    let plan = small_plan(source);
    // The number of tasks that a plan states is believed until they are counted.
    let tasks = if source.one_in(4) { source.number() } else { plan.tasks };
    wire::v1::Plan::from(&Plan { tasks, ..plan }).encode_to_vec()
}

/// A plan of a small board.
pub(crate) fn small_plan(source: &mut Source<'_>) -> Plan {
    let n = 4 + source.below(5) as u32;
    let rows = Method::Rows { rows: source.below(4) as u32 };
    let (problem, method) = match source.below(6) {
        0 => (Problem::Total { n }, rows),
        1 => (Problem::Total { n }, Method::Ring { width: 1 + source.below(2) as u32 }),
        2 => (Problem::Fundamental { n }, Method::Halves),
        3 => (Problem::Toroidal { n }, rows),
        4 => (Problem::Superqueens { n }, rows),
        _ => {
            let queens = board::squares::parse_squares("b4").expect("it is a square");
            let given = board::Given::new(n, &queens).expect("it stands so");
            (Problem::Completions(given), rows)
        }
    };
    let tasks = Cut::new(problem, method).expect("it is cut so").len();
    Plan { problem, method, tasks }
}

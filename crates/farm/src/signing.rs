//! Keys and signatures: Ed25519, as RFC 8032 defines it.
//!
//! A signature says who holds a key, and nothing about what was signed. [`crate::Statement`] is what workers sign.

use std::fmt;
use std::str::FromStr;

use ring::signature::{ED25519, Ed25519KeyPair, KeyPair, UnparsedPublicKey};

use crate::hexadecimal;

/// A key by which signatures are verified.
#[derive(Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct PublicKey(pub [u8; 32]);

/// A signature.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct Signature(pub [u8; 64]);

/// A key that signs, which only its holder knows.
pub struct SigningKey(Ed25519KeyPair);

impl SigningKey {
    /// The key that follows from these bytes, which are chosen at random and kept secret.
    #[must_use]
    pub fn from_seed(seed: &[u8; 32]) -> SigningKey {
        let pair = Ed25519KeyPair::from_seed_unchecked(seed);
        SigningKey(pair.expect("a seed has 32 bytes"))
    }

    /// The key by which others verify what this one signs.
    #[must_use]
    pub fn public(&self) -> PublicKey {
        let bytes = self.0.public_key().as_ref();
        PublicKey(bytes.try_into().expect("a public key has 32 bytes"))
    }

    /// Signs a text. The same key and text always have the same signature.
    #[must_use]
    pub fn sign(&self, text: &str) -> Signature {
        let signature = self.0.sign(text.as_bytes());
        Signature(signature.as_ref().try_into().expect("a signature has 64 bytes"))
    }
}

impl PublicKey {
    /// Whether the holder of this key has signed the text.
    #[must_use]
    pub fn has_signed(&self, text: &str, signature: &Signature) -> bool {
        let key = UnparsedPublicKey::new(&ED25519, &self.0);
        self.is_canonical()
            && self.has_secret()
            && key.verify(text.as_bytes(), &signature.0).is_ok()
    }

    /// Whether the number in its first 255 bits is below the prime 2^255 - 19, so that a key has one spelling.
    fn is_canonical(&self) -> bool {
        let [first, .., last] = self.0;
        let is_high = self.0[1..31].iter().all(|&byte| byte == 0xff) && last & 0x7f == 0x7f;
        !is_high || first < 0xed
    }

    /// Whether it can be somebody's key. Anybody can sign for a point of small order: one that is the neutral point eight times.
    fn has_secret(&self) -> bool {
        let mut number = self.0;
        number[31] &= 0x7f;
        !SMALL_ORDER.contains(&number)
    }
}

/// The numbers in the first 255 bits of all points of small order, with either sign: 1, 0, -1 and those of order 8.
const SMALL_ORDER: [[u8; 32]; 5] = [
    number_around(1, 0, 0),
    number_around(0, 0, 0),
    number_around(0xec, 0xff, 0x7f),
    [
        0x26, 0xe8, 0x95, 0x8f, 0xc2, 0xb2, 0x27, 0xb0, 0x45, 0xc3, 0xf4, 0x89, 0xf2, 0xef, 0x98,
        0xf0, 0xd5, 0xdf, 0xac, 0x05, 0xd3, 0xc6, 0x33, 0x39, 0xb1, 0x38, 0x02, 0x88, 0x6d, 0x53,
        0xfc, 0x05,
    ],
    [
        0xc7, 0x17, 0x6a, 0x70, 0x3d, 0x4d, 0xd8, 0x4f, 0xba, 0x3c, 0x0b, 0x76, 0x0d, 0x10, 0x67,
        0x0f, 0x2a, 0x20, 0x53, 0xfa, 0x2c, 0x39, 0xcc, 0xc6, 0x4e, 0xc7, 0xfd, 0x77, 0x92, 0xac,
        0x03, 0x7a,
    ],
];

/// The number of 32 bytes with this first one, this last one, and all others alike.
const fn number_around(first: u8, others: u8, last: u8) -> [u8; 32] {
    let mut number = [others; 32];
    (number[0], number[31]) = (first, last);
    number
}

/// What the text of a key begins with.
const PREFIX: &str = "ed25519:";

impl fmt::Display for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(PREFIX)?;
        hexadecimal::write(f, &self.0)
    }
}

/// A text that is no key.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
#[error("a key is written as {PREFIX} and 64 hexadecimal digits")]
pub struct NoKey;

impl FromStr for PublicKey {
    type Err = NoKey;

    fn from_str(text: &str) -> Result<PublicKey, NoKey> {
        let mut key = PublicKey([0; 32]);
        let digits = text.strip_prefix(PREFIX).ok_or(NoKey)?;
        hex::decode_to_slice(digits, &mut key.0).map_err(|_| NoKey)?;
        Ok(key)
    }
}

impl fmt::Debug for PublicKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

impl fmt::Debug for Signature {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        hexadecimal::write(f, &self.0)
    }
}

impl fmt::Debug for SigningKey {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SigningKey({})", self.public())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// RFC 8032, section 7.1, test 1.
    #[test]
    fn a_key_signs_as_the_standard_says() {
        let mut seed = [0; 32];
        let digits = "9d61b19deffd5a60ba844af492ec2cc44449c5697b326919703bac031cae7f60";
        hex::decode_to_slice(digits, &mut seed).expect("they are 32 bytes");
        let key = SigningKey::from_seed(&seed);
        let public = "ed25519:d75a980182b10ab7d54bfed3c964073a0ee172f3daa62325af021a68f707511a";
        assert_eq!(key.public().to_string(), public);
        let signature = "e5564300c360ac729086e2cc806e828a84877f1eb8e5d974d873e065224901555fb8821590a33bac\
                         c61e39701cf9b46bd25bf5f0595bbe24655141438e7a100b";
        assert_eq!(hex::encode(key.sign("").0), signature);
    }

    #[test]
    fn a_signature_is_one_key_s_of_one_text() {
        let [key, other] = [1, 2].map(|seed| SigningKey::from_seed(&[seed; 32]));
        let signature = key.sign("a text");
        assert!(key.public().has_signed("a text", &signature));
        assert!(!key.public().has_signed("a test", &signature));
        assert!(!other.public().has_signed("a text", &signature));
        for bit in 0..512 {
            let mut altered = signature;
            altered.0[bit / 8] ^= 1 << (bit % 8);
            assert!(!key.public().has_signed("a text", &altered), "bit {bit}");
        }
    }

    /// The signature is the base point of the curve and the number 1. Without the rule it is one of at least every eighth text, by
    /// each of these keys, and nobody has made it for them.
    #[test]
    fn nobody_signs_for_a_key_that_has_no_secret() {
        let mut signature = Signature([0x66; 64]);
        signature.0[0] = 0x58;
        signature.0[32..].fill(0);
        signature.0[32] = 1;
        let texts: Vec<String> = (0..64).map(|number| number.to_string()).collect();
        for sign in [0, 0x80] {
            for mut bytes in SMALL_ORDER {
                bytes[31] |= sign;
                let key = PublicKey(bytes);
                assert!(!texts.iter().any(|text| key.has_signed(text, &signature)), "{key}");
            }
        }
    }

    #[test]
    fn a_key_has_one_spelling() {
        let key = SigningKey::from_seed(&[3; 32]).public();
        assert_eq!(key.to_string().parse(), Ok(key));
        for wrong in ["", "ed25519:", &key.to_string()[8..], &key.to_string()[..70]] {
            assert_eq!(wrong.parse::<PublicKey>(), Err(NoKey));
        }
        // The numbers around the prime, lowest byte first.
        for (first, is_canonical) in [(0xec, true), (0xed, false), (0xff, false)] {
            let mut bytes = [0xff; 32];
            (bytes[0], bytes[31]) = (first, 0x7f);
            assert_eq!(PublicKey(bytes).is_canonical(), is_canonical, "{first}");
        }
    }
}

//! Computes the names under which results are cached: SHA-256 digests (FIPS 180-4) of everything
//! that a result depends on.

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A digest of everything that a cached result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Key([u8; 32]);

impl Key {
    /// Returns the digest of a value, computed from its JSON text.
    pub fn of(value: &impl Serialize) -> Key {
        // Plain data can always be written as JSON; any other value gets a unique key.
        match serde_json::to_vec(value) {
            Ok(text) => Key::bytes(&text),
            Err(error) => Key::bytes(format!("{:p} {error}", &raw const *value).as_bytes()),
        }
    }

    /// Returns the digest of some bytes.
    pub fn bytes(bytes: &[u8]) -> Key {
        Key(Sha256::digest(bytes).into())
    }

    /// Reads a digest that another program has computed with a cryptographic hash function: 64
    /// hexadecimal digits in lower case. Returns `None` for any other text.
    pub fn of_text(text: &str) -> Option<Key> {
        let digit = |byte: u8| matches!(byte, b'0'..=b'9' | b'a'..=b'f');
        let mut key = [0; 32];
        if text.len() != 2 * key.len() || !text.bytes().all(digit) {
            return None;
        }
        for (number, byte) in key.iter_mut().enumerate() {
            *byte = u8::from_str_radix(&text[2 * number..2 * number + 2], 16).ok()?;
        }
        Some(Key(key))
    }

    /// Returns a digest of this key and of the content of its file, which detects damaged files.
    pub(crate) fn seal(self, content: &[u8]) -> Key {
        Key(Sha256::new().chain_update(self.0).chain_update(content).finalize().into())
    }

    /// Returns the digest in hexadecimal.
    pub fn text(self) -> String {
        self.0.iter().map(|byte| format!("{byte:02x}")).collect()
    }
}

impl Serialize for Key {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        serializer.serialize_str(&self.text())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn digests_are_those_of_the_standard() {
        // FIPS 180-2, appendix B.1.
        let abc = "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad";
        assert_eq!(Key::bytes(b"abc").text(), abc);
    }

    #[test]
    fn only_digests_are_read() {
        let key = Key::bytes(b"abc");
        assert_eq!(Key::of_text(&key.text()), Some(key));
        for text in ["", "ba78", &key.text().to_uppercase(), &format!("{}0", key.text())] {
            assert_eq!(Key::of_text(text), None);
        }
        assert_eq!(Key::of_text(&format!("{}+f", &key.text()[2..])), None);
        assert_eq!(Key::of_text(&"é".repeat(32)), None);
    }

    #[test]
    fn values_that_look_alike_joined_have_different_keys() {
        assert_ne!(Key::of(&("ab", "c")), Key::of(&("a", "bc")));
    }
}

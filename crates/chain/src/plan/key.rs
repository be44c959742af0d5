//! Computes the names under which results are cached: SHA-256 digests (FIPS 180-4) of everything
//! that a result depends on.

use serde::{Serialize, Serializer};
use sha2::{Digest, Sha256};

/// A digest of everything that a cached result depends on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct Key([u8; 32]);

impl Key {
    /// Returns the digest of a value, computed from its JSON text.
    pub fn of(value: &impl Serialize) -> Key {
        // Plain data can always be written as JSON; any other value gets a unique key.
        match serde_json::to_vec(value) {
            Ok(text) => Key::bytes(&text),
            Err(error) => Key::bytes(format!("{:p} {error}", &raw const *value).as_bytes()),
        }
    }

    pub fn bytes(bytes: &[u8]) -> Key {
        Key(Sha256::digest(bytes).into())
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
    fn values_that_look_alike_joined_have_different_keys() {
        assert_ne!(Key::of(&("ab", "c")), Key::of(&("a", "bc")));
    }
}

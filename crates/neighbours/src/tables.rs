//! Hash tables for flows. They are the tables of the standard library with a faster hash function.

use std::collections::HashMap;
use std::hash::{BuildHasherDefault, Hash, Hasher};

use slowpath_random::mix;

use crate::header::FiveTuple;

/// A hash table whose keys are flows. It doubles its size when it is seven eighths full.
pub type FlowTable<V> = Table<FiveTuple, V>;

/// A hash table with a fast hash function for keys of a few words.
pub type Table<K, V> = HashMap<K, V, BuildHasherDefault<Mixing>>;

/// A hasher that mixes its input into the hash word by word.
#[derive(Clone, Debug, Default)]
pub struct Mixing(u64);

impl Mixing {
    fn add(&mut self, word: u64) {
        self.0 = mix(self.0.rotate_left(29) ^ word);
    }
}

impl Hasher for Mixing {
    fn write(&mut self, bytes: &[u8]) {
        for part in bytes.chunks(8) {
            let mut word = [0; 8];
            word[..part.len()].copy_from_slice(part);
            self.add(u64::from_le_bytes(word));
        }
    }

    fn write_u8(&mut self, value: u8) {
        self.add(value.into());
    }

    fn write_u16(&mut self, value: u16) {
        self.add(value.into());
    }

    fn write_u32(&mut self, value: u32) {
        self.add(value.into());
    }

    fn write_u64(&mut self, value: u64) {
        self.add(value);
    }

    fn finish(&self) -> u64 {
        self.0
    }
}

/// Hashes a flow as two 64-bit words, so that two mixing steps suffice.
impl Hash for FiveTuple {
    fn hash<H: Hasher>(&self, state: &mut H) {
        state.write_u64(u64::from(self.source) << 32 | u64::from(self.destination));
        state.write_u64(
            u64::from(self.protocol) << 32
                | u64::from(self.source_port) << 16
                | u64::from(self.destination_port),
        );
    }
}

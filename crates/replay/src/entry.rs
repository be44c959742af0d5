//! Initial map elements in the environment of the interpreter.

use slowpath_bpf::lift::{Keying, MapLayout};
use slowpath_exec::concrete::Environment;

/// An element of a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Key, with the key size of the map.
    pub key: Vec<u8>,
    /// Value, with the value size of the map.
    pub value: Vec<u8>,
}

/// Adds an element to a map, or to the inner map at the address `which`. Returns the element's
/// number.
pub fn install_at(
    layout: &MapLayout,
    which: Option<u64>,
    entry: &Entry,
    environment: &mut Environment,
) -> u64 {
    let number = number(layout, which, &entry.key, environment);
    if let Some(present) = layout.present {
        environment.memory.insert((present, number), 1);
    }
    set_value(layout, number, &entry.value, environment);
    number
}

/// Sets the value at a place of a map.
pub fn set_value(layout: &MapLayout, place: u64, value: &[u8], environment: &mut Environment) {
    let start = place << layout.element_bits;
    for (offset, &byte) in (0u64..).zip(value) {
        environment.memory.insert((layout.values, start.wrapping_add(offset)), byte);
    }
}

/// Returns the number of the element with a key: the key itself, or the number interned for its
/// words.
fn number(
    layout: &MapLayout,
    which: Option<u64>,
    key: &[u8],
    environment: &mut Environment,
) -> u64 {
    let word = |bytes: &[u8]| {
        let mut word = [0; 8];
        for (to, &byte) in word.iter_mut().zip(bytes) {
            *to = byte;
        }
        u64::from_le_bytes(word)
    };
    if layout.keying != Keying::Interned {
        return word(key);
    }
    let mut words: Vec<u64> = which.into_iter().chain(key.chunks(8).map(word)).collect();
    words.resize(words.len().max(2), 0);
    let mut number = intern((words[0], words[1]), environment);
    for &next in &words[2..] {
        number = intern((number, next), environment);
    }
    number
}

/// Returns the number of a pair, assigning a new one if necessary.
pub fn intern(pair: (u64, u64), environment: &mut Environment) -> u64 {
    let free = environment.unnumbered.unwrap_or(0);
    let number = *environment.interned.entry(pair).or_insert(free);
    environment.unnumbered = Some(free.max(number.saturating_add(1)));
    number.into()
}

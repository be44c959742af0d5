//! Writes map elements into the memory of the interpreter.

use slowpath_bpf::lift::{Keying, MapLayout};
use slowpath_exec::concrete::Environment;
use slowpath_ir::RegionId;

/// A map element to write into a map: a key and a value.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Entry {
    /// Key, with the key size of the map.
    pub key: Vec<u8>,
    /// Value, with the value size of the map.
    pub value: Vec<u8>,
}

/// Adds an element to a map in the interpreter, and returns the number that the interpreter uses
/// for the element. With a `map_address`, adds it to the inner map for which the interpreter uses
/// this address.
pub fn install_at(
    layout: &MapLayout,
    map_address: Option<u64>,
    entry: &Entry,
    environment: &mut Environment,
) -> u64 {
    let number = number(layout, map_address, &entry.key, environment);
    if let Some(present) = layout.present {
        environment.memory.insert((present, number), 1);
    }
    set_value(layout, number, &entry.value, environment);
    number
}

/// Writes the value of an element of a map. `place` is the position of the value in the memory of
/// the map.
pub fn set_value(layout: &MapLayout, place: u64, value: &[u8], environment: &mut Environment) {
    write(environment, layout.values, place << layout.element_bits, value);
}

/// Writes bytes to a region of the interpreter's memory, at consecutive offsets that begin with
/// `start`.
pub fn write(environment: &mut Environment, region: RegionId, start: u64, bytes: &[u8]) {
    for (offset, &byte) in (0u64..).zip(bytes) {
        environment.memory.insert((region, start.wrapping_add(offset)), byte);
    }
}

/// Returns the number that the interpreter uses for the element with a key. This is the key itself,
/// or an assigned number if the map's keys are interned (represented by numbers).
fn number(
    layout: &MapLayout,
    map_address: Option<u64>,
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
    let mut words: Vec<u64> = map_address.into_iter().chain(key.chunks(8).map(word)).collect();
    words.resize(words.len().max(2), 0);
    let mut number = intern((words[0], words[1]), environment);
    for &next in &words[2..] {
        number = intern((number, next), environment);
    }
    number
}

/// Returns the number that the interpreter uses for a pair of numbers. Such pairs represent map
/// keys. A new pair gets the next free number.
pub fn intern(pair: (u64, u64), environment: &mut Environment) -> u64 {
    let free = environment.unnumbered.unwrap_or(0);
    let number = *environment.interned.entry(pair).or_insert(free);
    environment.unnumbered = Some(free.max(number.saturating_add(1)));
    number.into()
}

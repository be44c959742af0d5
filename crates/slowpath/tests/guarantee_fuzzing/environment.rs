//! Creates packets and map content for runs: random ones, and those from the witness of a slowest
//! path.

use super::random::Random;
use serde_json::Value;
use slowpath_bpf::lift::{Keying, Layout, Lifted, MapLayout};
use slowpath_exec::concrete::Environment;
use slowpath_ir::RegionId;
use std::collections::BTreeSet;

/// Returns the first bytes of a random packet: usual headers such as Ethernet and IPv4, or random
/// bytes.
pub fn random_packet(random: &mut Random) -> Vec<u8> {
    let mut packet: Vec<u8> = (0..160).map(|_| random.byte()).collect();
    let mut at = 12;
    if random.one_in(5) {
        packet[12..14].copy_from_slice(&[[0x81, 0x00], [0x88, 0xa8]][random.below(2) as usize]);
        at = 16;
    }
    let protocol = [6, 17, 1, 4, 41, 58, 132, 47][random.below(8) as usize];
    match random.below(4) {
        0 | 1 => {
            packet[at..at + 2].copy_from_slice(&[0x08, 0x00]);
            packet[at + 2] = if random.one_in(4) { random.byte() } else { 0x45 };
            packet[at + 8] = if random.one_in(4) { 0x20 } else { 0 };
            packet[at + 9] = 0;
            packet[at + 11] = protocol;
        }
        2 => {
            packet[at..at + 2].copy_from_slice(&[0x86, 0xdd]);
            packet[at + 2] = 0x60;
            packet[at + 8] = protocol;
        }
        _ => {}
    }
    packet
}

/// Returns inputs and memory content with which a run takes the path of a witness. Bytes that the
/// witness leaves open have the value `fill`.
pub fn of_witness(lifted: &Lifted, witness: &Value, fill: u8) -> Environment {
    let mut environment = Environment::with_fill(&lifted.program, fill);
    if let (Some(input), Some(length)) = (lifted.program.packet_length, witness["length"].as_u64())
    {
        environment.inputs.insert(input, length);
    }
    let packet = witness["packet"].as_str().unwrap_or_default();
    for (offset, byte) in bytes(packet).into_iter().enumerate() {
        if let Some(byte) = byte {
            environment.memory.insert((lifted.layout.packet, offset as u64), byte);
        }
    }
    let none = serde_json::Map::new();
    for (name, entries) in witness["maps"].as_object().unwrap_or(&none) {
        let Some(map) = lifted.layout.maps.iter().find(|map| map.name == *name) else { continue };
        for entry in entries.as_array().into_iter().flatten() {
            install(&mut environment, map, entry);
        }
    }
    environment
}

/// Parses bytes in the format of witnesses: two hexadecimal digits each, `--` for any value.
fn bytes(hex: &str) -> Vec<Option<u8>> {
    let pairs = hex.as_bytes().chunks(2).map(|pair| std::str::from_utf8(pair).unwrap_or("--"));
    pairs.map(|pair| u8::from_str_radix(pair, 16).ok()).collect()
}

/// Stores the map entry of a witness in the memory of the program's map.
fn install(environment: &mut Environment, map: &MapLayout, entry: &Value) {
    let key: Vec<u8> = bytes(entry["key"].as_str().unwrap_or_default())
        .into_iter()
        .map(Option::unwrap_or_default)
        .collect();
    let number = match map.keying {
        Keying::Index | Keying::Number => {
            key.iter().rev().fold(0, |number, &byte| number << 8 | u64::from(byte))
        }
        Keying::Interned => {
            let map = entry["map"].as_str().and_then(|map| map.strip_prefix("0x"));
            let address = map.and_then(|digits| u64::from_str_radix(digits, 16).ok());
            number_of(environment, address, &key)
        }
    };
    let value = entry["value"].as_str();
    if let Some(present) = map.present {
        environment.memory.insert((present, number), value.is_some().into());
    }
    if map.identity.is_none() {
        for (offset, byte) in bytes(value.unwrap_or_default()).into_iter().enumerate() {
            if let Some(byte) = byte {
                let at = (number << map.element_bits) + offset as u64;
                environment.memory.insert((map.values, at), byte);
            }
        }
    }
}

/// Returns the number that stands for a map key of several 64-bit words. If the program has several
/// maps, the address of the map is the first word.
fn number_of(environment: &mut Environment, address: Option<u64>, key: &[u8]) -> u64 {
    let word = |chunk: &[u8]| chunk.iter().rev().fold(0, |word, &b| word << 8 | u64::from(b));
    let mut words: Vec<u64> = address.into_iter().chain(key.chunks(8).map(word)).collect();
    if words.len() < 2 {
        words.push(0);
    }
    let mut number = words[0];
    for &next in &words[1..] {
        let fresh = environment.interned.len() as u32 + 0x100;
        number = (*environment.interned.entry((number, next)).or_insert(fresh)).into();
    }
    number
}

/// Map elements that a program may access. Elements of arrays are identified by small indices,
/// elements of hash maps by numbers that stand for their keys.
pub struct Elements<'a> {
    layout: &'a Layout,
    numbers: Vec<u64>,
}

impl<'a> Elements<'a> {
    pub fn of(layout: &'a Layout, environment: &Environment) -> Self {
        let keys: BTreeSet<u64> =
            environment.interned.values().map(|&number| number.into()).chain(0..6).collect();
        Elements { layout, numbers: keys.into_iter().collect() }
    }

    /// Changes one map element at random.
    pub fn mutate(&self, environment: &mut Environment, random: &mut Random) {
        let mut pick = |length: usize| random.below(length.max(1) as u64) as usize;
        let Some(map) = self.layout.maps.get(pick(self.layout.maps.len())) else { return };
        let Some(&number) = self.numbers.get(pick(self.numbers.len())) else { return };
        if let Some(present) = map.present.filter(|_| random.one_in(3)) {
            environment.memory.insert((present, number), random.below(2) as u8);
            return;
        }
        let (region, start): (RegionId, u64) = match map.identity.filter(|_| random.one_in(3)) {
            Some(identity) => (identity, number << 2),
            None => (map.values, number << map.element_bits),
        };
        let offset = random.below(u64::from(map.value_size.max(1)).min(256));
        for byte in 0..=random.below(8) {
            environment.memory.insert((region, start + offset + byte), random.byte());
        }
    }
}

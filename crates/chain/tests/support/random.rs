//! Generates random facts about packets, and random packets for which these facts hold.

use proptest::prelude::Rng;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_specialise::Mode;

/// Lengths of packets, in bytes.
const LENGTHS: (u16, u16) = (14, 130);

pub fn random(seed: u64) -> TestRng {
    let mut bytes = [3; 32];
    bytes[..8].copy_from_slice(&seed.to_le_bytes());
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &bytes);
    TestRunner::new_with_rng(Config::default(), rng).new_rng()
}

pub fn below(rng: &mut TestRng, end: usize) -> usize {
    rng.next_u32() as usize % end
}

fn bytes(rng: &mut TestRng, length: usize) -> Vec<u8> {
    let edges = [0, 1, 2, 4, 0x1f, 0x20, 0x7f, 0x80, 0xff];
    let byte = |_| if below(rng, 3) == 0 { rng.next_u32() as u8 } else { edges[below(rng, 9)] };
    (0..length).map(byte).collect()
}

/// Returns random facts that hold for some packet.
pub fn facts(rng: &mut TestRng) -> PacketFacts {
    let least = u32::from(LENGTHS.0) + rng.next_u32() % 80;
    let mut facts = PacketFacts::lengths(least as u16, LENGTHS.1);
    let share = [1, 5, 9][below(rng, 3)];
    for (offset, byte) in (0..).zip(bytes(rng, usize::from(LENGTHS.1))) {
        if below(rng, 10) < share {
            let mask = if below(rng, 5) > 0 { 0xff } else { rng.next_u32() as u8 };
            facts.bits.extend(KnownBits::of(mask, byte).map(|bits| (offset, bits)));
        }
    }
    if below(rng, 2) == 0 {
        few_values(rng, &mut facts);
    }
    facts
}

/// Adds facts that restrict some fields without known bits to a few values.
fn few_values(rng: &mut TestRng, facts: &mut PacketFacts) {
    let mut offset = 0;
    while offset < LENGTHS.1 {
        let field = Field { offset, bytes: [1, 1, 2, 4][below(rng, 4)] };
        let end = field.offset + u16::from(field.bytes);
        if end <= LENGTHS.1 && facts.bits.range(offset..end).next().is_none() && below(rng, 2) == 0
        {
            let numbers = (0..1 + below(rng, 5)).map(|_| bytes(rng, field.bytes.into()));
            let all = Field { offset: 0, ..field };
            let values = numbers.filter_map(|bytes| all.read(&bytes)).collect();
            facts.values.insert(field, values);
        }
        offset = end;
    }
}

/// Returns a random packet for which the facts hold. For programs with a guard, every third packet
/// is arbitrary instead, so that the guard can reject it.
pub fn packet(rng: &mut TestRng, facts: &PacketFacts, mode: Mode) -> Vec<u8> {
    if mode == Mode::Guard && below(rng, 3) == 0 {
        let length = usize::from(LENGTHS.0) + below(rng, 110);
        return bytes(rng, length);
    }
    let spread = usize::from(facts.max_length - facts.min_length) + 1;
    let length = usize::from(facts.min_length) + below(rng, spread);
    let mut packet = bytes(rng, length);
    for (&offset, bits) in &facts.bits {
        if let Some(byte) = packet.get_mut(usize::from(offset)) {
            *byte = *byte & !bits.mask | bits.value;
        }
    }
    for (field, values) in &facts.values {
        let value = values.iter().nth(below(rng, values.len())).copied().unwrap_or_default();
        let value = value.to_be_bytes();
        if let Some(place) = packet.get_mut(usize::from(field.offset)..field.end()) {
            place.copy_from_slice(&value[8 - usize::from(field.bytes)..]);
        }
    }
    // A guard must detect a single changed bit.
    if mode == Mode::Guard && below(rng, 3) == 0 {
        let place = below(rng, length);
        packet[place] ^= 1 << below(rng, 8);
    }
    packet
}

//! Generates packets by changing known packets at random.

use std::collections::BTreeSet;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Insn, Source};

use crate::random::Random;

/// Length of the shortest packet that test runs accept: an Ethernet header.
pub const SHORTEST: usize = 14;
/// Length of the longest generated packet: an Ethernet frame with two VLAN tags.
const LONGEST: usize = 1522;
/// Number of bytes at the start of a packet in which most headers lie.
const HEADERS: usize = 64;
/// Maximum number of known packets in addition to the seeds.
const MAX_ADDED: usize = 512;
/// Maximum number of constants that are taken from programs.
const MAX_CONSTANTS: usize = 4096;

/// Numbers that generated packets contain more often than others: numbers with a special meaning in
/// protocols, and limits of integer types.
const SPECIAL: [u32; 24] = [
    0,
    1,
    2,
    4,
    5,
    6,
    17,
    58,
    0x7f,
    0x80,
    0xff,
    53,
    80,
    443,
    4789,
    0x0800,
    0x0806,
    0x86dd,
    0x8100,
    0x88a8,
    0xffff,
    0x7fff_ffff,
    0x8000_0000,
    0xffff_ffff,
];
/// Packet lengths that are chosen often, because headers end there.
const LENGTHS: [usize; 12] = [14, 18, 20, 34, 38, 42, 54, 58, 60, 62, 64, 74];

/// A generator of packets. It changes known packets at random; the results are called mutants.
pub struct Mutator {
    random: Random,
    known: Vec<Vec<u8>>,
    /// Number of seeds at the start of `known`; these are never replaced.
    seeds: usize,
    /// Constants that programs compare with, and numbers next to them.
    numbers: Vec<u32>,
    /// Offsets of the load instructions in programs. Most of them are offsets of packet bytes.
    offsets: Vec<usize>,
}

impl Mutator {
    /// Creates a generator. It changes the packets `seeds`, of at least 14 bytes each, or without
    /// seeds a packet of zeros. The changed packets contain constants with which the programs
    /// compare.
    pub fn new(seed: u64, seeds: &[Vec<u8>], programs: &[BpfProgram]) -> Mutator {
        let mut known = seeds.to_vec();
        if known.is_empty() {
            known.push(vec![0; HEADERS]);
        }
        let seeds = known.len();
        let insns = || programs.iter().flat_map(|program| &program.insns);
        let mut numbers = BTreeSet::new();
        for number in insns().filter_map(constant).take(MAX_CONSTANTS) {
            numbers.extend([number.wrapping_sub(1), number, number.wrapping_add(1)]);
        }
        let offsets: BTreeSet<usize> = insns().filter_map(load_offset).collect();
        Mutator {
            random: Random::new(seed),
            known,
            seeds,
            numbers: numbers.into_iter().collect(),
            offsets: offsets.into_iter().collect(),
        }
    }

    /// Adds a packet to the known packets. If there are too many, replaces a random packet that is
    /// not a seed.
    pub fn keep(&mut self, packet: &[u8]) {
        if self.known.len() < self.seeds + MAX_ADDED {
            self.known.push(packet.to_vec());
        } else {
            let replaced = self.seeds + self.random.below(MAX_ADDED);
            self.known[replaced] = packet.to_vec();
        }
    }

    /// Returns a mutant: a random change of a known packet. Some mutants are equal to the known
    /// packet.
    pub fn mutant(&mut self) -> Vec<u8> {
        let chosen = self.random.below(self.known.len());
        let mut packet = self.known.get(chosen).cloned().unwrap_or_default();
        // Few changes, because mutants with many changes get through less often.
        while !self.random.one_in(3) {
            self.change(&mut packet);
        }
        packet
    }

    /// Returns a packet of random bytes.
    pub fn arbitrary(&mut self) -> Vec<u8> {
        let length = SHORTEST + self.random.below(2 * HEADERS);
        let mut packet = Vec::with_capacity(length + 4);
        while packet.len() < length {
            let number = self.number();
            packet.extend(number.to_be_bytes());
        }
        packet.truncate(length);
        packet
    }

    fn change(&mut self, packet: &mut Vec<u8>) {
        let at = match self.random.below(8) {
            0..4 => self.random.choose(&self.offsets).copied().unwrap_or(0),
            4..7 => self.random.below(packet.len().min(HEADERS)),
            _ => self.random.below(packet.len()),
        };
        match self.random.below(8) {
            0 => self.put(packet, at, |random, old| old ^ (1 << random.below(8))),
            1 => self.put(packet, at, |random, _| random.bits() as u8),
            2 => self.put(packet, at, |random, old| {
                old.wrapping_add(random.below(9) as u8).wrapping_sub(4)
            }),
            3..=5 => {
                let number = self.number();
                let (big, little) = (number.to_be_bytes(), number.to_le_bytes());
                let pieces: [&[u8]; 6] =
                    [&big[3..], &big[3..], &big[2..], &little[..2], &big, &little];
                let piece = *self.random.choose(&pieces).unwrap_or(&pieces[0]);
                overwrite(packet, at, piece);
            }
            6 => {
                // Copy bytes at the same offset of another known packet.
                let other = self.random.below(self.known.len());
                let length = 1 << self.random.below(5);
                let from = self.known.get(other).and_then(|other| other.get(at..));
                let piece: Vec<u8> =
                    from.unwrap_or_default().iter().copied().take(length).collect();
                overwrite(packet, at, &piece);
            }
            _ => {
                let length = match self.random.below(3) {
                    0 => *self.random.choose(&LENGTHS).unwrap_or(&SHORTEST),
                    1 => packet.len() + self.random.below(HEADERS),
                    _ => packet.len().saturating_sub(self.random.below(HEADERS)),
                };
                // Seeds may be longer than `LONGEST`.
                let longest = LONGEST.max(packet.len());
                let length = length.clamp(SHORTEST, longest);
                while packet.len() < length {
                    packet.push(self.random.bits() as u8);
                }
                packet.truncate(length);
            }
        }
    }

    fn put(&mut self, packet: &mut [u8], at: usize, new: impl Fn(&mut Random, u8) -> u8) {
        if let Some(byte) = packet.get_mut(at) {
            *byte = new(&mut self.random, *byte);
        }
    }

    fn number(&mut self) -> u32 {
        let choices = match self.random.below(4) {
            0 => return self.random.bits() as u32,
            1 => &SPECIAL[..],
            _ => &self.numbers[..],
        };
        self.random.choose(choices).copied().unwrap_or(0)
    }
}

fn overwrite(packet: &mut [u8], at: usize, piece: &[u8]) {
    for (to, from) in packet.iter_mut().skip(at).zip(piece) {
        *to = *from;
    }
}

/// Returns the constant with which a comparison instruction compares a register. Returns `None` for
/// other instructions.
fn constant(insn: &Insn) -> Option<u32> {
    match *insn {
        Insn::Branch { src: Source::Imm(number), .. } => Some(number.cast_unsigned()),
        _ => None,
    }
}

/// Returns the offset of a load instruction. Returns `None` for other instructions and for negative
/// offsets.
fn load_offset(insn: &Insn) -> Option<usize> {
    match *insn {
        Insn::Load { offset, .. } => usize::try_from(offset).ok(),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn packets_have_lengths_that_the_kernel_runs() {
        let mut mutator = Mutator::new(1, &[vec![7; 60], vec![0; 1500]], &[]);
        let mut lengths = BTreeSet::new();
        for round in 0..20_000 {
            let packet = if round % 2 == 0 { mutator.mutant() } else { mutator.arbitrary() };
            assert!((SHORTEST..=LONGEST).contains(&packet.len()), "{}", packet.len());
            lengths.insert(packet.len());
            if round % 10 == 0 {
                mutator.keep(&packet);
            }
        }
        assert!(lengths.len() > 200, "{}", lengths.len());
        assert!(mutator.known.len() <= mutator.seeds + MAX_ADDED);
        assert_eq!(mutator.known[..2], [vec![7; 60], vec![0; 1500]], "seeds stay");
    }

    #[test]
    fn the_same_seed_makes_the_same_packets() {
        let made = |seed| {
            let mut mutator = Mutator::new(seed, &[vec![1; 40]], &[]);
            (0..100).map(|_| mutator.mutant()).collect::<Vec<_>>()
        };
        assert_eq!(made(3), made(3));
        assert_ne!(made(3), made(4));
    }
}

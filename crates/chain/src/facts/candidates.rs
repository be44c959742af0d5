//! Proposes facts about packets that leave a program (candidates): statements that hold for all
//! sample packets, but are not proved yet.

use slowpath_ir::{Field, KnownBits, PacketFacts};
use std::collections::{BTreeMap, BTreeSet, HashMap};

/// Maximum size in bytes of a packet field that a candidate (a proposed fact) is about.
const MAX_FIELD: usize = 8;
/// Minimum size in bytes of two packet fields that a candidate (a proposed fact) states to be
/// equal.
const MIN_EQUAL: usize = 2;

/// Limits on the number of proposed facts.
#[derive(Clone, Copy, Debug)]
pub(super) struct Bounds {
    /// Maximum number of possible values that a candidate for a field lists.
    pub values: usize,
    /// Maximum number of candidates that state that two fields are equal.
    pub equalities: usize,
}

/// A sample packet that leaves the program: its length and its first bytes.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Seen {
    pub length: u64,
    pub bytes: Vec<u8>,
}

/// Candidates for facts: statements about packet bytes that hold for all sample packets, but are
/// not proved yet.
#[derive(Clone, Debug, Default)]
pub(super) struct Candidates {
    pub bits: BTreeMap<u16, KnownBits>,
    pub values: BTreeMap<Field, BTreeSet<u64>>,
    pub equal: BTreeSet<(Field, Field)>,
}

impl Candidates {
    /// Returns the statements that hold for all sample packets.
    pub fn of(seen: &[Seen], bounds: &Bounds) -> Candidates {
        let mut candidates = Candidates::default();
        let longest = seen.iter().map(|packet| packet.bytes.len()).max().unwrap_or(0);
        let mut free = Vec::new();
        for offset in 0..longest {
            let mut bytes = seen.iter().filter_map(|packet| packet.bytes.get(offset).copied());
            let Some(first) = bytes.next() else { continue };
            let differ = bytes.fold(0, |differ, byte| differ | (byte ^ first));
            if let Some(bits) = KnownBits::of(!differ, first) {
                candidates.bits.insert(offset as u16, bits);
            }
            if differ != 0 {
                free.push(offset);
            }
        }
        candidates.find_values(seen, longest, bounds);
        candidates.find_equal(seen, &free, bounds);
        candidates
    }

    /// Adds candidates for fields that have only a few different values in all sample packets.
    /// Skips values that the known bits already imply.
    fn find_values(&mut self, seen: &[Seen], longest: usize, bounds: &Bounds) {
        // After the 14 bytes of Ethernet, headers are aligned to four bytes.
        for (bytes, aligned) in [(1, 0), (2, 0), (4, 2)] {
            for offset in (0..longest).filter(|offset| offset % bytes == aligned) {
                let field = Field { offset: offset as u16, bytes: bytes as u8 };
                let mut values = BTreeSet::new();
                for value in seen.iter().filter_map(|packet| field.read(&packet.bytes)) {
                    values.insert(value);
                    if values.len() > bounds.values {
                        break;
                    }
                }
                if (2..=bounds.values).contains(&values.len()) && self.says_more(field, &values) {
                    self.values.insert(field, values);
                }
            }
        }
    }

    /// Returns true if listing these values of a field adds information: they exclude packets that
    /// the candidates for the field's two halves do not exclude.
    fn says_more(&self, field: Field, values: &BTreeSet<u64>) -> bool {
        let half = field.bytes / 2;
        let parts = if half == 0 {
            let unknown = self.bits.get(&field.offset).map_or(8, |bits| bits.mask.count_zeros());
            1u64 << unknown
        } else {
            [field.offset, field.offset + u16::from(half)]
                .into_iter()
                .map(|offset| {
                    let part = Field { offset, bytes: half };
                    let known = self.values.get(&part).map(|values| values.len() as u64);
                    known.unwrap_or_else(|| {
                        let unknown = (offset..offset + u16::from(half))
                            .map(|o| self.bits.get(&o).map_or(8, |bits| bits.mask.count_zeros()));
                        1u64 << unknown.sum::<u32>()
                    })
                })
                .fold(1, u64::saturating_mul)
        };
        (values.len() as u64) < parts
    }

    /// Adds candidates for pairs of fields that are equal in all sample packets. Bytes with a
    /// constant value are not compared. Adjacent equal bytes are combined into fields that are as
    /// long as possible.
    fn find_equal(&mut self, seen: &[Seen], free: &[usize], bounds: &Bounds) {
        let mut alike: HashMap<Vec<Option<u8>>, usize> = HashMap::new();
        // For each byte, the nearest earlier byte that is equal, if there is one.
        let mut before: BTreeMap<usize, usize> = BTreeMap::new();
        for &offset in free {
            let bytes = seen.iter().map(|packet| packet.bytes.get(offset).copied()).collect();
            if let Some(other) = alike.insert(bytes, offset) {
                before.insert(offset, other);
            }
        }
        while let Some((second, first)) = before.pop_first() {
            let mut bytes = 1;
            while bytes < MAX_FIELD && before.get(&(second + bytes)) == Some(&(first + bytes)) {
                before.remove(&(second + bytes));
                bytes += 1;
            }
            if bytes >= MIN_EQUAL && self.equal.len() < bounds.equalities {
                let field = |offset| Field { offset: offset as u16, bytes: bytes as u8 };
                self.equal.insert((field(first), field(second)));
            }
        }
    }

    /// Removes the candidates that do not hold for a sample packet. Returns true if any were
    /// removed.
    pub fn refute(&mut self, packet: &Seen) -> bool {
        let before = self.len();
        self.bits.retain(|&offset, bits| {
            packet.bytes.get(usize::from(offset)).is_none_or(|&byte| bits.holds(byte))
        });
        self.values.retain(|field, values| {
            field.read(&packet.bytes).is_none_or(|value| values.contains(&value))
        });
        self.equal.retain(|(first, second)| {
            let read = (first.read(&packet.bytes), second.read(&packet.bytes));
            !matches!(read, (Some(a), Some(b)) if a != b)
        });
        self.len() < before
    }

    fn len(&self) -> usize {
        self.bits.len() + self.values.len() + self.equal.len()
    }

    /// Splits the candidates (proposed facts) into two halves. Returns an empty list if there are
    /// fewer than two.
    pub fn halves(self) -> Vec<Candidates> {
        let count = self.len();
        if count < 2 {
            return Vec::new();
        }
        let mut halves = [Candidates::default(), Candidates::default()];
        let mut number = 0..count;
        let mut half = || usize::from(number.next().is_some_and(|number| number >= count / 2));
        for (offset, bits) in self.bits {
            halves[half()].bits.insert(offset, bits);
        }
        for (field, values) in self.values {
            halves[half()].values.insert(field, values);
        }
        for pair in self.equal {
            halves[half()].equal.insert(pair);
        }
        halves.into()
    }

    /// Adds the candidates (proposed facts) of `other`. They must be about bytes that no present
    /// candidate is about.
    pub fn extend(&mut self, other: Candidates) {
        self.bits.extend(other.bits);
        self.values.extend(other.values);
        self.equal.extend(other.equal);
    }

    /// Converts the proved candidates to facts. The pair contains the minimum and maximum length in
    /// bytes of the packets that they are about.
    pub fn facts(self, (min_length, max_length): (u16, u16)) -> PacketFacts {
        let Candidates { bits, values, equal } = self;
        PacketFacts { min_length, max_length, bits, values, equal }
    }
}

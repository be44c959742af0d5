//! Translates facts about packets into terms for the solver: known bytes become constants, and all
//! other facts become conditions.

use slowpath_exec::InitialByte;
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_smt::{ArrayId, TermId, TermPool};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Width of a packet offset in terms, in bits.
const OFFSET: u8 = 64;

#[derive(Clone, Copy, Debug)]
enum Known {
    Bits(KnownBits),
    /// The byte is equal to an earlier byte of the packet, which has this offset.
    As(u16),
}

/// Facts about the packet before a program runs, translated for the solver.
pub(super) struct FactTerms {
    /// Function that returns a byte of the packet as it arrives, with known bits as constants.
    pub initial: InitialByte,
    /// Conditions for facts about possible values of fields and about equal fields.
    pub conditions: Vec<TermId>,
    /// Conditions that state the known bits of packet bytes. At constant offsets, known bits are
    /// constants already, so the conditions are needed only if a program reads bytes at variable
    /// offsets.
    pub bits: Vec<TermId>,
    /// True if a program has read a packet byte at a variable offset.
    pub reads_anywhere: Rc<Cell<bool>>,
}

/// A set of packets for which two programs are compared.
#[derive(Clone, Copy, Debug)]
pub enum Packets<'a> {
    /// Packets for which all facts hold.
    Inside(&'a PacketFacts),
    /// Packets for which all facts in `of` hold, but at least one fact in `facts` does not.
    Outside {
        /// Facts of which at least one does not hold, for each packet of the set.
        facts: &'a PacketFacts,
        /// Facts that all hold, for each packet of the set. They are only about the packet length.
        of: &'a PacketFacts,
    },
}

impl<'a> Packets<'a> {
    /// Returns facts that hold for every packet in this set.
    pub(super) fn known(self) -> &'a PacketFacts {
        match self {
            Packets::Inside(facts) => facts,
            Packets::Outside { of, .. } => of,
        }
    }

    pub(super) fn contain(self, packet: &[u8]) -> bool {
        match self {
            Packets::Inside(facts) => facts.hold(packet),
            Packets::Outside { facts, of } => of.hold(packet) && !facts.hold(packet),
        }
    }
}

impl FactTerms {
    /// Translates the facts that define a set of packets. `packet` is the array of packet bytes,
    /// and `length` is the packet length as a 64-bit term.
    pub fn of(pool: &mut TermPool, packets: Packets<'_>, packet: ArrayId, length: TermId) -> Self {
        let (facts, of) = match packets {
            Packets::Inside(facts) => return FactTerms::new(pool, facts, packet, length),
            Packets::Outside { facts, of } => (facts, of),
        };
        let inside = FactTerms::new(pool, facts, packet, length);
        let least = pool.constant(OFFSET, facts.min_length.into());
        let greatest = pool.constant(OFFSET, facts.max_length.into());
        let mut all = pool.ule(least, length);
        let short = pool.ule(length, greatest);
        all = pool.and(all, short);
        for term in inside.bits.into_iter().chain(inside.conditions) {
            all = pool.and(all, term);
        }
        let outside = pool.not(all);
        FactTerms { conditions: vec![outside], ..FactTerms::new(pool, of, packet, length) }
    }

    /// Translates facts that hold for all packets. `packet` is the array of packet bytes, and
    /// `length` is the packet length as a 64-bit term.
    pub fn new(pool: &mut TermPool, facts: &PacketFacts, packet: ArrayId, length: TermId) -> Self {
        // All fields are listed, so that no fact is forgotten: without one, the proof for
        // `Packets::Outside` would be wrong.
        let PacketFacts { min_length, max_length: _, bits: _, values, equal } = facts;
        let known = known(facts);
        let mut bits = Vec::new();
        for (&offset, &byte) in &known {
            let raw = select(pool, packet, offset);
            let now = byte_of(pool, packet, raw, byte);
            let same = pool.eq(raw, now);
            bits.push(if_there(pool, length, (usize::from(offset) + 1, facts), same));
        }
        let reads_anywhere = Rc::new(Cell::new(false));
        let initial = initial(known, *min_length, (packet, length), reads_anywhere.clone());
        let mut terms = FactTerms { initial, conditions: Vec::new(), bits, reads_anywhere };
        for (&field, values) in values {
            let number = terms.field(pool, field);
            let width = pool.width(number);
            let mut any = pool.bool(false);
            for &value in values {
                let value = pool.constant(width, value);
                let same = pool.eq(number, value);
                any = pool.or(any, same);
            }
            let condition = if_there(pool, length, (field.end(), facts), any);
            terms.conditions.push(condition);
        }
        for &(first, second) in equal {
            let (a, b) = (terms.field(pool, first), terms.field(pool, second));
            let same = pool.eq(a, b);
            let condition = if_there(pool, length, (first.end().max(second.end()), facts), same);
            terms.conditions.push(condition);
        }
        terms.conditions.retain(|&condition| pool.as_const(condition) != Some(1));
        terms
    }

    /// Returns the value of a packet field as a term, in network byte order.
    fn field(&self, pool: &mut TermPool, field: Field) -> TermId {
        let mut number = None;
        for offset in u64::from(field.offset)..field.end() as u64 {
            let offset = pool.constant(OFFSET, offset);
            let byte = (self.initial)(pool, offset);
            number = Some(number.map_or(byte, |high| pool.concat(high, byte)));
        }
        number.unwrap_or_else(|| pool.constant(8, 0))
    }
}

/// Returns, by offset, the knowledge about single packet bytes that follows from the facts.
fn known(facts: &PacketFacts) -> BTreeMap<u16, Known> {
    let bits = facts.bits.iter().map(|(&offset, &bits)| (offset, Known::Bits(bits)));
    let mut known: BTreeMap<u16, Known> = bits.collect();
    for (first, second) in &facts.equal {
        for n in 0..u16::from(first.bytes.min(second.bytes)) {
            let (to, from) = (second.offset.checked_add(n), first.offset.checked_add(n));
            if let (Some(to), Some(from)) = (to, from)
                && from < to
                && second.end().max(first.end()) <= usize::from(facts.min_length)
            {
                known.entry(to).or_insert(Known::As(from));
            }
        }
    }
    known
}

fn select(pool: &mut TermPool, packet: ArrayId, offset: u16) -> TermId {
    let offset = pool.constant(OFFSET, offset.into());
    pool.select(packet, offset)
}

/// Returns a packet byte as a term in which the known bits are constants. `raw` is the term of the
/// byte without this knowledge.
fn byte_of(pool: &mut TermPool, packet: ArrayId, raw: TermId, known: Known) -> TermId {
    match known {
        Known::As(other) => select(pool, packet, other),
        Known::Bits(KnownBits { mask: u8::MAX, value }) => pool.constant(8, value.into()),
        Known::Bits(KnownBits { mask, value }) => {
            // Each bit is built by itself, so that each known bit is a constant.
            let bit = |pool: &mut TermPool, n: u8| match mask >> n & 1 {
                0 => pool.extract(raw, n, 1),
                _ => pool.constant(1, u64::from(value >> n & 1)),
            };
            let lowest = bit(pool, 0);
            (1..8).fold(lowest, |low, n| {
                let high = bit(pool, n);
                pool.concat(high, low)
            })
        }
    }
}

/// Restricts a condition to packets with at least `end` bytes: for shorter packets, the returned
/// condition always holds.
fn if_there(
    pool: &mut TermPool,
    length: TermId,
    (end, facts): (usize, &PacketFacts),
    condition: TermId,
) -> TermId {
    if end <= usize::from(facts.min_length) {
        return condition;
    }
    let end = pool.constant(OFFSET, end as u64);
    let short = pool.ult(length, end);
    pool.or(short, condition)
}

/// Returns a function that gives the packet's bytes before the program runs. At constant offsets,
/// the known bits are constants.
fn initial(
    known: BTreeMap<u16, Known>,
    least: u16,
    (packet, length): (ArrayId, TermId),
    reads_anywhere: Rc<Cell<bool>>,
) -> InitialByte {
    Rc::new(move |pool, index| {
        let raw = pool.select(packet, index);
        let Some(offset) = pool.as_const(index) else {
            reads_anywhere.set(true);
            return raw;
        };
        // Each step leads to a smaller offset, so the loop ends.
        let mut offset = u16::try_from(offset).ok();
        let (mut byte, mut raw) = (raw, raw);
        while let Some(at) = offset {
            let Some(&what) = known.get(&at) else { return byte };
            offset = match what {
                Known::As(other) => Some(other),
                Known::Bits(_) => None,
            };
            let now = byte_of(pool, packet, raw, what);
            raw = now;
            byte = if at < least {
                now
            } else {
                let end = pool.constant(OFFSET, u64::from(at) + 1);
                let short = pool.ult(length, end);
                pool.ite(short, byte, now)
            };
        }
        byte
    })
}

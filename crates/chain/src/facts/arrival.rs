//! Translates the facts about arriving packets into terms for the solver. Known bits are constants
//! wherever the program reads them; all other facts are conditions of every query.
//!
//! Nothing is known about the bytes after the end of a packet.

use slowpath_bpf::lift::Lifted;
use slowpath_exec::{InitialByte, Start};
use slowpath_ir::{Field, KnownBits, PacketFacts};
use slowpath_smt::{ArrayId, Domain, TermId, TermPool};
use std::cell::Cell;
use std::collections::BTreeMap;
use std::rc::Rc;

/// Width of packet offsets in terms, in bits.
const WIDTH: u8 = 64;

/// The packet before a program runs, and the facts about it.
pub(crate) struct Arrival {
    packet: Rc<Packet>,
    facts: PacketFacts,
}

/// The packet before a program runs, with its known bits.
struct Packet {
    bytes: ArrayId,
    length: TermId,
    /// Minimum length of packets, in bytes.
    min_length: u64,
    known: BTreeMap<u16, KnownBits>,
    /// True if the program reads a packet byte at a variable offset. In such a read, known bits do
    /// not become constants, so they are needed as conditions.
    anywhere: Cell<bool>,
}

impl Packet {
    /// Returns the condition that the packet is long enough to contain the byte at an offset.
    fn has(&self, pool: &mut TermPool, offset: u64) -> TermId {
        if offset < self.min_length {
            return pool.bool(true);
        }
        let offset = pool.constant(pool.width(self.length), offset);
        pool.ult(offset, self.length)
    }

    fn byte(&self, pool: &mut TermPool, offset: TermId) -> TermId {
        let byte = pool.select(self.bytes, offset);
        let Some(number) = pool.as_const(offset) else {
            self.anywhere.set(true);
            return byte;
        };
        let Some(bits) = u16::try_from(number).ok().and_then(|n| self.known.get(&n)) else {
            return byte;
        };
        let (mask, value) =
            (pool.constant(8, (!bits.mask).into()), pool.constant(8, bits.value.into()));
        let others = pool.and(byte, mask);
        let known = pool.or(others, value);
        let has = self.has(pool, number);
        pool.ite(has, known, byte)
    }
}

impl Arrival {
    /// Translates the facts about packets that arrive at a lifted program, and creates the state in
    /// which its symbolic execution starts. Returns `None` if the program has no input for the
    /// packet length.
    pub fn new(lifted: &Lifted, facts: &PacketFacts) -> Option<(Arrival, Start)> {
        let mut start = Start::default();
        let input = lifted.program.packet_length?;
        let info = &lifted.program.inputs[input.index()];
        let length = Domain::range(info.width, info.min, info.max);
        let length = start.pool.var("length of the packet", length);
        start.inputs.insert(input, length);
        let packet = Rc::new(Packet {
            bytes: start.pool.array("packet", WIDTH),
            length,
            min_length: facts.min_length.into(),
            known: facts.bits.clone(),
            anywhere: Cell::new(false),
        });
        let read = Rc::clone(&packet);
        let initial: InitialByte = Rc::new(move |pool, offset| read.byte(pool, offset));
        start.initial.insert(lifted.layout.packet, initial);
        Some((Arrival { packet, facts: facts.clone() }, start))
    }

    /// Returns the conditions that arriving packets fulfil. Conditions about known bits are left
    /// out if no read needs them, so the program must have been executed before.
    pub fn conditions(&self, pool: &mut TermPool) -> Vec<TermId> {
        self.all(pool, self.packet.anywhere.get())
    }

    /// Returns all conditions that arriving packets fulfil, including those about known bits.
    pub fn all_conditions(&self, pool: &mut TermPool) -> Vec<TermId> {
        self.all(pool, true)
    }

    fn all(&self, pool: &mut TermPool, anywhere: bool) -> Vec<TermId> {
        let PacketFacts { min_length: _, max_length: _, bits, values, equal } = &self.facts;
        let mut conditions = Vec::new();
        if anywhere {
            for (&offset, bits) in bits {
                let at = pool.constant(WIDTH, offset.into());
                let byte = pool.select(self.packet.bytes, at);
                let mask = pool.constant(8, bits.mask.into());
                let value = pool.constant(8, bits.value.into());
                let masked = pool.and(byte, mask);
                let holds = pool.eq(masked, value);
                conditions.push(self.if_there(pool, offset.into(), holds));
            }
        }
        for (&field, values) in values {
            let read = self.field(pool, field);
            let mut any = pool.bool(false);
            for &value in values {
                let value = pool.constant(8 * field.bytes, value);
                let equal = pool.eq(read, value);
                any = pool.or(any, equal);
            }
            conditions.push(self.if_there(pool, field.end() as u64 - 1, any));
        }
        for &(first, second) in equal {
            let (a, b) = (self.field(pool, first), self.field(pool, second));
            let last = first.end().max(second.end()) as u64 - 1;
            let equal = pool.eq(a, b);
            conditions.push(self.if_there(pool, last, equal));
        }
        conditions.retain(|&condition| pool.as_const(condition) != Some(1));
        conditions
    }

    /// Restricts a condition to packets that contain the byte at an offset: for shorter packets,
    /// the returned condition always holds.
    fn if_there(&self, pool: &mut TermPool, offset: u64, condition: TermId) -> TermId {
        let has = self.packet.has(pool, offset);
        let short = pool.not(has);
        pool.or(short, condition)
    }

    fn field(&self, pool: &mut TermPool, field: Field) -> TermId {
        let byte = |pool: &mut TermPool, offset: usize| {
            let offset = pool.constant(WIDTH, offset as u64);
            self.packet.byte(pool, offset)
        };
        let mut value = byte(pool, field.offset.into());
        for offset in usize::from(field.offset) + 1..field.end() {
            let next = byte(pool, offset);
            value = pool.concat(value, next);
        }
        value
    }
}

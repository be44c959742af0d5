//! Elements of maps: their numbers, whether they exist, where their values are.

use slowpath_ir::{BinaryOp, Emit, InputKind, Op, Operand, Reading, RegionId, RegionKind};

use super::emit::word;
use super::lifter::Lifter;
use super::maps::{Class, Keying, MapUse};
use super::value::Known;
use crate::insn::Register;

/// An element of a map.
#[derive(Clone, Copy, Debug)]
pub(super) struct Element {
    /// Whether there can be such an element; `None` if there always can.
    pub in_range: Option<Operand>,
    /// Its number, 32 bits.
    pub number: Operand,
}

/// How many low bits tell the indices below `max_entries` apart.
fn index_bits(max_entries: u32) -> u8 {
    (32 - max_entries.saturating_sub(1).leading_zeros()) as u8
}

impl Lifter<'_> {
    /// The element for the key at an address.
    pub(super) fn element(&mut self, map: &MapUse, key: Operand) -> Element {
        let indexed = map.layout.keying == Keying::Index
            || (map.which.is_some() && matches!(map.class, Class::Array | Class::Places));
        if indexed {
            let index = self.machine.emit.load(key, 4);
            return self.element_at(map, index);
        }
        let words = self.words(key, map.def.key_size);
        let number = match (map.layout.keying, &words[..]) {
            (Keying::Number, [word]) => self.machine.emit.extract(*word, 0, 32),
            _ => self.interned(map.which, &words),
        };
        Element { in_range: None, number }
    }

    /// The element with an index of 32 bits, for maps with indices as keys.
    pub(super) fn element_at(&mut self, map: &MapUse, index: Operand) -> Element {
        let size = self.size(map);
        let emit = &mut self.machine.emit;
        let in_range = emit.ult(index, size);
        // In range, the bits above are zero.
        let bits = map.fixed_size().map_or(32, index_bits);
        let number = match bits {
            0 => Operand::constant(32, 0),
            _ => {
                let low = emit.extract(index, 0, bits);
                emit.zero_extend(low, 32)
            }
        };
        let number = match map.which {
            None => number,
            Some(which) => {
                let word = self.machine.emit.zero_extend(number, 64);
                self.interned(Some(which), &[word])
            }
        };
        Element { in_range: Some(in_range), number }
    }

    /// The memory with the numbers of elements of arrays out of an array of maps.
    pub(super) fn start_sizes(&mut self, name: &str) -> RegionId {
        if self.options.contents.contains_key(name) {
            return self.zeroed(name, "size");
        }
        self.machine.region(&format!("{name}.size"), RegionKind::Map)
    }

    /// How many elements a map can hold, 32 bits: what its loader chooses, if the object does not
    /// say it.
    pub(super) fn size(&mut self, map: &MapUse) -> Operand {
        const MAX_ENTRIES: u64 = u32::MAX as u64;
        if let Some(size) = map.fixed_size() {
            return Operand::constant(32, size.into());
        }
        if let (Some(which), Some(sizes)) = (map.which, map.layout.sizes) {
            let number = self.map_number(which);
            let at = self.item(sizes, number, 2);
            let emit = &mut self.machine.emit;
            let noted = emit.load(at, 4);
            let size = emit.binary(
                BinaryOp::Xor,
                noted,
                Operand::constant(32, u64::from(map.def.max_entries)),
            );
            let none = emit.eq(size, Operand::constant(32, 0));
            return emit.select(none, Operand::constant(32, 1), size);
        }
        if map.which.is_some() {
            // Of other maps nobody asks but for how many elements there can be.
            return Operand::constant(32, MAX_ENTRIES);
        }
        let name = format!("max_entries of {}", map.def.name);
        let size = self.machine.input(&name, 32, 1, MAX_ENTRIES, InputKind::Unknown);
        self.machine.emit.unknown_input(size, 32)
    }

    /// The element whose key is a number of at most 4 bytes, or an index.
    pub(super) fn element_of_number(&mut self, map: &MapUse, number: Operand) -> Element {
        match map.layout.keying {
            Keying::Index => self.element_at(map, number),
            _ => Element { in_range: None, number },
        }
    }

    /// The number that stands for words, and for the map they are a key of.
    pub(super) fn interned(&mut self, which: Option<Operand>, words: &[Operand]) -> Operand {
        let emit = &mut self.machine.emit;
        let all: Vec<Operand> = which.into_iter().chain(words.iter().copied()).collect();
        let second = all.get(1).copied().unwrap_or(word(0));
        let first = all.first().copied().unwrap_or(word(0));
        let mut number = emit.binary(BinaryOp::Intern, first, second);
        for &next in all.iter().skip(2) {
            let so_far = emit.zero_extend(number, 64);
            number = emit.binary(BinaryOp::Intern, so_far, next);
        }
        number
    }

    /// The 8-byte words of some bytes in memory; the last one is filled up with zeros.
    fn words(&mut self, address: Operand, bytes: u32) -> Vec<Operand> {
        let mut words = Vec::new();
        for (offset, size) in chunks(bytes) {
            let at = self.machine.emit.add(address, word(offset));
            let part = self.machine.emit.load(at, size);
            words.push(self.machine.emit.zero_extend(part, 64));
        }
        words
    }

    /// Whether an element exists.
    pub(super) fn exists(&mut self, map: &MapUse, element: Element) -> Operand {
        let emit = &mut self.machine.emit;
        let Some(present) = map.layout.present else {
            return element.in_range.unwrap_or(Operand::constant(1, 1));
        };
        let offset = emit.zero_extend(element.number, 64);
        let base = self.machine.regions[present.index()].base;
        let address = emit.binary(BinaryOp::Add, base, offset);
        let byte = emit.load(address, 1);
        let absent = emit.eq(byte, Operand::constant(8, 0));
        let exists = emit.not(absent);
        match element.in_range {
            Some(in_range) => emit.and(in_range, exists),
            None => {
                let exists = self.meet(map, element, exists);
                self.survives(map, element, exists)
            }
        }
    }

    /// Makes an element exist, or not, if the condition holds.
    pub(super) fn set_exists(
        &mut self,
        map: &MapUse,
        element: Element,
        cond: Operand,
        exists: bool,
    ) {
        let Some(present) = map.layout.present else { return };
        let offset = self.machine.emit.zero_extend(element.number, 64);
        let base = self.machine.base(present);
        let address = self.machine.emit.add(base, offset);
        let value = Operand::constant(8, exists.into());
        self.machine.emit.store_if(cond, address, value);
    }

    /// The address of an element's value.
    pub(super) fn value_address(&mut self, map: &MapUse, number: Operand) -> Operand {
        let base = self.machine.base(map.layout.values);
        let emit = &mut self.machine.emit;
        if let Operand::Const { value, .. } = number {
            return emit.add(base, word(value << map.layout.element_bits));
        }
        let wide = emit.zero_extend(number, 64);
        let bits = word(map.layout.element_bits.into());
        let offset = emit.binary(BinaryOp::Shl, wide, bits);
        emit.add(base, offset)
    }

    /// Copies bytes if the condition holds.
    pub(super) fn copy_if(&mut self, cond: Operand, to: Operand, from: Operand, bytes: u32) {
        for (offset, size) in chunks(bytes) {
            let emit = &mut self.machine.emit;
            let source = emit.add(from, word(offset));
            let value = emit.load(source, size);
            let destination = emit.add(to, word(offset));
            emit.store_if(cond, destination, value);
        }
    }

    /// Bytes, which the current instruction writes to what is called so, become anything.
    pub(super) fn havoc(&mut self, address: Operand, bytes: u32, what: &str) {
        for (offset, size) in chunks(bytes) {
            let last = offset + u64::from(size) - 1;
            let part = match bytes {
                0..=8 => what.to_owned(),
                _ => format!("bytes {offset} to {last} of {what}"),
            };
            let destination = self.machine.emit.add(address, word(offset));
            self.havoc_as(destination, size, &part, Reading::Bytes);
        }
    }

    /// At most 8 bytes, which the current instruction writes to what is called so, become anything,
    /// which is written so in reports.
    pub(super) fn havoc_as(&mut self, address: Operand, size: u8, what: &str, reading: Reading) {
        let max = u64::MAX >> (64 - 8 * u32::from(size));
        let any = self.machine.emit.draw(what, reading, 8 * size, max);
        self.machine.emit.store(address, any);
    }

    /// Sets `r0`.
    pub(super) fn result(&mut self, value: Operand, known: Known) {
        let reg = self.machine.reg(Register::R0.number());
        self.machine.emit.push(Op::Copy { dst: reg, src: value });
        self.state.regs[0] = known;
    }
}

/// Offsets and sizes of the pieces of at most 8 bytes that some bytes consist of.
pub(super) fn chunks(bytes: u32) -> impl Iterator<Item = (u64, u8)> {
    (0..bytes).step_by(8).map(move |offset| (offset.into(), (bytes - offset).min(8) as u8))
}

//! Computes the numbers of map elements, and the addresses of their values.

use slowpath_ir::{BinaryOp, Emit, InputKind, Operand, RegionId, RegionKind};

use crate::lift::ir::emit::word;
use crate::lift::layout::memory::{Keying, chunks};
use crate::lift::lifter::Lifter;
use crate::lift::maps::class::MapClass;
use crate::lift::maps::operand::MapOperand;

/// The map element that a key selects, whether it exists or not.
#[derive(Clone, Copy, Debug)]
pub(in crate::lift) struct ElementRef {
    /// 1-bit operand that is set if the key is in range, such as an index below the size of an
    /// array. `None` if every key is in range.
    pub in_range: Option<Operand>,
    /// Number of the element, as a 32-bit operand. It determines the position in the map's memory.
    pub number: Operand,
}

/// Returns the number of bits that are needed for an index below `max_entries`.
fn index_bits(max_entries: u32) -> u8 {
    (32 - max_entries.saturating_sub(1).leading_zeros()) as u8
}

impl Lifter<'_> {
    /// Returns the map element with the key that is stored at the address `key`.
    pub(in crate::lift) fn element(&mut self, map: &MapOperand, key: Operand) -> ElementRef {
        let indexed = map.layout.keying == Keying::Index
            || (map.map_address.is_some()
                && matches!(map.class, MapClass::Array | MapClass::RedirectTargets));
        if indexed {
            let index = self.ir.emit.load(key, 4);
            return self.element_at(map, index);
        }
        let words = self.words(key, map.def.key_size);
        let number = match (map.layout.keying, &words[..]) {
            (Keying::Number, [word]) => self.ir.emit.extract(*word, 0, 32),
            _ => self.ir.emit.interned(map.map_address, &words),
        };
        ElementRef { in_range: None, number }
    }

    /// Returns the element with a 32-bit index, for maps with indices as keys.
    pub(in crate::lift) fn element_at(&mut self, map: &MapOperand, index: Operand) -> ElementRef {
        let size = self.size(map);
        let emit = &mut self.ir.emit;
        let in_range = emit.ult(index, size);
        // If the index is in range, the higher bits are zero.
        let bits = map.fixed_size().map_or(32, index_bits);
        let number = match bits {
            0 => Operand::constant(32, 0),
            _ => {
                let low = emit.extract(index, 0, bits);
                emit.zero_extend(low, 32)
            }
        };
        let number = match map.map_address {
            None => number,
            Some(map_address) => {
                let word = self.ir.emit.zero_extend(number, 64);
                self.ir.emit.interned(Some(map_address), &[word])
            }
        };
        ElementRef { in_range: Some(in_range), number }
    }

    /// Returns the memory region that contains the sizes of the arrays in an array of maps at the
    /// start of the run.
    pub(in crate::lift) fn start_sizes(&mut self, name: &str) -> RegionId {
        if self.options.contents.contains_key(name) {
            return self.zeroed(name, "size");
        }
        self.ir.region(&format!("{name}.size"), RegionKind::Map)
    }

    /// Returns the maximum number of elements in a map, as a 32-bit operand. It is an unknown input
    /// if the loader chooses this number.
    pub(in crate::lift) fn size(&mut self, map: &MapOperand) -> Operand {
        const MAX_ENTRIES: u64 = u32::MAX as u64;
        if let Some(size) = map.fixed_size() {
            return Operand::constant(32, size.into());
        }
        if let (Some(map_address), Some(sizes)) = (map.map_address, map.layout.sizes) {
            let number = self.map_number(map_address);
            let at = self.ir.item(sizes, number, 2);
            let emit = &mut self.ir.emit;
            let stored = emit.load(at, 4);
            let size = emit.binary(
                BinaryOp::Xor,
                stored,
                Operand::constant(32, u64::from(map.def.max_entries)),
            );
            let none = emit.eq(size, Operand::constant(32, 0));
            return emit.select(none, Operand::constant(32, 1), size);
        }
        if map.map_address.is_some() {
            // For inner maps that are not arrays, an upper bound is enough.
            return Operand::constant(32, MAX_ENTRIES);
        }
        let name = format!("max_entries of {}", map.def.name);
        let size = self.ir.input(&name, 32, 1, MAX_ENTRIES, InputKind::Unknown);
        self.ir.emit.unknown_input(size, 32)
    }

    /// Returns the element for a key that is an index or a number of at most 4 bytes.
    pub(in crate::lift) fn element_of_number(
        &mut self,
        map: &MapOperand,
        number: Operand,
    ) -> ElementRef {
        match map.layout.keying {
            Keying::Index => self.element_at(map, number),
            _ => ElementRef { in_range: None, number },
        }
    }

    /// Loads `bytes` bytes as 8-byte words. The last word is zero-extended.
    fn words(&mut self, address: Operand, bytes: u32) -> Vec<Operand> {
        let mut words = Vec::new();
        for (offset, size) in chunks(bytes) {
            let at = self.ir.emit.add(address, word(offset));
            let part = self.ir.emit.load(at, size);
            words.push(self.ir.emit.zero_extend(part, 64));
        }
        words
    }

    /// Returns the address of an element's value. `number` is the position of the value in the
    /// region that contains the map's values.
    pub(in crate::lift) fn value_address(&mut self, map: &MapOperand, number: Operand) -> Operand {
        if let Operand::Const { value, .. } = number {
            let base = self.ir.base(map.layout.values);
            return self.ir.emit.add(base, word(value << map.layout.element_bits));
        }
        self.ir.item(map.layout.values, number, map.layout.element_bits.into())
    }
}

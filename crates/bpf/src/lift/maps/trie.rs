//! Longest-prefix-match tries whose content is known: a look-up compares the key with every entry
//! (`trie_lookup_elem` of `kernel/bpf/lpm_trie.c`).

use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::lift::content::{EntryValue, MapContent, MapEntry};
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::install::MapNumbers;
use crate::lift::maps::operand::MapOperand;

/// Bytes of the prefix length in front of a key.
const PREFIX_BYTES: usize = 4;

/// An entry's prefix length in bits, and its place among the entries.
pub(in crate::lift) fn by_prefix(content: &MapContent) -> Vec<(u32, usize)> {
    let prefix = |entry: &MapEntry| {
        let bytes = entry.key.get(..PREFIX_BYTES).and_then(|bytes| bytes.try_into().ok());
        u32::from_le_bytes(bytes.unwrap_or_default())
    };
    let entries = content.entries.iter().enumerate();
    let bytes = entries.filter(|(_, entry)| entry.value.bytes().is_some());
    let mut sorted: Vec<(u32, usize)> =
        bytes.map(|(place, entry)| (prefix(entry), place)).collect();
    sorted.sort_unstable();
    sorted
}

impl Lifter<'_> {
    /// The place of the entry that the key at an address finds, 32 bits, and whether it finds one;
    /// `None` if the trie's content is not known.
    pub(in crate::lift) fn find_in_trie(
        &mut self,
        map: &MapOperand,
        key: Operand,
    ) -> Option<(Operand, Operand)> {
        let options = self.options;
        let content = options.contents.get(&map.layout.name)?;
        // Of several tries, the address of this one, and those of all.
        let outer = self.layouts.get(map.layout.name.trim_end_matches(".inner"));
        let outer = map.which.zip(outer);
        let inner =
            outer.map(|(which, outer)| (which, self.ir.base(outer.values), outer.element_bits));
        let names = MapNumbers::of(&self.object.maps, &options.contents);
        let emit = &mut self.ir.emit;
        let wanted = emit.load(key, PREFIX_BYTES as u8);
        let mut found = Operand::constant(1, 0);
        let mut place = Operand::constant(32, 0);
        // Longer prefixes come later and win; of equal ones, the one given last.
        for (prefix, index) in by_prefix(content) {
            let entry = &content.entries[index];
            let data = entry.key.get(PREFIX_BYTES..).unwrap_or_default();
            let shorter = emit.ult(wanted, Operand::constant(32, prefix.into()));
            let mut matches = emit.not(shorter);
            if let (EntryValue::Inner { map, .. }, Some((which, first, bits))) =
                (&entry.value, inner)
            {
                let this = emit.add(first, word(names.number(map) << bits));
                let same = emit.eq(which, this);
                matches = emit.and(matches, same);
            }
            for (offset, &byte) in data.iter().enumerate() {
                let bits = (i64::from(prefix) - 8 * offset as i64).clamp(0, 8) as u32;
                if bits == 0 {
                    break;
                }
                let mask = 0xffu64 << (8 - bits) & 0xff;
                let at = emit.binary(BinaryOp::Add, key, word((PREFIX_BYTES + offset) as u64));
                let given = emit.load(at, 1);
                let given = emit.and(given, Operand::constant(8, mask));
                let same = emit.eq(given, Operand::constant(8, u64::from(byte) & mask));
                matches = emit.and(matches, same);
            }
            place = emit.select(matches, Operand::constant(32, index as u64), place);
            found = emit.or(found, matches);
        }
        let fine = self.prefix_fits(map, key);
        Some((place, self.ir.emit.and(found, fine)))
    }

    /// Whether the key at an address is no longer than it has bits: with any other, nothing is found.
    pub(in crate::lift) fn prefix_fits(&mut self, map: &MapOperand, key: Operand) -> Operand {
        let bits = 8 * (map.def.key_size as usize).saturating_sub(PREFIX_BYTES);
        let emit = &mut self.ir.emit;
        let wanted = emit.load(key, PREFIX_BYTES as u8);
        let strange = emit.ult(Operand::constant(32, bits as u64), wanted);
        emit.not(strange)
    }
}

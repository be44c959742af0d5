//! Models longest-prefix-match tries with known content: a lookup compares the key with every entry
//! (`trie_lookup_elem` of `kernel/bpf/lpm_trie.c`).

use slowpath_ir::{BinaryOp, Emit, Operand};

use crate::lift::content::{EntryValue, MapContent, MapEntry};
use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::install::MapNumbers;
use crate::lift::maps::operand::MapOperand;

/// Size in bytes of the prefix length at the start of a key.
const PREFIX_BYTES: usize = 4;

/// Returns the prefix length in bits and the index of each entry of a trie, sorted by prefix
/// length.
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
    /// Looks up the key at an address in a trie with known content. Returns the position of the
    /// found entry, as a 32-bit operand, and a 1-bit operand that is set if a matching entry
    /// exists; `None` if the content is unknown.
    pub(in crate::lift) fn find_in_trie(
        &mut self,
        map: &MapOperand,
        key: Operand,
    ) -> Option<(Operand, Operand)> {
        let options = self.options;
        let content = options.contents.get(&map.layout.name)?;
        // Address of this inner trie, base address of the maps in the map of maps, and binary
        // logarithm of their distance.
        let outer = self.layouts.get(map.layout.name.trim_end_matches(".inner"));
        let outer = map.map_address.zip(outer);
        let inner = outer.map(|(map_address, outer)| {
            (map_address, self.ir.base(outer.values), outer.element_bits)
        });
        let names = MapNumbers::of(&self.object.maps, &options.contents);
        let emit = &mut self.ir.emit;
        let length = emit.load(key, PREFIX_BYTES as u8);
        let mut found = Operand::constant(1, 0);
        let mut position = Operand::constant(32, 0);
        // A later match replaces an earlier one. Longer prefixes come later; of equal prefixes, the
        // last entry counts.
        for (prefix, index) in by_prefix(content) {
            let entry = &content.entries[index];
            let data = entry.key.get(PREFIX_BYTES..).unwrap_or_default();
            let shorter = emit.ult(length, Operand::constant(32, prefix.into()));
            let mut matches = emit.not(shorter);
            if let (EntryValue::Inner { map, .. }, Some((map_address, first, bits))) =
                (&entry.value, inner)
            {
                let entry_map = emit.add(first, word(names.number(map) << bits));
                let same = emit.eq(map_address, entry_map);
                matches = emit.and(matches, same);
            }
            for (offset, &byte) in data.iter().enumerate() {
                let bits = (i64::from(prefix) - 8 * offset as i64).clamp(0, 8) as u32;
                if bits == 0 {
                    break;
                }
                let mask = 0xffu64 << (8 - bits) & 0xff;
                let at = emit.binary(BinaryOp::Add, key, word((PREFIX_BYTES + offset) as u64));
                let actual = emit.load(at, 1);
                let actual = emit.and(actual, Operand::constant(8, mask));
                let same = emit.eq(actual, Operand::constant(8, u64::from(byte) & mask));
                matches = emit.and(matches, same);
            }
            position = emit.select(matches, Operand::constant(32, index as u64), position);
            found = emit.or(found, matches);
        }
        let valid = self.prefix_fits(map, key);
        Some((position, self.ir.emit.and(found, valid)))
    }

    /// Returns a 1-bit operand that is set if the prefix length of a key is at most the number of
    /// the key's bits. Lookups with a longer prefix fail.
    pub(in crate::lift) fn prefix_fits(&mut self, map: &MapOperand, key: Operand) -> Operand {
        let bits = 8 * (map.def.key_size as usize).saturating_sub(PREFIX_BYTES);
        let emit = &mut self.ir.emit;
        let length = emit.load(key, PREFIX_BYTES as u8);
        let too_long = emit.ult(Operand::constant(32, bits as u64), length);
        emit.not(too_long)
    }
}

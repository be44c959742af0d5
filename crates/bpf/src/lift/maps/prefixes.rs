//! Models several lookups in a longest-prefix-match trie with unknown content (`trie_lookup_elem`
//! of `kernel/bpf/lpm_trie.c`).
//!
//! A lookup finds the longest entry that is a prefix of its key and not longer than the key. The
//! key and the length of the found entry therefore identify the entry. Results of lookups constrain
//! each other: if the results of two lookups are prefixes of both keys, the results are equal. An
//! empty result counts as a prefix of every key. Any results that satisfy this constraint are
//! possible: the trie may contain exactly these entries. A trie has at most `max_entries` entries
//! (`trie_update_elem`). Once a run has found this many, lookups of other keys find one of them or
//! nothing.

use slowpath_ir::{BinaryOp, Emit, Operand, Reg, RegionId};

use crate::lift::ir::emit::word;
use crate::lift::layout::memory::PRESENT;
use crate::lift::lifter::Lifter;
use crate::lift::maps::lookup_comparison::{LAST, LENGTH_BYTES, LookupComparison};
use crate::lift::maps::operand::MapOperand;

/// The key of a lookup in a longest-prefix-match trie.
#[derive(Clone)]
struct Query {
    /// Address of the map if it is an inner map of a map of maps, otherwise `None`.
    map_address: Option<Operand>,
    /// Length of the key in bits, as a 64-bit number.
    length: Operand,
    /// Bits of the key, in words of up to 64 bits; the first bit is the most significant one of the
    /// first word.
    words: Vec<Operand>,
}

/// Key and result of a lookup, stored for comparison with later lookups.
struct Found {
    query: Query,
    /// Prefix length of the entry that the lookup found, in bits, plus one; zero if it found none.
    entry: Operand,
    /// 1-bit operand that is set if the run has made this lookup, and its key had a valid prefix
    /// length.
    made: Operand,
}

impl Lifter<'_> {
    /// Looks up the key at an address in a trie. Returns the number of the found entry, as a 32-bit
    /// operand, and a 1-bit operand that is set if a matching entry exists. Returns `None` if
    /// lookups in the trie are not compared.
    pub(in crate::lift) fn find_prefix(
        &mut self,
        map: &MapOperand,
        key: Operand,
    ) -> Option<(Operand, Operand)> {
        let (seen, lengths) = (map.layout.first_access?, map.layout.prefix_lengths?);
        let bytes = map.def.key_size - LENGTH_BYTES;
        let query = self.query(map, key, bytes);
        let number = self.element(map, key).number;
        let at = self.ir.item(lengths, number, 1);
        let emit = &mut self.ir.emit;
        let entry = emit.load(at, 2);
        let entry = emit.zero_extend(entry, 64);
        let bits = emit.sub(entry, word(1));
        // "No entry" has the largest length here, and stays "no entry".
        let longer = emit.ult(query.length, bits);
        let invalid = emit.ult(word(8 * u64::from(bytes)), query.length);
        let mut entry = emit.select(longer, word(0), entry);
        let before: Vec<u32> = match map.tracking.prefixes.as_ref()? {
            LookupComparison::Sites(sites) => sites.iter().copied().collect(),
            LookupComparison::Last(slots) => (0..*slots as u32).collect(),
            LookupComparison::None => return None,
        };
        entry = self.agree_with_all(map, &before, &query, entry);
        if map.tracking.seen {
            // If the result becomes "no entry", it must agree with earlier results as well.
            entry = self.if_there_is_room(map, &query, entry);
            entry = self.agree_with_all(map, &before, &query, entry);
        }
        let emit = &mut self.ir.emit;
        let valid = emit.not(invalid);
        let none = emit.eq(entry, word(0));
        let is_entry = emit.not(none);
        let found = emit.and(valid, is_entry);
        if let Some(LookupComparison::Last(_)) = map.tracking.prefixes {
            self.shift_results(map, &before, &query, valid);
            self.store_result(map, 0, &query, entry, valid);
        } else {
            self.store_result(map, self.site().1.0, &query, entry, valid);
        }
        let number = self.entry_number(&query, entry, bytes);
        let (note, first) = self.entry_note(seen, number);
        if map.tracking.seen {
            let others = self.unaccessed_bound(map);
            let emit = &mut self.ir.emit;
            let more = emit.and(first, found);
            let more = emit.zero_extend(more, 64);
            let left = emit.sub(others, more);
            emit.copy(others, left);
        }
        self.ir.emit.store_if(found, note, Operand::constant(8, PRESENT));
        Some((number, found))
    }

    /// Makes the result of a lookup consistent with earlier lookups. If the prefix length `entry`
    /// contradicts a result in `before`, changes it so that it agrees with all of them.
    fn agree_with_all(
        &mut self,
        map: &MapOperand,
        before: &[u32],
        query: &Query,
        mut entry: Operand,
    ) -> Operand {
        for &site in before {
            let before = self.stored_result(map, site, query);
            entry = self.agree(query, entry, &before);
        }
        entry
    }

    /// Returns `entry`, or "no entry" if the trie would need more than `max_entries` entries with
    /// it.
    fn if_there_is_room(&mut self, map: &MapOperand, query: &Query, entry: Operand) -> Operand {
        let Some(seen) = map.layout.first_access else { return entry };
        let number = self.entry_number(query, entry, map.def.key_size - LENGTH_BYTES);
        let (_, first) = self.entry_note(seen, number);
        let others = self.unaccessed_bound(map);
        let emit = &mut self.ir.emit;
        let none = emit.eq(others, word(0));
        let too_many = emit.and(first, none);
        emit.select(too_many, word(0), entry)
    }

    /// Returns the address of the byte that records the first access of the run to a trie entry.
    /// Also returns a 1-bit operand that is set if no earlier lookup has found this entry.
    fn entry_note(&mut self, seen: RegionId, number: Operand) -> (Operand, Operand) {
        let base = self.ir.base(seen);
        let emit = &mut self.ir.emit;
        let wide = emit.zero_extend(number, 64);
        let note = emit.add(base, wide);
        let before = emit.load(note, 1);
        let first = emit.eq(before, Operand::constant(8, 0));
        (note, first)
    }

    /// Loads the key of a lookup from the address `key`. The key has `bytes` bytes without its
    /// prefix length.
    fn query(&mut self, map: &MapOperand, key: Operand, bytes: u32) -> Query {
        let emit = &mut self.ir.emit;
        let length = emit.load(key, LENGTH_BYTES as u8);
        let length = emit.zero_extend(length, 64);
        // The first byte becomes the most significant one, so that a prefix consists of the high
        // bits of words.
        let mut words: Vec<Operand> = Vec::new();
        for offset in 0..bytes {
            let at = emit.add(key, word(u64::from(LENGTH_BYTES + offset)));
            let byte = emit.load(at, 1);
            match words.last_mut() {
                Some(last) if offset % 8 != 0 => {
                    *last = emit.binary(BinaryOp::Concat, *last, byte);
                }
                _ => words.push(byte),
            }
        }
        Query { map_address: map.map_address, length, words }
    }

    fn site_register(&mut self, map: &MapOperand, site: u32, what: &str, width: u8) -> Reg {
        self.ir.start_zero(&format!("{}.{what}.{site}", map.layout.name), width)
    }

    /// Moves each stored result of a lookup to the next slot, which frees the first slot and drops
    /// the oldest result. A later lookup with a key of valid length then relies on an assumption:
    /// its result agrees with dropped results.
    fn shift_results(&mut self, map: &MapOperand, slots: &[u32], like: &Query, valid: Operand) {
        let Some(&last) = slots.last() else { return };
        let lost = self.ir.start_zero(&format!("{}.lost", map.layout.name), 1);
        let sentence =
            format!("lookups in {} agree with lookups more than {LAST} earlier", map.layout.name);
        let relies = self.ir.emit.and(lost, valid);
        self.rely(relies, sentence);
        let made = self.site_register(map, last, "made", 1);
        let emit = &mut self.ir.emit;
        let now = emit.or(lost, made);
        emit.copy(lost, now);
        // Start with the last slot, so that each result is moved before its slot is overwritten.
        for &slot in slots.iter().skip(1).rev() {
            let Found { query, entry, made } = self.stored_result(map, slot - 1, like);
            self.store_result(map, slot, &query, entry, made);
        }
    }

    /// Records that the run relies on an assumption: the result of this lookup agrees with earlier
    /// lookups in the trie. Used if the results of lookups are not compared.
    pub(in crate::lift) fn look_up_alone(&mut self, map: &MapOperand) {
        if map.tracking.prefixes.is_none() {
            return;
        }
        let before = self.ir.start_zero(&format!("{}.asked", map.layout.name), 1);
        let sentence = format!("lookups in {} agree with each other", map.layout.name);
        self.rely(before.into(), sentence);
        self.ir.emit.copy(before, Operand::constant(1, 1));
    }

    /// Returns the key and result of an earlier lookup, which are stored in registers. `site` is
    /// the number of the lookup instruction, or the position in the list of recent lookups. The
    /// stored key has words of the same widths as the key `like`.
    fn stored_result(&mut self, map: &MapOperand, site: u32, like: &Query) -> Found {
        let length = self.site_register(map, site, "length", 64).into();
        let entry = self.site_register(map, site, "entry", 64).into();
        let made = self.site_register(map, site, "made", 1).into();
        let mut words = Vec::with_capacity(like.words.len());
        for (number, &word) in like.words.iter().enumerate() {
            let width = self.ir.emit.width(word);
            words.push(self.site_register(map, site, &format!("word{number}"), width).into());
        }
        let map_address =
            map.map_address.map(|_| self.site_register(map, site, "which", 64).into());
        Found { query: Query { map_address, length, words }, entry, made }
    }

    fn store_result(
        &mut self,
        map: &MapOperand,
        site: u32,
        query: &Query,
        entry: Operand,
        valid: Operand,
    ) {
        if let Some(map_address) = query.map_address {
            let register = self.site_register(map, site, "which", 64);
            self.ir.emit.copy(register, map_address);
        }
        let length = self.site_register(map, site, "length", 64);
        let found = self.site_register(map, site, "entry", 64);
        let made = self.site_register(map, site, "made", 1);
        for (number, &value) in query.words.iter().enumerate() {
            let width = self.ir.emit.width(value);
            let register = self.site_register(map, site, &format!("word{number}"), width);
            self.ir.emit.copy(register, value);
        }
        let emit = &mut self.ir.emit;
        emit.copy(length, query.length);
        emit.copy(found, entry);
        emit.copy(made, valid);
    }

    /// Makes the result `entry` of a lookup consistent with one earlier lookup. If both found
    /// entries are prefixes of both keys, returns the earlier result, otherwise `entry`.
    fn agree(&mut self, query: &Query, entry: Operand, before: &Found) -> Operand {
        let mut differences = Vec::with_capacity(query.words.len());
        for (&a, &b) in query.words.iter().zip(&before.query.words) {
            differences.push(self.ir.emit.binary(BinaryOp::Xor, a, b));
        }
        let is_common = self.covers(entry, &differences, before.query.length);
        let earlier_is_common = self.covers(before.entry, &differences, query.length);
        let emit = &mut self.ir.emit;
        let both = emit.and(is_common, earlier_is_common);
        let mut both = emit.and(both, before.made);
        if let (Some(is_common), Some(earlier_is_common)) =
            (query.map_address, before.query.map_address)
        {
            let same = emit.eq(is_common, earlier_is_common);
            both = emit.and(both, same);
        }
        emit.select(both, before.entry, entry)
    }

    /// Returns a 1-bit operand that is set if the entry found for one key is also a prefix of
    /// another key, which has `length` bits. `differences` contains the exclusive-or of the words
    /// of both keys. "No entry" counts as a prefix of all keys.
    fn covers(&mut self, entry: Operand, differences: &[Operand], length: Operand) -> Operand {
        let emit = &mut self.ir.emit;
        let none = emit.eq(entry, word(0));
        let bits = emit.sub(entry, word(1));
        let longer = emit.ult(length, bits);
        let mut covers = emit.not(longer);
        for (number, &difference) in (0u64..).zip(differences) {
            let shift = self.bits_after(bits, number, difference);
            let emit = &mut self.ir.emit;
            let first = emit.binary(BinaryOp::Lshr, difference, shift);
            let zero = Operand::constant(emit.width(difference), 0);
            let same = emit.eq(first, zero);
            covers = emit.and(covers, same);
        }
        self.ir.emit.or(none, covers)
    }

    /// Returns the number of bits of one word of a key that lie after the key's first `bits` bits.
    /// `number` is the index of the word in the key, and `value` the word. The result has the width
    /// of the word.
    fn bits_after(&mut self, bits: Operand, number: u64, value: Operand) -> Operand {
        let emit = &mut self.ir.emit;
        let width = u64::from(emit.width(value));
        // For "no entry", `bits` is -1, and callers ignore the result.
        let end = word(64 * number + width);
        let inside = emit.ult(bits, end);
        let rest = emit.sub(end, bits);
        let rest = emit.select(inside, rest, word(0));
        let whole_word = emit.ult(word(width), rest);
        let rest = emit.select(whole_word, word(width), rest);
        emit.extract(rest, 0, width as u8)
    }

    /// Returns the number of a trie entry: the number of a key whose bits after the entry's prefix
    /// are zero.
    fn entry_number(&mut self, query: &Query, entry: Operand, bytes: u32) -> Operand {
        let emit = &mut self.ir.emit;
        let bits = emit.sub(entry, word(1));
        let mut key: Vec<Operand> = Vec::new();
        for byte in 0..LENGTH_BYTES as u8 {
            key.push(emit.extract(bits, 8 * byte, 8));
        }
        for (number, &value) in (0u64..).zip(&query.words) {
            let shift = self.bits_after(bits, number, value);
            let emit = &mut self.ir.emit;
            let high = emit.binary(BinaryOp::Lshr, value, shift);
            let prefix = emit.binary(BinaryOp::Shl, high, shift);
            let count = emit.width(value) / 8;
            for byte in (0..count).rev() {
                key.push(emit.extract(prefix, 8 * byte, 8));
            }
        }
        debug_assert_eq!(key.len(), (LENGTH_BYTES + bytes) as usize);
        let mut words = Vec::new();
        for piece in key.chunks(8) {
            let emit = &mut self.ir.emit;
            let mut value = piece[0];
            for &high in &piece[1..] {
                value = emit.binary(BinaryOp::Concat, high, value);
            }
            words.push(emit.zero_extend(value, 64));
        }
        self.ir.emit.interned(query.map_address, &words)
    }
}

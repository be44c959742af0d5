//! Several lookups in a longest-prefix-match trie with unknown content (`trie_lookup_elem` of
//! `kernel/bpf/lpm_trie.c`).
//!
//! A lookup finds the longest entry that is a prefix of its key and not longer than the key. So the
//! key and the length of the found entry identify the entry. One result constrains others: if the
//! results of two lookups are prefixes of both keys, the results are equal. An empty result counts
//! as a prefix of every key. Any results that satisfy this constraint are those of some trie: the
//! one with exactly these entries. A trie has at most `max_entries` entries (`trie_update_elem`).
//! Once a run has found that many, every other key finds one of them or nothing.

use slowpath_ir::{BinaryOp, Emit, Operand, Reg, RegionId};

use crate::lift::ir::emit::word;
use crate::lift::layout::memory::PRESENT;
use crate::lift::lifter::Lifter;
use crate::lift::maps::lookup_comparison::{LAST, LENGTH_BYTES, LookupComparison};
use crate::lift::maps::operand::MapOperand;

/// The key of a lookup.
#[derive(Clone)]
struct Query {
    /// Address of the map, for an inner map of a map of maps.
    which: Option<Operand>,
    /// Length of the key in bits, as a 64-bit number.
    length: Operand,
    /// Bits of the key from the first on, in words of up to 64 bits.
    words: Vec<Operand>,
}

/// Result of a lookup, stored for comparison with later ones.
struct Found {
    query: Query,
    /// Length of the found entry in bits, plus one; zero for no entry.
    entry: Operand,
    /// Condition that the lookup was made, with a key of valid length.
    made: Operand,
}

impl Lifter<'_> {
    /// Looks up the key at an address. Returns the number of the found entry, 32 bits, and the
    /// condition that there is one.
    pub(in crate::lift) fn find_prefix(
        &mut self,
        map: &MapOperand,
        key: Operand,
    ) -> Option<(Operand, Operand)> {
        let (seen, lengths) = (map.layout.first_access?, map.layout.prefix_lengths?);
        let bytes = map.def.key_size - LENGTH_BYTES;
        let query = self.query(map, key, bytes);
        let number = self.element(map, key).number;
        let base = self.ir.base(lengths);
        let emit = &mut self.ir.emit;
        let number = emit.zero_extend(number, 64);
        let offset = emit.binary(BinaryOp::Shl, number, word(1));
        let at = emit.add(base, offset);
        let entry = emit.load(at, 2);
        let entry = emit.zero_extend(entry, 64);
        let bits = emit.sub(entry, word(1));
        // "No entry" has the largest length here, and remains "no entry".
        let longer = emit.ult(query.length, bits);
        let strange = emit.ult(word(8 * u64::from(bytes)), query.length);
        let mut entry = emit.select(longer, word(0), entry);
        let before: Vec<u32> = match map.tracking.prefixes.as_ref()? {
            LookupComparison::Sites(sites) => sites.iter().copied().collect(),
            LookupComparison::Last(slots) => (0..*slots as u32).collect(),
            LookupComparison::None => return None,
        };
        entry = self.agree_with_all(map, &before, &query, entry);
        if map.tracking.seen {
            // A result changed to "no entry" must agree with earlier results as well.
            entry = self.if_there_is_room(map, &query, entry);
            entry = self.agree_with_all(map, &before, &query, entry);
        }
        let emit = &mut self.ir.emit;
        let fine = emit.not(strange);
        let none = emit.eq(entry, word(0));
        let some = emit.not(none);
        let found = emit.and(fine, some);
        if let Some(LookupComparison::Last(_)) = map.tracking.prefixes {
            self.move_on(map, &before, &query, fine);
            self.keep_found(map, 0, &query, entry, fine);
        } else {
            self.keep_found(map, self.site().1.0, &query, entry, fine);
        }
        let place = self.entry_number(&query, entry, bytes);
        let (note, first) = self.entry_note(seen, place);
        if map.tracking.seen {
            let others = self.unaccessed_bound(map);
            let emit = &mut self.ir.emit;
            let more = emit.and(first, found);
            let more = emit.zero_extend(more, 64);
            let left = emit.sub(others, more);
            emit.copy(others, left);
        }
        self.ir.emit.store_if(found, note, Operand::constant(8, PRESENT));
        Some((place, found))
    }

    /// Adjusts the result of a lookup to those of all earlier ones.
    fn agree_with_all(
        &mut self,
        map: &MapOperand,
        before: &[u32],
        query: &Query,
        mut entry: Operand,
    ) -> Operand {
        for &site in before {
            let before = self.found_at(map, site, query);
            entry = self.agree(query, entry, &before);
        }
        entry
    }

    /// Returns the entry, or no entry if the trie would have too many.
    fn if_there_is_room(&mut self, map: &MapOperand, query: &Query, entry: Operand) -> Operand {
        let Some(seen) = map.layout.first_access else { return entry };
        let place = self.entry_number(query, entry, map.def.key_size - LENGTH_BYTES);
        let (_, first) = self.entry_note(seen, place);
        let others = self.unaccessed_bound(map);
        let emit = &mut self.ir.emit;
        let none = emit.eq(others, word(0));
        let too_many = emit.and(first, none);
        emit.select(too_many, word(0), entry)
    }

    /// Returns the address of a found entry's note, and the condition that the entry was not found
    /// before.
    fn entry_note(&mut self, seen: RegionId, place: Operand) -> (Operand, Operand) {
        let base = self.ir.base(seen);
        let emit = &mut self.ir.emit;
        let wide = emit.zero_extend(place, 64);
        let note = emit.add(base, wide);
        let before = emit.load(note, 1);
        let first = emit.eq(before, Operand::constant(8, 0));
        (note, first)
    }

    /// Loads the key at an address.
    fn query(&mut self, map: &MapOperand, key: Operand, bytes: u32) -> Query {
        let emit = &mut self.ir.emit;
        let length = emit.load(key, LENGTH_BYTES as u8);
        let length = emit.zero_extend(length, 64);
        // The first byte becomes the most significant one, so a prefix consists of the high bits of
        // words.
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
        Query { which: map.map_address, length, words }
    }

    fn site_register(&mut self, map: &MapOperand, site: u32, what: &str, width: u8) -> Reg {
        self.ir.start_zero(&format!("{}.{what}.{site}", map.layout.name), width)
    }

    /// Shifts the stored results by one slot to free the first one; the oldest result is lost.
    fn move_on(&mut self, map: &MapOperand, slots: &[u32], like: &Query, fine: Operand) {
        let Some(&last) = slots.last() else { return };
        let lost = self.ir.start_zero(&format!("{}.lost", map.layout.name), 1);
        let sentence = format!(
            "look-ups in {} agree with those that are more than {LAST} before",
            map.layout.name
        );
        let relies = self.ir.emit.and(lost, fine);
        self.rely(relies, sentence);
        let made = self.site_register(map, last, "made", 1);
        let emit = &mut self.ir.emit;
        let now = emit.or(lost, made);
        emit.copy(lost, now);
        // Backwards, so that each result is moved before its slot is overwritten.
        for &slot in slots.iter().skip(1).rev() {
            let Found { query, entry, made } = self.found_at(map, slot - 1, like);
            self.keep_found(map, slot, &query, entry, made);
        }
    }

    /// Handles a lookup that is not compared with others: the run relies on agreement.
    pub(in crate::lift) fn look_up_alone(&mut self, map: &MapOperand) {
        if map.tracking.prefixes.is_none() {
            return;
        }
        let before = self.ir.start_zero(&format!("{}.asked", map.layout.name), 1);
        let sentence = format!("look-ups in {} agree with each other", map.layout.name);
        self.rely(before.into(), sentence);
        self.ir.emit.copy(before, Operand::constant(1, 1));
    }

    /// Returns the stored result of a lookup instruction or slot.
    fn found_at(&mut self, map: &MapOperand, site: u32, like: &Query) -> Found {
        let length = self.site_register(map, site, "length", 64).into();
        let entry = self.site_register(map, site, "entry", 64).into();
        let made = self.site_register(map, site, "made", 1).into();
        let mut words = Vec::with_capacity(like.words.len());
        for (number, &word) in like.words.iter().enumerate() {
            let width = self.ir.emit.width(word);
            words.push(self.site_register(map, site, &format!("word{number}"), width).into());
        }
        let of = |lifter: &mut Self| lifter.site_register(map, site, "which", 64).into();
        let which = map.map_address.map(|_| of(self));
        Found { query: Query { which, length, words }, entry, made }
    }

    fn keep_found(
        &mut self,
        map: &MapOperand,
        site: u32,
        query: &Query,
        entry: Operand,
        fine: Operand,
    ) {
        if let Some(which) = query.which {
            let kept = self.site_register(map, site, "which", 64);
            self.ir.emit.copy(kept, which);
        }
        let length = self.site_register(map, site, "length", 64);
        let found = self.site_register(map, site, "entry", 64);
        let made = self.site_register(map, site, "made", 1);
        for (number, &value) in query.words.iter().enumerate() {
            let width = self.ir.emit.width(value);
            let kept = self.site_register(map, site, &format!("word{number}"), width);
            self.ir.emit.copy(kept, value);
        }
        let emit = &mut self.ir.emit;
        emit.copy(length, query.length);
        emit.copy(found, entry);
        emit.copy(made, fine);
    }

    /// Adjusts the result of a lookup to that of an earlier one.
    fn agree(&mut self, query: &Query, entry: Operand, before: &Found) -> Operand {
        let mut differences = Vec::with_capacity(query.words.len());
        for (&a, &b) in query.words.iter().zip(&before.query.words) {
            differences.push(self.ir.emit.binary(BinaryOp::Xor, a, b));
        }
        let this = self.covers(entry, &differences, before.query.length);
        let other = self.covers(before.entry, &differences, query.length);
        let emit = &mut self.ir.emit;
        let both = emit.and(this, other);
        let mut both = emit.and(both, before.made);
        if let (Some(this), Some(other)) = (query.which, before.query.which) {
            let same = emit.eq(this, other);
            both = emit.and(both, same);
        }
        emit.select(both, before.entry, entry)
    }

    /// Returns the condition that an entry found for one key is also a prefix of the other key,
    /// which has this length. "No entry" counts as a prefix of all keys.
    fn covers(&mut self, entry: Operand, differences: &[Operand], length: Operand) -> Operand {
        let emit = &mut self.ir.emit;
        let none = emit.eq(entry, word(0));
        let bits = emit.sub(entry, word(1));
        let longer = emit.ult(length, bits);
        let mut covers = emit.not(longer);
        for (number, &difference) in (0u64..).zip(differences) {
            let shift = self.behind(bits, number, difference);
            let emit = &mut self.ir.emit;
            let first = emit.binary(BinaryOp::Lshr, difference, shift);
            let zero = Operand::constant(emit.width(difference), 0);
            let same = emit.eq(first, zero);
            covers = emit.and(covers, same);
        }
        self.ir.emit.or(none, covers)
    }

    /// Returns the number of bits of a word after a prefix, at most the word's width; the result
    /// has this width.
    fn behind(&mut self, bits: Operand, number: u64, of: Operand) -> Operand {
        let emit = &mut self.ir.emit;
        let width = u64::from(emit.width(of));
        // For "no entry", `bits` is -1; the result is unused.
        let end = word(64 * number + width);
        let inside = emit.ult(bits, end);
        let rest = emit.sub(end, bits);
        let rest = emit.select(inside, rest, word(0));
        let all = emit.ult(word(width), rest);
        let rest = emit.select(all, word(width), rest);
        emit.extract(rest, 0, width as u8)
    }

    /// Returns the number of an entry: that of its key, with all bits after the prefix zero.
    fn entry_number(&mut self, query: &Query, entry: Operand, bytes: u32) -> Operand {
        let emit = &mut self.ir.emit;
        let bits = emit.sub(entry, word(1));
        let mut key: Vec<Operand> = Vec::new();
        for byte in 0..LENGTH_BYTES as u8 {
            key.push(emit.extract(bits, 8 * byte, 8));
        }
        for (number, &value) in (0u64..).zip(&query.words) {
            let shift = self.behind(bits, number, value);
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
        self.ir.emit.interned(query.which, &words)
    }
}

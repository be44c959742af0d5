//! How many elements a map holds: never more than `max_entries`, and an insertion fails when there
//! is no room, never otherwise (`prealloc_init`, `alloc_htab_elem`, `is_map_full` of
//! `kernel/bpf/hashtab.c`: as many elements as `max_entries` are allocated beside those for
//! replacing, and every CPU takes the free ones of the others; without preallocation they are
//! counted).
//!
//! Tracked only where it can matter, see [`super::tracking`].

use slowpath_ir::{Emit, InputKind, Operand, Reg, RegionKind};

use crate::lift::ir::builder::StartValue;
use crate::lift::ir::emit::word;
use crate::lift::layout::memory::{ABSENT, MapFill, MapRoom, PRESENT};
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;
use crate::lift::maps::tracking::Tracking;
use crate::maps::MapDef;

/// What the memory of [`MapFill`] is called.
const USED: &str = "used";

impl Lifter<'_> {
    /// How many of the elements that a run has met are there.
    pub(in crate::lift) fn alive(&mut self, map: &MapOperand) -> Option<Cell> {
        map.tracking.walked.then(|| self.cell(map, "alive"))
    }

    /// One of them goes, if the condition holds.
    pub(in crate::lift) fn dies(&mut self, map: &MapOperand, goes: Operand) {
        let Some(alive) = self.alive(map) else { return };
        let before = self.read(alive);
        let goes = self.ir.emit.zero_extend(goes, 64);
        let left = self.ir.emit.sub(before, goes);
        self.write(alive, left);
    }

    /// One comes, if the condition holds, or is met that was there.
    pub(in crate::lift) fn lives(&mut self, map: &MapOperand, comes: Operand) {
        let Some(alive) = self.alive(map) else { return };
        let before = self.read(alive);
        let comes = self.ir.emit.zero_extend(comes, 64);
        let more = self.ir.emit.add(before, comes);
        self.write(alive, more);
    }

    /// Sets up what is tracked of how full a map is.
    pub(in crate::lift) fn start_room(
        &mut self,
        def: &MapDef,
        name: &str,
        tracking: &Tracking,
    ) -> Option<MapRoom> {
        let entries = u64::from(def.max_entries);
        let (room, others) = (format!("{name}.room"), format!("{name}.others"));
        let known = self.options.contents.get(name).filter(|_| entries > 0);
        let given = known.map(|content| {
            let listed = content.entries.len() as u64;
            (entries.saturating_sub(listed + content.others), listed)
        });
        if let Some((free, listed)) = given {
            self.ir.start(&room, 64, StartValue::Constant(free));
            self.ir.start(&others, 64, StartValue::Constant(listed));
            return None;
        }
        let Some(most) = tracking.room else {
            self.ir.start(&others, 64, StartValue::Constant(entries));
            return None;
        };
        let what = format!("free elements of {name}");
        let free = self.ir.input(&what, 64, 0, most.into(), InputKind::Unknown);
        self.ir.start(&room, 64, StartValue::Unknown(free));
        self.ir.start(&others, 64, StartValue::Rest { of: entries, without: free });
        Some(MapRoom { free, max_entries: def.max_entries })
    }

    /// Sets up how full a queue is.
    pub(in crate::lift) fn start_queue(&mut self, def: &MapDef, name: &str) -> Option<MapRoom> {
        let entries = u64::from(def.max_entries);
        if entries == 0 {
            return None;
        }
        let next = format!("{name}.next");
        let what = format!("free elements of {name}");
        let free = self.ir.input(&what, 64, 0, entries, InputKind::Unknown);
        let start = match self.options.contents.get(name) {
            Some(given) => StartValue::Constant(given.entries.len() as u64 + given.others),
            None => StartValue::Rest { of: entries, without: free },
        };
        self.ir.start(&next, 64, start);
        Some(MapRoom { free, max_entries: def.max_entries })
    }

    /// Sets up what is tracked of how full the maps in a map of maps are.
    pub(in crate::lift) fn start_fill(
        &mut self,
        def: &MapDef,
        name: &str,
        tracking: &Tracking,
    ) -> Option<MapFill> {
        let most = tracking.room?;
        let used = if self.options.contents.contains_key(name) {
            self.zeroed(name, USED)
        } else {
            self.ir.region(&format!("{name}.{USED}"), RegionKind::Map)
        };
        let least = def.max_entries.checked_sub(most);
        Some(MapFill { used, max_entries: def.max_entries, least })
    }

    /// How many elements a map out of a map of maps has, 32 bits, and where that is noted.
    fn used(&mut self, map: &MapOperand) -> Option<(MapFill, Operand, Operand)> {
        let (fill, which) = (map.layout.fill?, map.which?);
        let number = self.map_number(which);
        let at = self.item(fill.used, number, 2);
        let emit = &mut self.ir.emit;
        let used = emit.load(at, 4);
        let Some(least) = fill.least else { return Some((fill, at, used)) };
        // Unknown memory holds any number: those that no map of this size can have count as the
        // nearest that it can.
        let (least, most) = (Operand::constant(32, least.into()), fill.most());
        let fewer = emit.ult(used, least);
        let used = emit.select(fewer, least, used);
        let more = emit.ult(most, used);
        Some((fill, at, emit.select(more, most, used)))
    }

    /// How many more elements there is room for, where that is tracked.
    fn room(&mut self, map: &MapOperand) -> Option<Reg> {
        map.tracking.room.filter(|_| map.which.is_none())?;
        Some(self.ir.extra(&format!("{}.room", map.layout.name), 64))
    }

    /// Whether a map that lacks an element is full.
    pub(in crate::lift) fn full(&mut self, map: &MapOperand) -> Operand {
        // With as many places as there are keys, there is always one for a key that is absent.
        let keys = 1u64.checked_shl(8 * map.def.key_size);
        if keys.is_some_and(|keys| map.def.max_entries != 0 && keys <= map.def.max_entries.into()) {
            return Operand::constant(1, 0);
        }
        if let Some((fill, _, used)) = self.used(map) {
            return self.ir.emit.eq(used, fill.most());
        }
        match self.room(map) {
            Some(room) => self.ir.emit.eq(room, word(0)),
            None => {
                let room = format!("room in {}", map.def.name);
                self.ir.emit.coin(&room, &["yes", "no: -E2BIG"])
            }
        }
    }

    /// How many more elements there can be than those that the run has met.
    pub(in crate::lift) fn others(&mut self, map: &MapOperand) -> Reg {
        self.ir.extra(&format!("{}.others", map.layout.name), 64)
    }

    /// An element comes under one condition, or goes under the other.
    pub(in crate::lift) fn count(&mut self, map: &MapOperand, comes: Operand, goes: Operand) {
        self.lives(map, comes);
        self.dies(map, goes);
        if let Some((_, at, used)) = self.used(map) {
            let emit = &mut self.ir.emit;
            let (comes, goes) = (emit.zero_extend(comes, 32), emit.zero_extend(goes, 32));
            let more = emit.add(used, comes);
            let left = emit.sub(more, goes);
            emit.store(at, left);
            return;
        }
        let Some(room) = self.room(map) else { return };
        let emit = &mut self.ir.emit;
        let (comes, goes) = (emit.zero_extend(comes, 64), emit.zero_extend(goes, 64));
        let more = emit.add(room, goes);
        let left = emit.sub(more, comes);
        emit.copy(room, left);
    }

    /// Whether an element that is said to exist does: of those that the run meets first now, as
    /// many can as the map holds.
    pub(in crate::lift) fn meet(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        exists: Operand,
    ) -> Operand {
        let (Some(seen), Some(present)) = (map.layout.seen, map.layout.present) else {
            return exists;
        };
        let others = self.others(map);
        let (seen, present) = (self.ir.base(seen), self.ir.base(present));
        let emit = &mut self.ir.emit;
        let offset = emit.zero_extend(element.number, 64);
        let (seen, present) = (emit.add(seen, offset), emit.add(present, offset));
        let before = emit.load(seen, 1);
        // Later meetings find in `present` what was written at the first, or by the run since.
        let first = emit.eq(before, Operand::constant(8, 0));
        let none = emit.eq(others, word(0));
        let possible = emit.not(none);
        let found = emit.and(exists, possible);
        let here = emit.select(first, found, exists);
        let now = |value| Operand::constant(8, value);
        let noted = emit.select(here, now(PRESENT), now(ABSENT));
        let noted = emit.select(first, noted, before);
        emit.store(seen, noted);
        let byte = emit.zero_extend(here, 8);
        emit.store(present, byte);
        let met = emit.and(first, here);
        let one = emit.zero_extend(met, 64);
        let left = emit.sub(others, one);
        emit.copy(others, left);
        self.lives(map, met);
        here
    }
}

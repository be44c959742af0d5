//! Which elements `bpf_for_each_map_elem` finds in hash maps (`bpf_for_each_hash_elem` of
//! `kernel/bpf/hashtab.c`): each that is there, once, in any order.
//!
//! That is known from counting. A run knows how many of the elements that it has met are there
//! (`alive`) and how many others there can be. The number of rounds is drawn: as many as are alive,
//! and some of the others. A round is for an element that is there and has had no round; a run in
//! which one is not is none. So all that are alive have their round, and when the rounds are over,
//! no others are left to be met.
//!
//! Callbacks can change the map. To delete the element of the round, or one before, disturbs nothing;
//! where anything else goes or comes, what the other rounds are for is up to where elements are in the
//! table: a path that goes on behind that relies on it.

use slowpath_ir::{Emit, Operand, Reading, Reg};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// How many walks through the map have begun.
    fn walks(&mut self, map: &MapOperand) -> Cell {
        self.cell(map, "walks")
    }

    /// How often a walk was disturbed.
    fn disturbances(&mut self, map: &MapOperand) -> Cell {
        self.cell(map, "disturbances")
    }

    /// An element comes or goes, or is replaced, if the condition holds.
    pub(in crate::lift) fn disturb(
        &mut self,
        map: &MapOperand,
        element: ElementRef,
        cond: Operand,
    ) {
        if !map.tracking.disturbed {
            return;
        }
        let walks = self.walks(map);
        let walk = self.read(walks);
        let note = self.word_of(map, "walked", element.number);
        let emit = &mut self.ir.emit;
        let last = emit.load(note, 8);
        let over = emit.eq(last, walk);
        let ahead = emit.not(over);
        let disturbs = emit.and(ahead, cond);
        self.count_disturbance(map, disturbs);
    }

    fn count_disturbance(&mut self, map: &MapOperand, cond: Operand) {
        let cell = self.disturbances(map);
        let before = self.read(cell);
        let more = self.ir.emit.add(before, word(1));
        self.write_if(cond, cell, more);
    }

    /// A walk begins: the number of its rounds, and whether there can be so many.
    pub(in crate::lift) fn begin_walk(
        &mut self,
        map: &MapOperand,
        calm: Reg,
    ) -> (Operand, Operand) {
        let most = map.most_elements().unwrap_or(u32::MAX);
        let what = format!("elements in {}", map.def.name);
        let rounds = self.ir.emit.draw(&what, Reading::Number, 64, most.into());
        let yes = Operand::constant(1, 1);
        let Some(alive) = self.alive(map) else {
            let sentence =
                format!("bpf_for_each_map_elem finds such elements in {}", map.layout.name);
            self.rely(yes, sentence);
            return (rounds, yes);
        };
        if map.tracking.disturbed {
            // Walks inside of walks: of the elements, only the last walk is noted.
            self.count_disturbance(map, yes);
            let cell = self.disturbances(map);
            let now = self.read(cell);
            self.ir.emit.copy(calm, now);
        }
        let walks = self.walks(map);
        let walk = self.read(walks);
        let walk = self.ir.emit.add(walk, word(1));
        self.write(walks, walk);
        let (alive, others) = (self.read(alive), self.others(map));
        let given = self.options.contents.contains_key(&map.layout.name);
        let emit = &mut self.ir.emit;
        let fewer = emit.ult(rounds, alive);
        let enough = emit.not(fewer);
        let new = emit.sub(rounds, alive);
        let fits = if given || map.tracking.room.is_some() {
            // It is known how many there are.
            emit.eq(new, others)
        } else {
            let more = emit.ult(others, new);
            emit.not(more)
        };
        let possible = emit.and(enough, fits);
        let possible = match self.has_evicted(map) {
            None => possible,
            // Of those met, some may have gone.
            Some(evicted) => {
                let sentence = format!("the insertions evict such elements of {}", map.layout.name);
                self.rely(evicted, sentence);
                self.ir.emit.or(possible, evicted)
            }
        };
        let emit = &mut self.ir.emit;
        let left = emit.select(fits, new, others);
        emit.copy(others, left);
        (rounds, possible)
    }

    /// Whether a walk that began when there had been so many disturbances was disturbed since.
    pub(in crate::lift) fn disturbed(&mut self, map: &MapOperand, calm: Reg) -> Option<Operand> {
        if !map.tracking.disturbed {
            return None;
        }
        let cell = self.disturbances(map);
        let now = self.read(cell);
        let same = self.ir.emit.eq(now, calm);
        let disturbed = self.ir.emit.not(same);
        let sentence = format!(
            "bpf_for_each_map_elem finds such elements in {}, which its callback has changed",
            map.layout.name
        );
        self.rely(disturbed, sentence);
        Some(disturbed)
    }

    /// Whether the next round of a walk can be for this element.
    pub(in crate::lift) fn walk_to(&mut self, map: &MapOperand, element: ElementRef) -> Operand {
        if !map.tracking.walked {
            return Operand::constant(1, 1);
        }
        let exists = self.exists(map, element);
        let walks = self.walks(map);
        let walk = self.read(walks);
        let note = self.word_of(map, "walked", element.number);
        let emit = &mut self.ir.emit;
        let last = emit.load(note, 8);
        let again = emit.eq(last, walk);
        let first = emit.not(again);
        emit.store(note, walk);
        emit.and(exists, first)
    }
}

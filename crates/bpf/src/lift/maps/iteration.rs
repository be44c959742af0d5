//! Models iteration over hash maps by `bpf_for_each_map_elem` (`bpf_for_each_hash_elem` of
//! `kernel/bpf/hashtab.c`), which visits each existing element once, in any order.
//!
//! The model counts elements. A run knows the number of existing elements that it has accessed
//! (`alive`), and an upper bound on the number of other elements. The number of iterations is an
//! unknown value: all alive elements and some others. A walk is one iteration over the map. Each of
//! its steps visits an existing element that it has not visited yet; runs that violate this are
//! excluded. So a walk visits all alive elements, and afterwards no other elements remain.
//!
//! Callbacks can change the map. Deletions of elements that the walk has already visited do not
//! disturb it. After any other insertion or deletion, the remaining iterations depend on positions
//! in the hash table. A path that continues after such a change relies on the assumption that the
//! kernel visits the same elements.

use slowpath_ir::{Emit, Operand, Reg, ValueFormat};

use crate::lift::ir::emit::word;
use crate::lift::lifter::Lifter;
use crate::lift::maps::cells::Cell;
use crate::lift::maps::elements::ElementRef;
use crate::lift::maps::operand::MapOperand;

impl Lifter<'_> {
    /// Returns the storage of a counter: the iterations over all elements of a map that the run has
    /// started.
    fn walks(&mut self, map: &MapOperand) -> Cell {
        self.cell(map, "walks")
    }

    /// Returns the storage of a counter: the changes of a map that may disturb a running iteration
    /// over its elements.
    fn disturbances(&mut self, map: &MapOperand) -> Cell {
        self.cell(map, "disturbances")
    }

    /// If `cond` is set, records that an element is inserted, deleted or replaced, which may
    /// disturb a running iteration.
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
        let visited = emit.eq(last, walk);
        let unvisited = emit.not(visited);
        let disturbs = emit.and(unvisited, cond);
        self.count_disturbance(map, disturbs);
    }

    fn count_disturbance(&mut self, map: &MapOperand, cond: Operand) {
        let cell = self.disturbances(map);
        let before = self.read(cell);
        let more = self.ir.emit.add(before, word(1));
        self.write_if(cond, cell, more);
    }

    /// Starts an iteration over all elements of a map. Returns the number of its steps as an
    /// unknown value, and a 1-bit operand that is set if the map can contain this many elements.
    pub(in crate::lift) fn begin_walk(
        &mut self,
        map: &MapOperand,
        disturbances_at_start: Reg,
    ) -> (Operand, Operand) {
        let most = map.most_elements().unwrap_or(u32::MAX);
        let quantity = format!("elements in {}", map.def.name);
        let iterations = self.ir.emit.draw(&quantity, ValueFormat::Number, 64, most.into());
        let always = Operand::constant(1, 1);
        let Some(alive) = self.alive(map) else {
            let sentence = format!(
                "bpf_for_each_map_elem finds the elements of the witness in {}",
                map.layout.name
            );
            self.rely(always, sentence);
            return (iterations, always);
        };
        if map.tracking.disturbed {
            // In nested walks, an element records only the last walk that visited it.
            self.count_disturbance(map, always);
            let cell = self.disturbances(map);
            let now = self.read(cell);
            self.ir.emit.copy(disturbances_at_start, now);
        }
        let walks = self.walks(map);
        let walk = self.read(walks);
        let walk = self.ir.emit.add(walk, word(1));
        self.write(walks, walk);
        let (alive, others) = (self.read(alive), self.unaccessed_bound(map));
        let is_known = self.options.contents.contains_key(&map.layout.name);
        let emit = &mut self.ir.emit;
        let fewer = emit.ult(iterations, alive);
        let enough = emit.not(fewer);
        let new = emit.sub(iterations, alive);
        let fits = if is_known || map.tracking.room.is_some() {
            // The number of elements is known.
            emit.eq(new, others)
        } else {
            let more = emit.ult(others, new);
            emit.not(more)
        };
        let possible = emit.and(enough, fits);
        let possible = match self.has_evicted(map) {
            None => possible,
            // Some of the accessed elements may have been evicted.
            Some(evicted) => {
                let sentence = format!("the insertions evict such elements of {}", map.layout.name);
                self.rely(evicted, sentence);
                self.ir.emit.or(possible, evicted)
            }
        };
        let emit = &mut self.ir.emit;
        let remaining = emit.select(fits, new, others);
        emit.copy(others, remaining);
        (iterations, possible)
    }

    /// Returns a 1-bit operand that is set if a change has disturbed an iteration over a map. In
    /// this case, the run relies on the assumption that the kernel visits the same elements.
    /// `disturbances_at_start` is the number of disturbances when the iteration began. Returns
    /// `None` if the program never changes a map during an iteration over it.
    pub(in crate::lift) fn disturbed(
        &mut self,
        map: &MapOperand,
        disturbances_at_start: Reg,
    ) -> Option<Operand> {
        if !map.tracking.disturbed {
            return None;
        }
        let cell = self.disturbances(map);
        let now = self.read(cell);
        let same = self.ir.emit.eq(now, disturbances_at_start);
        let disturbed = self.ir.emit.not(same);
        let sentence = format!(
            "bpf_for_each_map_elem finds the elements of the witness in {}, which its callback has \
             changed",
            map.layout.name
        );
        self.rely(disturbed, sentence);
        Some(disturbed)
    }

    /// Marks an element as visited by the current step of an iteration over a map. Returns a 1-bit
    /// operand that is set if the step can visit this element.
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
        let visited = emit.eq(last, walk);
        let first = emit.not(visited);
        emit.store(note, walk);
        emit.and(exists, first)
    }
}

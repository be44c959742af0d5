//! Closing a search by trying every input, where few of them matter.
//!
//! Some programs resist conflicts: rounds of a loop that mix two bytes of the packet depend on
//! each other in ways that no small set of arcs explains. Where everything that branches depend on
//! ([`mod@slice`]) has few values that make a difference ([`classes`]), all of them can be tried: the
//! program runs, as code that computes conditions only ([`code`]), with the first value of each
//! input that it looks at, then with the next ones, last input first. Inputs that a path does not
//! look at are not varied on it. So every path that some packet takes is found, each with its
//! shortest packet, and nothing else is.

mod classes;
mod code;
mod computation;
mod slice;

use crate::dag::{Dag, Head};
use crate::unroll::Unrolled;
use classes::{Leaf, least_bits, leaves};
use code::{Branch, Code, Source};
use rustc_hash::FxHashMap as HashMap;
use slice::Slice;
use slowpath_exec::ArcId;
use slowpath_smt::{Model, Node, TermId, TermPool};

/// Most combinations of values, in bits, for which it is begun: not all of them need to occur.
const MAX_BITS: f64 = 28.0;
/// Most 64-bit words kept about paths.
const MAX_KEPT: usize = 1 << 23;

/// A path that some packet takes.
#[derive(Clone, Debug)]
pub(crate) struct Possible {
    /// The ways taken at nodes with two, one bit each.
    decisions: Box<[u64]>,
    shortest: Shortest,
}

impl Possible {
    /// The length of the shortest packets that take it, as far as conditions tell, in bytes.
    pub fn length(&self) -> u32 {
        self.shortest.length
    }
}

/// The shortest packets that take a path.
#[derive(Clone, Debug)]
struct Shortest {
    /// Their length as far as conditions tell, in bytes.
    length: u32,
    /// Inputs that the path depends on, by their numbers, with their values.
    values: Box<[(u32, u64)]>,
}

/// What a stretch of the trial brought.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// There is more to try.
    Working,
    /// Everything has been tried.
    Complete,
    /// It takes too long.
    Hopeless,
}

/// Runs with all inputs that matter.
#[derive(Debug)]
pub(crate) struct Trial {
    code: Code,
    leaves: Vec<Leaf>,
    /// The number of the packet's length among the inputs.
    length: Option<u32>,
    /// The length of packets whose length does not matter, in bytes.
    least: u32,
    /// Inputs in the order in which the current run looks at them, with the number of the value.
    trail: Vec<(u32, u32)>,
    /// By input, where it is in the trail.
    position: Vec<Option<u32>>,
    table: Vec<u64>,
    decisions: Vec<u64>,
    decided: usize,
    found: HashMap<Box<[u64]>, Shortest>,
    /// Words in `found`.
    kept: usize,
    /// Operations done.
    work: u64,
    /// Operations after which it is given up.
    most: u64,
    /// Runs done.
    pub runs: u64,
}

/// Whether few inputs may matter for packets of at most `most` bytes, at a glance: quick, and without
/// telling their values apart.
pub(crate) fn may_be_few(unrolled: &Unrolled, most: u32) -> bool {
    let bits = Slice::of(unrolled).and_then(|slice| least_bits(unrolled, &slice, most.into()));
    bits.is_some_and(|bits| bits <= MAX_BITS)
}

impl Trial {
    /// Prepares the runs for packets of at most `most` bytes, if they are few enough; they are given
    /// up when they take more than so many operations.
    pub fn new(unrolled: &Unrolled, most: u32, operations: u64) -> Option<Trial> {
        // A limit of no iterations at all may leave nothing, not even the entry.
        unrolled.dag.nodes.first()?;
        let slice = Slice::of(unrolled)?;
        let leaves = leaves(unrolled, &slice, most.into())?;
        let bits: f64 = leaves.iter().map(|leaf| (leaf.values.len() as f64).log2()).sum();
        if bits > MAX_BITS {
            return None;
        }
        let code = Code::new(unrolled, &slice, &leaves)?;
        let executor = &unrolled.executor;
        let length = executor.packet_length();
        let least = length.map_or(0, |length| executor.pool.domain(length).lo() as u32);
        let length = length.and_then(|term| leaves.binary_search_by_key(&term, |l| l.term).ok());
        Some(Trial {
            table: code.start.clone(),
            position: vec![None; leaves.len()],
            length: length.map(|index| index as u32),
            code,
            leaves,
            least,
            trail: Vec::new(),
            decisions: Vec::new(),
            decided: 0,
            found: HashMap::default(),
            kept: 0,
            work: 0,
            most: operations,
            runs: 0,
        })
    }

    /// Runs until about so many operations are done.
    pub fn advance(&mut self, operations: u64) -> Progress {
        let end = self.work.saturating_add(operations);
        while self.work < end {
            if self.work > self.most || self.kept > MAX_KEPT {
                return Progress::Hopeless;
            }
            if self.run() {
                self.keep();
            }
            if !self.next() {
                return Progress::Complete;
            }
        }
        Progress::Working
    }

    /// One run; whether it comes to an exit, which limits of loops may prevent.
    fn run(&mut self) -> bool {
        self.decisions.clear();
        self.decided = 0;
        self.runs += 1;
        let mut node = Dag::ENTRY;
        loop {
            let computed = self.code.node(node);
            self.work += 1 + computed.len() as u64;
            for (place, source) in computed {
                self.table[*place as usize] = match source {
                    Source::Computation(computation) => computation.value(&self.table),
                    Source::Input(input) => {
                        let position = &mut self.position[*input as usize];
                        let at = *position.get_or_insert_with(|| {
                            self.trail.push((*input, 0));
                            self.trail.len() as u32 - 1
                        });
                        let (_, value) = self.trail[at as usize];
                        self.leaves[*input as usize].values[value as usize]
                    }
                };
            }
            let arc = match self.code.branch(node) {
                Branch::Nowhere => return false,
                Branch::Always(arc) => arc,
                Branch::Only { arc, condition, holds } => {
                    if (self.table[condition as usize] == 1) != holds {
                        return false;
                    }
                    arc
                }
                Branch::Both { condition, arcs } => {
                    let way = usize::from(self.table[condition as usize] != 1);
                    self.decide(way);
                    arcs[way]
                }
            };
            let carried = self.code.carried(arc);
            self.work += carried.len() as u64;
            for &(to, from) in carried {
                self.table[to as usize] = self.table[from as usize];
            }
            match self.code.head(arc) {
                Head::Node(next) => node = next,
                Head::Exit(_) => return true,
            }
        }
    }

    fn decide(&mut self, way: usize) {
        let (word, bit) = (self.decided / 64, self.decided % 64);
        if word == self.decisions.len() {
            self.decisions.push(0);
        }
        self.decisions[word] |= (way as u64) << bit;
        self.decided += 1;
    }

    /// Keeps the path of the run that has come to its end.
    fn keep(&mut self) {
        let value = |&(input, value): &(u32, u32)| {
            (input, self.leaves[input as usize].values[value as usize])
        };
        let chosen = self
            .length
            .and_then(|length| self.trail.iter().map(value).find(|&(input, _)| input == length));
        let length = chosen.map_or(self.least, |(_, length)| length as u32);
        let known = self.found.get_mut(self.decisions.as_slice());
        if known.as_ref().is_some_and(|known| known.length <= length) {
            return;
        }
        let values: Box<[(u32, u64)]> = self.trail.iter().map(value).collect();
        self.kept += 2 * values.len();
        match known {
            Some(known) => *known = Shortest { length, values },
            None => {
                self.kept += 8 + self.decisions.len();
                let shortest = Shortest { length, values };
                self.found.insert(self.decisions.as_slice().into(), shortest);
            }
        }
    }

    /// Moves to the next values; false if there are none.
    fn next(&mut self) -> bool {
        while let Some((input, value)) = self.trail.pop() {
            if (value as usize) + 1 < self.leaves[input as usize].values.len() {
                self.trail.push((input, value + 1));
                return true;
            }
            self.position[input as usize] = None;
        }
        false
    }

    /// The paths found, in the order of what they decide.
    pub fn take(&mut self) -> Vec<Possible> {
        let found = std::mem::take(&mut self.found).into_iter();
        let possible = |(decisions, shortest)| Possible { decisions, shortest };
        let mut found: Vec<Possible> = found.map(possible).collect();
        found.sort_unstable_by(|a, b| a.decisions.cmp(&b.decisions));
        found
    }

    /// The arcs of a path.
    pub fn arcs(&self, possible: &Possible, path: &mut Vec<ArcId>) {
        path.clear();
        let (mut node, mut decided) = (Dag::ENTRY, 0);
        loop {
            let arc = match self.code.branch(node) {
                Branch::Nowhere => return,
                Branch::Always(arc) | Branch::Only { arc, .. } => arc,
                Branch::Both { arcs, .. } => {
                    let word = possible.decisions.get(decided / 64).copied().unwrap_or(0);
                    decided += 1;
                    arcs[(word >> ((decided - 1) % 64) & 1) as usize]
                }
            };
            path.push(arc);
            match self.code.head(arc) {
                Head::Node(next) => node = next,
                Head::Exit(_) => return,
            }
        }
    }

    /// Values of inputs that take a path.
    pub fn model(&self, pool: &TermPool, possible: &Possible) -> Model {
        let mut model = Model::new();
        for &(input, value) in &possible.shortest.values {
            assign(pool, &mut model, self.leaves[input as usize].term, value);
        }
        model
    }
}

/// Assigns an input: an unknown, a byte, or several bytes together.
fn assign(pool: &TermPool, model: &mut Model, term: TermId, value: u64) {
    match *pool.node(term) {
        Node::Var(var) => model.set_var(var, value),
        Node::Select { array, index } => {
            if let Some(index) = pool.as_const(index) {
                model.set_byte(array, index, value as u8);
            }
        }
        Node::Concat(high, low) => {
            assign(pool, model, high, value >> pool.width(low));
            assign(pool, model, low, value & (u64::MAX >> (64 - u32::from(pool.width(low)))));
        }
        _ => {}
    }
}

#[cfg(test)]
mod tests;

//! Input enumeration: runs the program with every combination of inputs, if only few inputs matter.
//! The search uses it for programs in which conflicts do not help.
//!
//! For example, if iterations of a loop mix two bytes of the packet, no small set of arcs explains
//! why a path is unsatisfiable. But if branches depend on few inputs ([`mod@slice`]) with few
//! distinguishable values ([`classes`]), all combinations can be tried. The program runs as code
//! that computes only conditions ([`code`]). The first run uses the first value of each input that
//! it reads. Each later run changes the input that was read last to its next value. Inputs that a
//! path does not read are not varied on this path. The result is exactly the set of satisfiable
//! paths, each with its shortest packet.

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

/// Base-2 logarithm of the maximum number of combinations of input values. Often, not all
/// combinations are needed.
const MAX_BITS: f64 = 28.0;
/// Maximum amount of memory for the paths found by running the program on all inputs, in 64-bit
/// words.
const MAX_KEPT: usize = 1 << 23;

/// A satisfiable path, found by running the program on concrete inputs.
#[derive(Clone, Debug)]
pub(crate) struct EnumeratedPath {
    /// For each node of the path with two outgoing arcs, one bit that selects the arc of the path.
    decisions: Box<[u64]>,
    shortest: Shortest,
}

impl EnumeratedPath {
    /// Returns the length of the shortest packet that satisfies the conditions of the path, in
    /// bytes.
    pub fn length(&self) -> u32 {
        self.shortest.length
    }
}

/// The shortest packet that takes a path.
#[derive(Clone, Debug)]
struct Shortest {
    /// Length of the packet in bytes, the shortest for which the conditions of the path hold.
    length: u32,
    /// Inputs that the path reads: the index and the value of each.
    values: Box<[(u32, u64)]>,
}

/// State of a trial of inputs between two calls of `Trial::advance`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Progress {
    /// More combinations of inputs remain to be tried.
    Working,
    /// All combinations of inputs have been tried.
    Complete,
    /// The trial needs too many operations or too much memory.
    TooExpensive,
}

/// A trial of inputs: runs of the program with all combinations of values of the relevant inputs.
#[derive(Debug)]
pub(crate) struct Trial {
    code: Code,
    leaves: Vec<Leaf>,
    /// Index of the packet length among the inputs; `None` if no branch depends on the length.
    length: Option<u32>,
    /// Length in bytes that is assumed for packets on paths that do not read the length.
    least: u32,
    /// Inputs in the order in which the current run reads them, each with the index of its current
    /// value.
    trail: Vec<(u32, u32)>,
    /// For each input, its position in `trail`; `None` if the run has not read the input.
    position: Vec<Option<u32>>,
    table: Vec<u64>,
    decisions: Vec<u64>,
    decided: usize,
    found: HashMap<Box<[u64]>, Shortest>,
    /// Number of 64-bit words of memory that the paths in `found` take.
    kept: usize,
    /// Number of operations of the generated code that the trial has executed so far.
    work: u64,
    /// Maximum number of operations. If the trial of inputs needs more, it gives up.
    most: u64,
    /// Number of runs of the program so far.
    pub runs: u64,
}

/// Returns true if few inputs seem to affect the path of packets of at most `most` bytes. This is a
/// quick estimate, which does not group values into classes.
pub(crate) fn may_be_few(unrolled: &Unrolled, most: u32) -> bool {
    let bits = Slice::of(unrolled).and_then(|slice| least_bits(unrolled, &slice, most.into()));
    bits.is_some_and(|bits| bits <= MAX_BITS)
}

impl Trial {
    /// Prepares a trial of inputs for packets of at most `most` bytes. Returns `None` if there are
    /// too many combinations of inputs. The trial gives up after `operations` operations.
    pub fn new(unrolled: &Unrolled, most: u32, operations: u64) -> Option<Trial> {
        // With a limit of zero iterations the graph can be empty, without even an entry.
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

    /// Runs the program repeatedly until about `operations` more operations are executed.
    pub fn advance(&mut self, operations: u64) -> Progress {
        let end = self.work.saturating_add(operations);
        while self.work < end {
            if self.work > self.most || self.kept > MAX_KEPT {
                return Progress::TooExpensive;
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

    /// Runs the program once. Returns true if the run reaches an exit; a limit of loop iterations
    /// may end it earlier.
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

    /// Stores the path of the finished run, unless an earlier run with a packet of at most this
    /// length took the same path.
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

    /// Selects the next combination of input values. Returns false if all combinations have been
    /// tried.
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

    /// Removes the paths found so far and returns them. They are sorted by the arcs taken at
    /// branches, so that their order does not depend on hashing.
    pub fn take(&mut self) -> Vec<EnumeratedPath> {
        let found = std::mem::take(&mut self.found).into_iter();
        let possible = |(decisions, shortest)| EnumeratedPath { decisions, shortest };
        let mut found: Vec<EnumeratedPath> = found.map(possible).collect();
        found.sort_unstable_by(|a, b| a.decisions.cmp(&b.decisions));
        found
    }

    /// Writes the arcs of an enumerated path into `path`, replacing its content.
    pub fn arcs(&self, possible: &EnumeratedPath, path: &mut Vec<ArcId>) {
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

    /// Returns a model with values of inputs for which the program takes a path.
    pub fn model(&self, pool: &TermPool, possible: &EnumeratedPath) -> Model {
        let mut model = Model::new();
        for &(input, value) in &possible.shortest.values {
            assign(pool, &mut model, self.leaves[input as usize].term, value);
        }
        model
    }
}

/// Assigns a value to an input: an unknown, a byte, or several bytes together.
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

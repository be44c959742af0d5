//! Groups the values of each input into classes that the program cannot tell apart. Two values are
//! in one class if all results computed from this input alone are the same.
//!
//! For example, a byte that is only compared for equality with two constants has three classes. A
//! packet length that is only compared with 34 has two classes. Bytes that are only used together,
//! such as the bytes of a field, count as one input.

use super::computation::{Computation, Contents};
use super::slice::Slice;
use crate::unroll::Unrolled;
use rustc_hash::{FxHashMap as HashMap, FxHashSet as HashSet};
use slowpath_exec::Varying;
use slowpath_ir::InputKind;
use slowpath_smt::{Domain, Node, TermId, TermPool};
use std::cell::Cell;

/// Maximum number of values of one input that are sorted into classes.
const MAX_VALUES: u64 = 1 << 16;
/// Maximum number of operations that may be spent on sorting values into classes.
const MAX_WORK: u64 = 1 << 23;
/// Maximum number of inputs that affect branches. If there are more, the program is not run on all
/// combinations of inputs.
const MAX_INPUTS: usize = 64;

/// An input that can affect the path: an unknown, a byte, or several bytes that are used together.
#[derive(Debug)]
pub(super) struct Leaf {
    /// Term that represents the input.
    pub term: TermId,
    /// For each class of values that the program cannot tell apart, its least value. The values are
    /// in ascending order.
    pub values: Vec<u64>,
}

/// Returns the inputs that can affect the path of a packet of at most `most` bytes, in the order of
/// their terms. Returns `None` if there are too many inputs, if an input has too many values, or if
/// an input is the address of a memory region, which cannot be chosen.
pub(super) fn leaves(unrolled: &Unrolled, slice: &Slice, most: u64) -> Option<Vec<Leaf>> {
    let inputs = Inputs::of(unrolled, slice, most)?;
    let leaf = |index| {
        let telling = inputs.telling(index);
        Some(Leaf { term: telling.term, values: telling.values()? })
    };
    (0..inputs.terms.len()).map(leaf).collect()
}

/// Quickly estimates the number of combinations of input values, as a base-2 logarithm, without
/// grouping values into classes. An input that is used directly contributes the number of its
/// candidate values. Other inputs, which are used only in computations on this input alone, count
/// as having one value. Returns `None` in the same cases as [`leaves`].
pub(super) fn least_bits(unrolled: &Unrolled, slice: &Slice, most: u64) -> Option<f64> {
    let inputs = Inputs::of(unrolled, slice, most)?;
    let bits = |index| {
        let telling = inputs.telling(index);
        let count = telling.candidates()?.count();
        Some(if telling.is_observed(telling.term) { (count as f64).log2() } else { 0.0 })
    };
    (0..inputs.terms.len()).map(bits).sum()
}

/// The inputs on which branch conditions depend, and the uses of these inputs.
struct Inputs<'a> {
    unrolled: &'a Unrolled,
    slice: &'a Slice,
    uses: Uses,
    cones: Cones,
    /// Terms that represent the inputs, in ascending order.
    terms: Vec<TermId>,
    /// Maximum length of packets, in bytes.
    most: u64,
    /// Number of operations that may still be spent on sorting values into classes.
    work: Cell<u64>,
}

impl<'a> Inputs<'a> {
    fn of(unrolled: &'a Unrolled, slice: &'a Slice, most: u64) -> Option<Self> {
        let uses = Uses::of(unrolled, slice);
        let mut terms: Vec<TermId> = merge_bytes(unrolled, slice, &uses).into_iter().collect();
        terms.sort_unstable();
        if terms.len() > MAX_INPUTS {
            return None;
        }
        let cones = Cones::of(unrolled, slice, &terms);
        Some(Inputs { unrolled, slice, uses, cones, terms, most, work: Cell::new(MAX_WORK) })
    }

    fn telling(&self, index: usize) -> ValueClassifier<'_> {
        ValueClassifier { inputs: self, index, term: self.terms[index] }
    }
}

/// Uses of the terms on which branch conditions depend.
struct Uses {
    by: HashMap<TermId, Vec<TermId>>,
    /// Terms that affect the path directly: branch conditions, and values that a path assigns to
    /// merged variables.
    observed: HashSet<TermId>,
}

impl Uses {
    fn of(unrolled: &Unrolled, slice: &Slice) -> Uses {
        let mut uses = Uses { by: HashMap::default(), observed: HashSet::default() };
        for &term in &slice.terms {
            let merged = unrolled.executor.path_dependence(term).is_some();
            for source in slice.sources(unrolled, term) {
                if merged {
                    uses.observed.insert(source);
                } else {
                    uses.by.entry(source).or_default().push(term);
                }
            }
        }
        let conditions = unrolled.dag.arcs.iter().filter_map(|arc| arc.condition);
        uses.observed.extend(conditions.map(|(condition, _)| condition));
        uses
    }

    fn by(&self, term: TermId) -> &[TermId] {
        self.by.get(&term).map_or(&[], Vec::as_slice)
    }
}

/// Returns the terms that represent the inputs. Adjacent bytes that are only used together are
/// replaced by their concatenation.
fn merge_bytes(unrolled: &Unrolled, slice: &Slice, uses: &Uses) -> HashSet<TermId> {
    let pool = &unrolled.executor.pool;
    let mut whole = HashSet::default();
    // Bytes of unknown content, and concatenations of them.
    let mut bytes = HashSet::default();
    for &term in &slice.terms {
        match *pool.node(term) {
            Node::Var(_) if unrolled.executor.path_dependence(term).is_none() => {
                whole.insert(term);
            }
            Node::Select { array, .. } if pool.array_content(array).is_none() => {
                whole.insert(term);
                bytes.insert(term);
            }
            Node::Concat(high, low) => {
                let alone = |part: TermId| {
                    bytes.contains(&part)
                        && uses.by(part) == [term]
                        && !uses.observed.contains(&part)
                };
                if high != low && alone(high) && alone(low) {
                    whole.remove(&high);
                    whole.remove(&low);
                    whole.insert(term);
                    bytes.insert(term);
                }
            }
            _ => {}
        }
    }
    whole
}

/// For each input, the terms that are computed from this input alone.
struct Cones {
    /// For each input, the terms that depend on this input alone, in ascending order and without
    /// the input itself.
    of_leaf: Vec<Vec<TermId>>,
    /// For each term that depends on a single input, the index of this input.
    single: HashMap<TermId, usize>,
}

impl Cones {
    fn of(unrolled: &Unrolled, slice: &Slice, leaves: &[TermId]) -> Cones {
        let mut cones =
            Cones { of_leaf: vec![Vec::new(); leaves.len()], single: HashMap::default() };
        for &term in &slice.terms {
            if let Ok(leaf) = leaves.binary_search(&term) {
                cones.single.insert(term, leaf);
                continue;
            }
            if let Some(Varying::Merged { .. }) = unrolled.executor.path_dependence(term) {
                continue;
            }
            let mut of = None;
            let sources = slice.sources(unrolled, term);
            let one = sources.iter().all(|source| match cones.single.get(source) {
                Some(&leaf) => *of.get_or_insert(leaf) == leaf,
                None => false,
            });
            if let Some(leaf) = of.filter(|_| one) {
                cones.single.insert(term, leaf);
                cones.of_leaf[leaf].push(term);
            }
        }
        cones
    }
}

/// Candidate values of an input. They include the least value of every class of indistinguishable
/// values.
enum Candidates {
    /// All values that have no bits set outside this mask.
    Parts(u64),
    /// All values of a domain (known bits and an interval).
    Members(Domain),
    /// The given values, in ascending order.
    Listed(Vec<u64>),
}

impl Candidates {
    /// Returns an upper bound for the number of candidate values.
    fn count(&self) -> u64 {
        match self {
            Candidates::Parts(bits) => 1 << bits.count_ones(),
            Candidates::Members(domain) => domain.hi() - domain.lo() + 1,
            Candidates::Listed(values) => values.len() as u64,
        }
    }

    /// Returns all candidate values, in ascending order.
    fn list(self) -> Vec<u64> {
        match self {
            Candidates::Parts(bits) => parts(bits),
            Candidates::Members(domain) => {
                (domain.lo()..=domain.hi()).filter(|&value| domain.contains(value)).collect()
            }
            Candidates::Listed(values) => values,
        }
    }
}

/// A classifier that sorts the values of one input into classes of values that the program cannot
/// tell apart.
struct ValueClassifier<'a> {
    inputs: &'a Inputs<'a>,
    index: usize,
    term: TermId,
}

impl ValueClassifier<'_> {
    fn pool(&self) -> &TermPool {
        &self.inputs.unrolled.executor.pool
    }

    /// Returns the least value of each class of values that the program cannot tell apart, in
    /// ascending order. Returns `None` if there are too many values, or if the input's value cannot
    /// be chosen.
    fn values(&self) -> Option<Vec<u64>> {
        let candidates = self.candidates()?;
        let cone = &self.inputs.cones.of_leaf[self.index];
        let work = candidates.count() * (1 + cone.len() as u64);
        if self.is_observed(self.term) {
            return Some(candidates.list());
        }
        // If the work budget is used up, all candidates are kept; these are probably too many to
        // try.
        let Some(left) = self.inputs.work.get().checked_sub(work) else {
            return Some(candidates.list());
        };
        self.inputs.work.set(left);
        self.distinct(candidates.list())
    }

    /// Returns candidates that include a value from each class of values that the program cannot
    /// tell apart. Returns `None` if there are too many values, or if the input's value cannot be
    /// chosen.
    fn candidates(&self) -> Option<Candidates> {
        let executor = &self.inputs.unrolled.executor;
        if let Some(input) = executor.inputs().iter().position(|&input| input == self.term) {
            // The addresses of regions cannot be chosen.
            if let InputKind::BaseAddress(_) = executor.program().inputs[input].kind {
                return None;
            }
        }
        let mut domain = executor.pool.domain(self.term);
        if executor.packet_length() == Some(self.term) {
            if self.inputs.most < domain.lo() {
                return None;
            }
            let most = domain.hi().min(self.inputs.most);
            domain = Domain::range(domain.width(), domain.lo(), most);
        }
        if let Some(thresholds) = self.thresholds(&domain) {
            return Some(Candidates::Listed(thresholds));
        }
        let bits = self.inputs.slice.bits(self.term);
        if domain.is_full() && 1u64.checked_shl(bits.count_ones()).is_some_and(|n| n <= MAX_VALUES)
        {
            return Some(Candidates::Parts(bits));
        }
        (domain.hi() - domain.lo() < MAX_VALUES).then_some(Candidates::Members(domain))
    }

    /// Returns the thresholds of an input that is only compared with constants: each value at which
    /// the result of a comparison changes. Returns `None` for other inputs.
    fn thresholds(&self, domain: &Domain) -> Option<Vec<u64>> {
        let uses = &self.inputs.uses;
        if uses.observed.contains(&self.term) {
            return None;
        }
        let (pool, width) = (self.pool(), domain.width());
        let constant = |a: TermId, b: TermId| pool.as_const(if a == self.term { b } else { a });
        let mut changes = vec![domain.lo()];
        for &user in uses.by(self.term) {
            let constant = match *pool.node(user) {
                Node::Eq(a, b) | Node::Ult(a, b) => constant(a, b)?,
                Node::Slt(a, b) => {
                    changes.push(1 << (width - 1));
                    constant(a, b)?
                }
                _ => return None,
            };
            changes.push(constant);
            changes.extend(constant.checked_add(1));
        }
        changes.retain(|value| (domain.lo()..=domain.hi()).contains(value));
        changes.sort_unstable();
        changes.dedup();
        // All values between two thresholds are equivalent, but each threshold itself must be
        // possible.
        changes.iter().all(|&value| domain.contains(value)).then_some(changes)
    }

    /// Returns true if the term's value matters outside the computations on this input alone: a
    /// branch condition, a merged variable, or a term with other inputs uses it.
    fn is_observed(&self, term: TermId) -> bool {
        let Inputs { uses, cones, .. } = self.inputs;
        let single = |user: &TermId| cones.single.get(user) == Some(&self.index);
        uses.observed.contains(&term) || !uses.by(term).iter().all(single)
    }

    /// Returns the first candidate of each class of values that the rest of the program cannot tell
    /// apart.
    fn distinct(&self, candidates: Vec<u64>) -> Option<Vec<u64>> {
        let (pool, cone) = (self.pool(), &self.inputs.cones.of_leaf[self.index]);
        // Table position 0 is for irrelevant terms, position 1 for the input.
        let mut table = vec![0, 0];
        let mut places: HashMap<TermId, u32> = HashMap::default();
        places.insert(self.term, 1);
        let mut computations = Vec::with_capacity(cone.len());
        let (mut seen, mut contents) = (Vec::new(), Contents::default());
        for &term in cone {
            for part in pool.children(term) {
                if let Some(constant) = pool.as_const(part)
                    && !places.contains_key(&part)
                {
                    places.insert(part, table.len() as u32);
                    table.push(constant);
                }
            }
            let place = table.len() as u32;
            let of = |part: TermId| places.get(&part).copied().unwrap_or(0);
            computations.push((place, Computation::of(pool, &mut contents, term, of)?));
            places.insert(term, place);
            table.push(0);
            if self.is_observed(term) {
                seen.push((place as usize, self.inputs.slice.bits(term)));
            }
        }
        let mut known = HashSet::default();
        let tell = |&value: &u64| {
            table[1] = value;
            for (place, computation) in &computations {
                table[*place as usize] = computation.value(&table);
            }
            let signature: Vec<u64> = seen.iter().map(|&(at, bits)| table[at] & bits).collect();
            known.insert(signature)
        };
        Some(candidates.into_iter().filter(tell).collect())
    }
}

/// Returns all values that have no bits set outside `bits`, in ascending order.
fn parts(bits: u64) -> Vec<u64> {
    let mut all = vec![0u64];
    let mut part = 0u64;
    loop {
        part = part.wrapping_sub(bits) & bits;
        if part == 0 {
            return all;
        }
        all.push(part);
    }
}

//! Decides which inputs of a set of conditions get concrete values, and tries such values.

use std::collections::HashMap;

use super::sample::{hold, random};
use super::tools::SolverContext;
use crate::error::SolverError;
use crate::eval::Evaluator;
use crate::layered::engine::Engine;
use crate::layered::inputs::complete;
use crate::layered::refinement::{self, Answer};
use crate::layered::session::violated;
use crate::model::Model;
use crate::pool::{FastMap, FastSet, TermPool};
use crate::term::{ArrayId, Node, TermId};

/// Maximum number of attempts to find a random start model. Each attempt leaves out the random
/// values that contradicted conditions in the previous attempt.
const CORRECTIONS: usize = 6;

/// The choice of the inputs that get concrete values, for one set of conditions.
pub(super) struct Plan {
    /// All inputs of the conditions.
    inputs: Vec<TermId>,
    /// The inputs inside opaque terms that get concrete values: unknowns, and bytes at constant
    /// indices.
    pub(super) fixed: Vec<TermId>,
    /// Inputs in `fixed` that also occur in conditions outside opaque terms.
    pub(super) shared: FastSet<TermId>,
    /// Bytes of arrays inside opaque terms whose index is not constant.
    floating: FastSet<TermId>,
    /// Conditions that depend only on inputs in `fixed` and `floating`.
    determined: Vec<TermId>,
    /// For each input, the conditions without opaque terms that contain it and depend only on
    /// inputs in `fixed`.
    limits: FastMap<TermId, Vec<TermId>>,
    /// Inputs in `fixed` that occur in conditions without opaque terms together with inputs that
    /// are not in `fixed`.
    bound: FastSet<TermId>,
}

impl Plan {
    pub(super) fn new<E: Engine>(
        tools: &mut SolverContext<'_, E>,
        pool: &TermPool,
        terms: &[TermId],
    ) -> Self {
        let visible = tools.session.view.leaves(pool, terms.iter().copied());
        let opaque = tools.session.view.opaque(pool, terms);
        let below = tools.inputs.all(pool, &opaque);
        let known_place = |input: TermId| match *pool.node(input) {
            Node::Var(_) => Some(true),
            Node::Select { index, .. } => Some(pool.as_const(index).is_some()),
            _ => None,
        };
        let with =
            |place: bool| below.iter().copied().filter(move |&t| known_place(t) == Some(place));
        let fixed: Vec<TermId> = with(true).collect();
        let floating = with(false).collect();
        let known: FastSet<TermId> = fixed.iter().copied().collect();
        let shared = visible.into_iter().filter(|leaf| known.contains(leaf)).collect();
        let below: FastSet<TermId> =
            below.into_iter().filter(|&t| known_place(t).is_some()).collect();
        let determined = terms
            .iter()
            .copied()
            .filter(|&term| tools.inputs.of(pool, term).iter().all(|input| below.contains(input)));
        let determined: Vec<TermId> = determined.collect();
        let (mut limits, mut bound) =
            (FastMap::<TermId, Vec<TermId>>::default(), FastSet::default());
        for &term in terms {
            let leaves = tools.session.view.leaves(pool, [term].into_iter());
            if leaves.iter().all(|leaf| known.contains(leaf)) {
                leaves.iter().for_each(|&leaf| limits.entry(leaf).or_default().push(term));
            } else if tools.session.view.opaque(pool, &[term]).is_empty() {
                bound.extend(leaves.into_iter().filter(|leaf| known.contains(leaf)));
            }
        }
        let inputs = tools.inputs.all(pool, terms);
        Plan { inputs, fixed, shared, floating, determined, limits, bound }
    }

    /// Gives pseudo-random values to the inputs in `fixed` that are not in `bound`; `sample`
    /// selects the values. An input keeps its old value if the new one would violate the conditions
    /// in `limits`.
    pub(super) fn resample(&self, pool: &TermPool, values: &mut FastMap<TermId, u64>, sample: u64) {
        for &input in self.fixed.iter().filter(|input| !self.bound.contains(input)) {
            let new = random(pool.domain(input), input, sample);
            let Some(old) = values.insert(input, new) else { continue };
            if let Some(limits) = self.limits.get(&input)
                && !hold(pool, limits, values)
            {
                values.insert(input, old);
            }
        }
    }

    /// Returns true if all conditions in `determined` hold for these values, with the values of
    /// `floating` bytes from `start`.
    pub(super) fn allows(
        &self,
        pool: &TermPool,
        values: &FastMap<TermId, u64>,
        start: &Model,
    ) -> bool {
        let mut model = start.clone();
        for (&input, &value) in values {
            set(pool, &mut model, input, value);
        }
        let mut evaluator = Evaluator::new(pool, &model);
        self.determined.iter().all(|&term| evaluator.value(term) == 1)
    }

    /// Returns a model that satisfies the conditions while opaque terms may have arbitrary values.
    /// As many `shared` inputs as possible have random values. Returns `None` if no model is found.
    pub(super) fn randomised_start<E: Engine>(
        &self,
        tools: &mut SolverContext<'_, E>,
        pool: &mut TermPool,
        terms: &[TermId],
        round: u64,
    ) -> Result<Option<Model>, SolverError> {
        let inputs = self.fixed.iter().filter(|input| self.shared.contains(input));
        let mut soft: Vec<TermId> = Vec::new();
        for &input in inputs {
            let value = random(pool.domain(input), input, round);
            soft.push(equation(pool, input, value));
        }
        for _ in 0..CORRECTIONS {
            let all = [terms, &soft].concat();
            match refinement::satisfy(tools.session, tools.inputs, pool, &all, tools.budget)? {
                Answer::Candidate(model, _) => return Ok(Some(model)),
                Answer::Unknown(_) => return Ok(None),
                Answer::Unsat(core) => {
                    let dropped: FastSet<TermId> = core.iter().map(|&n| all[n]).collect();
                    soft.retain(|condition| !dropped.contains(condition));
                }
            }
        }
        Ok(None)
    }

    /// Searches for a model of the conditions in which `fixed` inputs have the given values, and
    /// `floating` bytes have their values from `start`.
    pub(super) fn solve_with_values<E: Engine>(
        &self,
        tools: &mut SolverContext<'_, E>,
        pool: &mut TermPool,
        terms: &[TermId],
        values: &FastMap<TermId, u64>,
        start: &Model,
    ) -> Result<Option<Model>, SolverError> {
        let (left, concrete) = self.concretise(pool, terms, values, start);
        let mut asked = Vec::new();
        for term in left {
            match pool.as_const(term) {
                Some(0) => return Ok(None),
                Some(_) => {}
                None => asked.push(term),
            }
        }
        asked.extend(self.array_equations(pool, &asked, &concrete));
        let mut model = Model::new();
        if !asked.is_empty() {
            match refinement::satisfy(tools.session, tools.inputs, pool, &asked, tools.budget)? {
                Answer::Candidate(found, _) => model = found,
                Answer::Unsat(_) | Answer::Unknown(_) => return Ok(None),
            }
        }
        model.extend(&concrete);
        let model = complete(pool, &model, &self.inputs);
        Ok(model.filter(|model| violated(pool, model, terms).is_empty()))
    }

    /// Substitutes the given values for the `fixed` inputs, and the values in `start` for the
    /// `floating` bytes. Returns the resulting conditions, and a model with the substituted values.
    fn concretise(
        &self,
        pool: &mut TermPool,
        terms: &[TermId],
        values: &FastMap<TermId, u64>,
        start: &Model,
    ) -> (Vec<TermId>, Model) {
        let mut concrete = Model::new();
        let mut images: HashMap<TermId, TermId> = HashMap::new();
        for &input in &self.fixed {
            let value = values.get(&input).copied().unwrap_or(0);
            set(pool, &mut concrete, input, value);
            let constant = pool.constant(pool.width(input), value);
            images.insert(input, constant);
        }
        // The index of a floating byte can contain other floating bytes, which have smaller ids.
        let mut floating: Vec<TermId> = self.floating.iter().copied().collect();
        floating.sort_unstable();
        for input in floating {
            let Node::Select { array, index } = *pool.node(input) else { continue };
            let index = pool.substitute(index, &mut images);
            let Some(place) = pool.as_const(index) else { continue };
            if pool.array_content(array).is_some() {
                continue;
            }
            let value = concrete.byte(array, place).or(start.byte(array, place)).unwrap_or(0);
            concrete.set_byte(array, place, value);
            let constant = pool.constant(8, u64::from(value));
            images.insert(input, constant);
        }
        let left = terms.iter().map(|&term| pool.substitute(term, &mut images)).collect();
        (left, concrete)
    }

    /// Returns equations for the substituted bytes of arrays that the remaining conditions also
    /// read. Without them, a remaining condition could give a different value to such a byte.
    fn array_equations(
        &self,
        pool: &mut TermPool,
        asked: &[TermId],
        concrete: &Model,
    ) -> Vec<TermId> {
        let read: FastSet<ArrayId> = pool
            .subterms(asked)
            .into_iter()
            .filter_map(|part| match *pool.node(part) {
                Node::Select { array, .. } => Some(array),
                _ => None,
            })
            .collect();
        let mut equations = Vec::new();
        for (array, place, value) in concrete.bytes().filter(|(array, ..)| read.contains(array)) {
            let index = pool.constant(pool.array_info(array).1, place);
            let byte = pool.select(array, index);
            equations.push(equation(pool, byte, u64::from(value)));
        }
        equations
    }
}

/// Assigns a value to an unknown or to a byte at a constant index.
fn set(pool: &TermPool, model: &mut Model, input: TermId, value: u64) {
    match *pool.node(input) {
        Node::Var(var) => model.set_var(var, value),
        Node::Select { array, index } => {
            if let Some(place) = pool.as_const(index) {
                model.set_byte(array, place, value as u8);
            }
        }
        _ => {}
    }
}

fn equation(pool: &mut TermPool, input: TermId, value: u64) -> TermId {
    let constant = pool.constant(pool.width(input), value);
    pool.eq(input, constant)
}

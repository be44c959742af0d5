//! Lists the inputs of terms: their unknowns, bytes of arrays and numbers of interned pairs,
//! including those inside opaque terms. Also builds models that assign all inputs.

use std::collections::BTreeMap;
use std::rc::Rc;

use super::view::is_leaf;
use crate::eval::Evaluator;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::{Node, TermId};

/// Cache of the inputs (unknowns, bytes of arrays and numbers of interned pairs) of each term.
#[derive(Debug, Default)]
pub(super) struct Inputs {
    of: FastMap<TermId, Rc<[TermId]>>,
}

impl Inputs {
    /// Returns the inputs of a term, including inputs of array indices, in order of their ids.
    pub(super) fn of(&mut self, pool: &TermPool, term: TermId) -> Rc<[TermId]> {
        let inputs = self.of.entry(term).or_insert_with(|| {
            let parts = pool.subterms(&[term]).into_iter();
            parts.filter(|&part| is_leaf(pool.node(part))).collect()
        });
        Rc::clone(inputs)
    }

    /// Returns the inputs of all `terms`, in order of their ids.
    pub(super) fn all(&mut self, pool: &TermPool, terms: &[TermId]) -> Vec<TermId> {
        let mut all: Vec<TermId> = Vec::new();
        for &term in terms {
            all.extend(self.of(pool, term).iter());
        }
        all.sort_unstable();
        all.dedup();
        all
    }
}

/// Restricts `model` to `inputs` (in order of their ids), and assigns all of them. Unknowns without
/// a value get the smallest value in their domain. Returns `None` if two different interned pairs
/// would have the same number.
pub(super) fn complete(pool: &TermPool, model: &Model, inputs: &[TermId]) -> Option<Model> {
    let unassigned = inputs.iter().filter_map(|&input| match *pool.node(input) {
        Node::Var(var) if model.var(var).is_none() => Some((input, pool.domain(input).lo())),
        _ => None,
    });
    let mut evaluator = Evaluator::with_values(pool, model, unassigned);
    assign(pool, &mut evaluator, inputs)
}

/// Returns a model in which the inputs have these values. Returns `None` if two different interned
/// pairs would have the same number.
pub(super) fn model_of(pool: &TermPool, values: &BTreeMap<TermId, u64>) -> Option<Model> {
    let nothing = Model::new();
    let known = values.iter().map(|(&input, &value)| (input, value));
    let mut evaluator = Evaluator::with_values(pool, &nothing, known);
    let inputs: Vec<TermId> = values.keys().copied().collect();
    assign(pool, &mut evaluator, &inputs)
}

fn assign(pool: &TermPool, evaluator: &mut Evaluator<'_>, inputs: &[TermId]) -> Option<Model> {
    let mut model = Model::new();
    let mut owners: FastMap<u64, (u64, u64)> = FastMap::default();
    for &input in inputs {
        let value = evaluator.value(input);
        match *pool.node(input) {
            Node::Var(var) => model.set_var(var, value),
            Node::Select { array, index } if pool.array_content(array).is_none() => {
                model.set_byte(array, evaluator.value(index), value as u8);
            }
            Node::Intern(a, b) => {
                let pair = (evaluator.value(a), evaluator.value(b));
                if *owners.entry(value).or_insert(pair) != pair {
                    return None;
                }
                model.set_interned(pair, value as u32);
            }
            _ => {}
        }
    }
    Some(model)
}

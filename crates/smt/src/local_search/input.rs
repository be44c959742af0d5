//! The inputs to which a model assigns values: unknowns and bytes of arrays.

use crate::model::Model;
use crate::pool::TermPool;
use crate::term::{ArrayId, Node, TermId, VarId};

/// An unknown, or a byte of an array, to which a model can assign a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Input {
    Variable(VarId),
    Byte(ArrayId, u64),
}

impl Input {
    pub(super) fn is_assigned(self, model: &Model) -> bool {
        match self {
            Input::Variable(var) => model.var(var).is_some(),
            Input::Byte(array, index) => model.byte(array, index).is_some(),
        }
    }

    pub(super) fn assign(self, model: &mut Model, value: u64) {
        match self {
            Input::Variable(var) => model.set_var(var, value),
            Input::Byte(array, index) => model.set_byte(array, index, value as u8),
        }
    }
}

/// Returns the input if a term is an unknown or a byte of an unconstrained array, otherwise `None`.
/// `index` evaluates the index of the byte.
pub(super) fn input_of(
    pool: &TermPool,
    term: TermId,
    index: impl FnOnce(TermId) -> u64,
) -> Option<Input> {
    match *pool.node(term) {
        Node::Var(var) => Some(Input::Variable(var)),
        Node::Select { array, index: at } if pool.array_content(array).is_none() => {
            Some(Input::Byte(array, index(at)))
        }
        _ => None,
    }
}

//! Stores the abstract state at each incoming edge of a block.
//!
//! If a predecessor is lifted again, the state at its end can change. The edge then keeps only the
//! new state: joined with the earlier state, a changed pointer would become one of two possible
//! pointers.

use std::rc::Rc;

use crate::lift::frame::{FrameId, ProgramPoint};
use crate::lift::state::abstract_state::AbstractState;

/// Number of changes of a block's incoming states after which their join also includes the previous
/// join. From then on, states can only become less precise, which guarantees termination.
const PATIENCE: u32 = 16;

/// Result of storing an abstract state at an incoming edge of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum EdgeChange {
    Nothing,
    /// The edge is new, so its state must be joined with those at the block's other edges.
    Edge,
    /// The state at the edge differs from the earlier one.
    State,
}

/// Abstract states at all incoming edges of one block.
#[derive(Debug, Default)]
pub(in crate::lift) struct IncomingStates {
    /// The state at the end of each predecessor; `None` stands for the start of the program.
    edges: Vec<(Option<ProgramPoint>, Rc<AbstractState>)>,
    changes: u32,
}

impl IncomingStates {
    /// Stores the state at the edge from the predecessor `from`, and returns the kind of change.
    pub fn add(&mut self, from: Option<ProgramPoint>, state: &Rc<AbstractState>) -> EdgeChange {
        let change = match self.edges.iter_mut().find(|(known, _)| *known == from) {
            Some((_, known)) if known == state => return EdgeChange::Nothing,
            Some((_, known)) => {
                *known = Rc::clone(state);
                EdgeChange::State
            }
            None => {
                self.edges.push((from, Rc::clone(state)));
                EdgeChange::Edge
            }
        };
        self.changes += 1;
        change
    }

    /// Returns the join of the states at all incoming edges of a block. `here` is the point at
    /// which the block starts, and `before` is the result of the previous join.
    pub fn joined(&self, here: (FrameId, usize), before: Option<&AbstractState>) -> AbstractState {
        let before = before.filter(|_| self.changes > PATIENCE);
        let mut states = before.into_iter().chain(self.edges.iter().map(|(_, state)| &**state));
        let mut joined = states.next().cloned().unwrap_or_else(AbstractState::start);
        for state in states {
            joined.join(state, here);
        }
        joined
    }
}

//! The edges into a block, with what is known at the end of each.
//!
//! What is known at the end of a block can change when the block is lifted again. What was known
//! before is then forgotten, so that a pointer that turns out to be another one is not taken for one
//! of two.

use std::rc::Rc;

use crate::lift::frame::{FrameId, ProgramPoint};
use crate::lift::state::abstract_state::AbstractState;

/// Changes after which nothing is forgotten any more, so that the walk ends.
const PATIENCE: u32 = 16;

/// The news of an edge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum News {
    Nothing,
    /// The edge is new: its state is one more to join.
    Edge,
    /// The state at the edge is another one than before.
    State,
}

/// The states at the edges into one block.
#[derive(Debug, Default)]
pub(in crate::lift) struct IncomingStates {
    /// By the block that the edge comes from; the start of the program comes from none.
    edges: Vec<(Option<ProgramPoint>, Rc<AbstractState>)>,
    changes: u32,
}

impl IncomingStates {
    /// Notes what is known at an edge; says what of it is new.
    pub fn add(&mut self, from: Option<ProgramPoint>, state: &Rc<AbstractState>) -> News {
        let news = match self.edges.iter_mut().find(|(known, _)| *known == from) {
            Some((_, known)) if known == state => return News::Nothing,
            Some((_, known)) => {
                *known = Rc::clone(state);
                News::State
            }
            None => {
                self.edges.push((from, Rc::clone(state)));
                News::Edge
            }
        };
        self.changes += 1;
        news
    }

    /// Joins the states at all edges to this point. `before` is the state when they were joined
    /// last.
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

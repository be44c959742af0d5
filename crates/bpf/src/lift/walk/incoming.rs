//! The ways on which a block is reached, with what is known on each.
//!
//! What is known at the end of a block can change when the block is lifted again. What was known
//! before is then forgotten, so that a pointer that turns out to be another one is not taken for one
//! of two.

use std::rc::Rc;

use crate::lift::frame::{FrameId, Place};
use crate::lift::state::abstract_state::State;

/// Changes after which nothing is forgotten any more, so that the walk ends.
const PATIENCE: u32 = 16;

/// The ways to one block.
#[derive(Debug, Default)]
pub(in crate::lift) struct Arrivals {
    /// By the block they come from; the start of the program comes from none.
    ways: Vec<(Option<Place>, Rc<State>)>,
    changes: u32,
}

impl Arrivals {
    /// Notes what is known on a way; says whether that is new.
    pub fn add(&mut self, from: Option<Place>, state: &Rc<State>) -> bool {
        match self.ways.iter_mut().find(|(known, _)| *known == from) {
            Some((_, known)) if known == state => return false,
            Some((_, known)) => *known = Rc::clone(state),
            None => self.ways.push((from, Rc::clone(state))),
        }
        self.changes += 1;
        true
    }

    /// What is known on all ways to this place. `before` is what was known when they were joined
    /// last.
    pub fn joined(&self, here: (FrameId, usize), before: Option<&State>) -> State {
        let before = before.filter(|_| self.changes > PATIENCE);
        let mut states = before.into_iter().chain(self.ways.iter().map(|(_, state)| &**state));
        let mut joined = states.next().cloned().unwrap_or_else(State::start);
        for state in states {
            joined.join(state, here);
        }
        joined
    }
}

//! The state of a descent: the search for a path that some packet takes, while the slowest one is
//! looked for.

use crate::check::PathChecker;
use crate::enumerate::Enumeration;
use crate::nogood::Nogoods;

/// How far the descent is.
pub(super) enum Descent<S> {
    /// Nobody wants it, or it is over.
    Over,
    /// It begins when the search has checked so many paths.
    Waiting(S, u64),
    /// It takes a step whenever it is its turn.
    Going(Box<Going<S>>),
}

/// A descent on its way.
pub(super) struct Going<S> {
    pub enumeration: Enumeration,
    pub checker: PathChecker<S>,
    pub nogoods: Nogoods,
    /// Whether the next turn is the search's.
    pub waits: bool,
}

//! Holds the state of the descent, a depth-first search for any satisfiable path. It alternates
//! with the main search for the slowest path.

use crate::check::PathChecker;
use crate::enumerate::Enumeration;
use crate::nogood::Nogoods;

/// State of the depth-first search for an early satisfiable path.
pub(super) enum EarlyPathSearch<S> {
    /// No depth-first search takes place: it was not requested, or it has ended.
    Over,
    /// The depth-first search starts once the main search has checked this number of paths.
    Waiting(S, u64),
    /// The depth-first search is running; it alternates with the main search.
    Going(Box<Going<S>>),
}

/// A running depth-first search for an early satisfiable path.
pub(super) struct Going<S> {
    pub enumeration: Enumeration,
    pub checker: PathChecker<S>,
    pub nogoods: Nogoods,
    /// True if the main search runs the next step, false if the depth-first search does.
    pub waits: bool,
}

//! State of the descent, which looks for any satisfiable path while the search looks for the
//! slowest.

use crate::check::PathChecker;
use crate::enumerate::Enumeration;
use crate::nogood::Nogoods;

/// Phase of the descent.
pub(super) enum EarlyPathSearch<S> {
    /// Not requested, or finished.
    Over,
    /// Starts once the search has checked this number of paths.
    Waiting(S, u64),
    /// Alternates with the search.
    Going(Box<Going<S>>),
}

/// A descent in progress.
pub(super) struct Going<S> {
    pub enumeration: Enumeration,
    pub checker: PathChecker<S>,
    pub nogoods: Nogoods,
    /// True if the next turn is the search's.
    pub waits: bool,
}

//! State of the descent. It looks for any satisfiable path while the main search looks for the
//! slowest one.

use crate::check::PathChecker;
use crate::enumerate::Enumeration;
use crate::nogood::Nogoods;

/// State of the descent.
pub(super) enum EarlyPathSearch<S> {
    /// The descent was not requested, or it has ended.
    Over,
    /// The descent starts once the search has checked this number of paths.
    Waiting(S, u64),
    /// The descent alternates with the search.
    Going(Box<Going<S>>),
}

/// A running descent.
pub(super) struct Going<S> {
    pub enumeration: Enumeration,
    pub checker: PathChecker<S>,
    pub nogoods: Nogoods,
    /// True if the search gets the next turn.
    pub waits: bool,
}

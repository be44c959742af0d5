//! Feasible runs of a program that its lifted form does not contain.

use std::collections::BTreeSet;

/// Feasible runs that a lifted program does not contain; properties of the lifted program need not
/// hold for them. Each sentence is also an assumption of the program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingRuns {
    /// Tail calls to unknown programs; one sentence each.
    pub ends: BTreeSet<String>,
    /// Calls whose results differ for fragmented packets; one sentence each.
    pub fragments: BTreeSet<String>,
}

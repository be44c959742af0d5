//! Runs of a program that its lifted form does not have.

use std::collections::BTreeSet;

/// Runs that there are, and that a lifted program does not have: what holds of all that it has need
/// not hold of these. Each sentence is among the program's assumptions as well.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Unseen {
    /// Runs go on in programs that are not known, behind tail calls; one sentence each.
    pub ends: BTreeSet<String>,
    /// Packets come in fragments, and of these a call says something else; one sentence each.
    pub fragments: BTreeSet<String>,
}

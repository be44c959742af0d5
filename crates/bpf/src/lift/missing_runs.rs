//! Describes runs that are possible on the device but that the lifted program does not contain.

use std::collections::BTreeSet;

/// Runs that are possible on the device but that a lifted program does not contain. Properties of
/// the lifted program need not hold for them. The result of an analysis states each sentence as an
/// assumption.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct MissingRuns {
    /// Sentences about tail calls to unknown programs, which may run after this program. There is
    /// one for each call.
    pub ends: BTreeSet<String>,
    /// Sentences about calls whose results differ for fragmented packets, one for each call.
    pub fragments: BTreeSet<String>,
}

//! What an analysis takes as given.

use slowpath_ir::PacketFacts;

/// What an analysis takes as given.
#[derive(Clone, Debug)]
pub(crate) struct Setting<'a> {
    pub facts: &'a PacketFacts,
    /// Of each map the content of its only element, if nothing changes it.
    pub constants: Vec<Option<&'a [u8]>>,
}

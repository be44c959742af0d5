//! What an analysis takes as given.

use crate::frozen::Frozen;
use slowpath_bpf::lift::Receive;
use slowpath_ir::PacketFacts;

/// What an analysis takes as given.
#[derive(Clone, Debug)]
pub(crate) struct Setting<'a> {
    pub facts: &'a PacketFacts,
    /// Of each map the content of its only element, if nothing changes it.
    pub constants: Vec<Option<&'a [u8]>>,
    /// What else is known of maps.
    pub frozen: Option<&'a Frozen>,
    /// How packets arrive, but for their lengths, and how far their ends can be moved.
    pub receive: Receive,
    /// Whether packets are in one piece, so that calls mean what is known of them.
    pub whole: bool,
}

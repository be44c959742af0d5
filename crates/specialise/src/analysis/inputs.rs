//! Inputs of an analysis.

use crate::frozen::Frozen;
use slowpath_bpf::lift::Receive;
use slowpath_ir::PacketFacts;

/// Inputs of an analysis.
#[derive(Clone, Debug)]
pub(crate) struct AnalysisInputs<'a> {
    pub facts: &'a PacketFacts,
    /// For each map with one element, the element's content if nothing changes it.
    pub constants: Vec<Option<&'a [u8]>>,
    /// Further facts about maps.
    pub frozen: Option<&'a Frozen>,
    /// Delivery of packets by the driver: everything except their lengths, and the room to move
    /// their ends.
    pub receive: Receive,
    /// True if packets are contiguous, so that the results of helpers depend only on the known
    /// packet.
    pub contiguous: bool,
}

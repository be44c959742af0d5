//! The inputs that an analysis of a program needs.

use crate::frozen::Frozen;
use slowpath_bpf::lift::Receive;
use slowpath_ir::PacketFacts;

/// The inputs of an analysis.
#[derive(Clone, Debug)]
pub(crate) struct AnalysisInputs<'a> {
    pub facts: &'a PacketFacts,
    /// For each map with one element, the content of this element if nothing changes the map.
    pub constants: Vec<Option<&'a [u8]>>,
    /// Known content of frozen maps.
    pub frozen: Option<&'a Frozen>,
    /// The way in which the driver delivers packets. It determines headroom, metadata and tailroom,
    /// but not lengths.
    pub receive: Receive,
    /// True if all bytes of a packet are in one buffer. Then the results of helpers depend only on
    /// known properties of the packet.
    pub contiguous: bool,
}

//! The inputs of the analysis of a program: facts about packets, map contents, and the driver.

use crate::frozen::Frozen;
use slowpath_bpf::lift::Receive;
use slowpath_ir::PacketFacts;

#[derive(Clone, Debug)]
pub(crate) struct AnalysisInputs<'a> {
    pub facts: &'a PacketFacts,
    /// For each map, the content of its only element, if it has one element that never changes;
    /// otherwise `None`.
    pub constants: Vec<Option<&'a [u8]>>,
    /// Known content of frozen maps (maps that do not change while the program runs).
    pub frozen: Option<&'a Frozen>,
    /// The way in which the driver delivers packets. It determines headroom, metadata and tailroom,
    /// but not lengths.
    pub receive: Receive,
    /// True if all bytes of a packet are in one buffer. Then the results of helpers depend only on
    /// the length and position of the packet.
    pub contiguous: bool,
}

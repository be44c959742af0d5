//! Stages of network functions, which process the headers of packets.

mod acl;
mod flow_statistics;
mod nat;
mod router;

use crate::error::NeighbourError;
use crate::header::Header;
use crate::spec::HeaderStage;

/// The decision about a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Verdict {
    /// The packet continues to the next stage.
    Pass,
    /// The packet is dropped.
    Drop,
}

/// A stage that processes headers. It allocates memory only to grow its tables.
pub trait Stage: Send {
    /// Processes one packet.
    fn process(&mut self, header: &mut Header) -> Verdict;
}

/// Creates a stage with its initial tables.
///
/// # Errors
/// If a number is outside of its limits, or there is not enough memory.
pub fn stage(spec: &HeaderStage, seed: u64) -> Result<Box<dyn Stage>, NeighbourError> {
    Ok(match *spec {
        HeaderStage::FlowStatistics => Box::new(flow_statistics::FlowStatistics::default()),
        HeaderStage::Nat => Box::new(nat::Nat::default()),
        HeaderStage::Router { prefixes } => Box::new(router::Router::generated(prefixes, seed)?),
        HeaderStage::Acl { rules } => Box::new(acl::Acl::generated(rules, seed)?),
    })
}

//! Creates the stages of network functions, which process the headers of packets.

mod acl;
mod flow_statistics;
mod nat;
mod router;

use crate::error::NeighbourError;
use crate::spec::HeaderStage;
use crate::stage::Stage;

/// Creates a stage with its initial tables, such as the routes of a router, generated from `seed`.
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

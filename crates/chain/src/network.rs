//! What the network between two devices may change of a packet.

use crate::ChainError;
use crate::written::WrittenNetwork;
use crate::yaml::line;
use slowpath::Network;

/// Bytes that can be said to change: as many as the largest frame has.
const MOST: u16 = 16383;

/// What is named here can change.
const FIELDS: &str = "ethernet_addresses, ttl";

/// Reads what is written of a network.
pub(crate) fn network(written: &WrittenNetwork) -> Result<Network, ChainError> {
    let mut network = Network::default();
    for field in &written.changes {
        match field.value.as_str() {
            "ethernet_addresses" => network.changes.push(0..12),
            "ttl" => network.routes = true,
            other => {
                let what = format!("{other:?} is no field: {FIELDS}; `bytes` names others");
                return Err(ChainError::at(line(field), what));
            }
        }
    }
    for range in &written.bytes {
        let (first, behind) = range.value;
        if first >= behind || behind > MOST {
            let what = format!(
                "[{first}, {behind}] are no bytes: the first of them and the first behind them, at \
                 most {MOST}"
            );
            return Err(ChainError::at(line(range), what));
        }
        network.changes.push(first..behind);
    }
    Ok(network)
}

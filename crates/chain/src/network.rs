//! Converts and checks descriptions of the changes that a network between two devices may make to
//! packets.

use crate::ChainError;
use crate::description::NetworkDescription;
use crate::yaml::line;
use slowpath::Network;

/// Maximum offset of a packet byte that a network can change. No frame is longer than this.
const MOST: u16 = 16383;

/// Names of the packet fields that a network can change, for error messages.
const FIELDS: &str = "ethernet_addresses, ttl";

/// Converts the description of a network, and checks its offsets and field names.
pub(crate) fn network(description: &NetworkDescription) -> Result<Network, ChainError> {
    let mut network = Network::default();
    for field in &description.changes {
        match field.value.as_str() {
            "ethernet_addresses" => network.changes.push(0..12),
            "ttl" => network.routes = true,
            other => {
                let what = format!("{other:?} is not a field: {FIELDS}; use `bytes` for others");
                return Err(ChainError::at(line(field), what));
            }
        }
    }
    for range in &description.bytes {
        let (first, behind) = range.value;
        if first >= behind || behind > MOST {
            let what = format!(
                "[{first}, {behind}] is not a range of bytes: write the first byte and the byte \
                 after the last, at most {MOST}"
            );
            return Err(ChainError::at(line(range), what));
        }
        network.changes.push(first..behind);
    }
    Ok(network)
}

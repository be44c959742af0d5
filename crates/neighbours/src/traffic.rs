//! Describes generated traffic by its number of flows, its packet size and the number of
//! regular-expression matches in its payloads.

use serde::Deserialize;
use slowpath_random::mix;

use crate::error::{NeighbourError, within};
use crate::header::{self, FiveTuple};

/// Maximum number of flows. A table with so many flows takes some gigabytes.
const MAX_FLOWS: f64 = 16_777_216.0;
/// Minimum and maximum packet size in bytes, including the Ethernet header.
const SIZES: (f64, f64) = (64.0, 9000.0);
/// Maximum number of regular-expression matches per megabyte of payload. Each match takes some
/// bytes.
const MAX_MATCHES: f64 = 20_000.0;
/// Minimum and maximum number of packet buffers in a ring.
const RING: (f64, f64) = (16.0, 65_536.0);

/// A description of the traffic that a network function processes.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq)]
#[serde(deny_unknown_fields)]
pub struct Traffic {
    /// Number of flows. Each packet belongs to a random flow, and all flows are equally likely.
    pub flows: u64,
    /// Size of each packet in bytes, including the Ethernet header.
    pub packet_bytes: usize,
    /// Number of regular-expression matches per megabyte (1,000,000 bytes) of payload.
    pub mtbr: f64,
    /// Number of packet buffers in the ring, which are used in turn.
    #[serde(default = "default_ring")]
    pub ring: usize,
    /// Seed from which flows and payloads are generated.
    #[serde(default)]
    pub seed: u64,
}

fn default_ring() -> usize {
    1024
}

impl Traffic {
    /// Checks that the parameters are valid.
    ///
    /// # Errors
    /// If a number is out of range.
    pub fn check(&self) -> Result<(), NeighbourError> {
        within("flows", self.flows as f64, 1.0, MAX_FLOWS)?;
        within("packet size in bytes", self.packet_bytes as f64, SIZES.0, SIZES.1)?;
        within("matches per megabyte", self.mtbr, 0.0, MAX_MATCHES)?;
        within("packet buffers", self.ring as f64, RING.0, RING.1)
    }

    /// Returns the size of each payload in bytes.
    pub fn payload_bytes(&self) -> usize {
        self.packet_bytes.saturating_sub(header::BYTES)
    }
}

/// Returns the flow with the number `number`. Different numbers give different flows, whose
/// addresses look random. `seed` selects the flows.
#[inline]
pub fn flow_of(number: u64, seed: u64) -> FiveTuple {
    let drawn = mix(number.wrapping_add(seed.rotate_left(17)));
    FiveTuple {
        // Multiplication by an odd number is injective, so different numbers have different
        // sources.
        source: (number as u32).wrapping_mul(0x9e37_79b1).wrapping_add(seed as u32),
        destination: drawn as u32,
        source_port: (drawn >> 32) as u16 | 1024,
        destination_port: [53, 80, 443, 4789, 8080, 5201, 123, 11211][(drawn >> 48) as usize & 7],
        protocol: 17,
    }
}

#[cfg(test)]
mod tests {
    use super::{Traffic, flow_of};

    #[test]
    fn flows_differ() {
        let flows: std::collections::HashSet<_> = (0..100_000).map(|n| flow_of(n, 5)).collect();
        assert_eq!(flows.len(), 100_000);
    }

    #[test]
    fn limits_are_checked() {
        let fine = Traffic { flows: 1, packet_bytes: 64, mtbr: 0.0, ring: 16, seed: 0 };
        assert!(fine.check().is_ok());
        let none = Traffic { flows: 0, ..fine }.check().unwrap_err().to_string();
        assert_eq!(none, "flows: 0 is not between 1 and 16777216");
        assert!(Traffic { packet_bytes: 63, ..fine }.check().is_err());
        assert!(Traffic { mtbr: f64::NAN, ..fine }.check().is_err());
    }
}

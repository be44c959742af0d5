//! Describes the traffic that a program receives. Builds the packet of this traffic; flows differ
//! only in its addresses and ports.

use std::net::Ipv4Addr;

use serde::Deserialize;
use slowpath_kernel::timing::Flows;

use crate::error::IngressError;

/// Maximum number of flows. A map with one element for each flow then takes some gigabytes.
const MAX_FLOWS: u64 = 1 << 24;
/// Minimum and maximum size of a packet in bytes. The maximum fits into one page, to which the
/// kernel's test runs limit packets.
const SIZES: (u64, u64) = (64, 3500);
const DESTINATION: Ipv4Addr = Ipv4Addr::new(192, 0, 2, 1);
const DESTINATION_PORT: u16 = 53;

/// Traffic that a program receives: UDP over IPv4 without options. Each packet belongs to a random
/// flow.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
#[serde(deny_unknown_fields)]
pub struct TrafficSpec {
    /// Number of flows.
    pub flows: u64,
    /// Size of each packet in bytes, including the Ethernet header.
    pub packet_bytes: u64,
    /// Destination address of all packets. If absent, each flow has its own.
    #[serde(default)]
    pub destination: Option<Ipv4Addr>,
    /// Destination port of all packets. If absent, each flow has its own.
    #[serde(default)]
    pub destination_port: Option<u16>,
    /// Seed from which the addresses and ports of the flows are generated.
    #[serde(default)]
    pub seed: u32,
}

impl TrafficSpec {
    /// Returns the number of flows, their seed, and the header fields in which flows differ.
    ///
    /// # Errors
    /// If the number of flows is out of range.
    pub fn flows(&self) -> Result<Flows, IngressError> {
        let count = within("flows", self.flows, 1, MAX_FLOWS)?;
        Ok(Flows {
            count,
            seed: self.seed,
            destinations: self.destination.is_none(),
            destination_ports: self.destination_port.is_none(),
        })
    }

    /// Returns a packet whose addresses and ports are placeholders, which are overwritten for each
    /// flow.
    ///
    /// # Errors
    /// If the packet size is out of range.
    pub fn packet(&self) -> Result<Vec<u8>, IngressError> {
        let size = within("packet size in bytes", self.packet_bytes, SIZES.0, SIZES.1)?;
        let mut packet = vec![0; size as usize];
        let length_after = |offset: u32| ((size - offset) as u16).to_be_bytes();
        packet[..14].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
        packet[14] = 0x45;
        packet[16..18].copy_from_slice(&length_after(14));
        packet[22..24].copy_from_slice(&[64, 17]);
        packet[30..34].copy_from_slice(&self.destination.unwrap_or(DESTINATION).octets());
        let port = self.destination_port.unwrap_or(DESTINATION_PORT);
        packet[36..38].copy_from_slice(&port.to_be_bytes());
        packet[38..40].copy_from_slice(&length_after(34));
        Ok(packet)
    }
}

fn within(what: &'static str, value: u64, least: u64, most: u64) -> Result<u32, IngressError> {
    let fits = u32::try_from(value).ok().filter(|_| (least..=most).contains(&value));
    fits.ok_or(IngressError::Traffic { what, value, least, most })
}

#[cfg(test)]
mod tests {
    use super::TrafficSpec;

    #[test]
    fn headers_have_the_lengths_of_the_packet() {
        let text = r#"{"flows": 9, "packet_bytes": 300, "destination": "10.1.2.3"}"#;
        let spec: TrafficSpec = serde_json::from_str(text).expect("fits");
        let packet = spec.packet().expect("makes sense");
        assert_eq!(
            (packet.len(), &packet[16..18], &packet[38..40]),
            (300, &[1, 30][..], &[1, 10][..])
        );
        assert_eq!((&packet[30..34], &packet[36..38]), (&[10, 1, 2, 3][..], &[0, 53][..]));
        let flows = spec.flows().expect("makes sense");
        assert_eq!((flows.count, flows.destinations, flows.destination_ports), (9, false, true));
    }

    #[test]
    fn limits_are_checked() {
        let spec = TrafficSpec {
            flows: 0,
            packet_bytes: 63,
            destination: None,
            destination_port: None,
            seed: 0,
        };
        assert_eq!(spec.flows().unwrap_err().to_string(), "flows: 0 is not between 1 and 16777216");
        let size = "packet size in bytes: 63 is not between 64 and 3500";
        assert_eq!(spec.packet().unwrap_err().to_string(), size);
    }
}

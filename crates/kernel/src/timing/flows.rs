//! Describes random flows. Each run of a timed program gets a packet of one of these flows.

use super::error::TimingError;

/// Offset of the IPv4 header, after the Ethernet header.
const IP: usize = 14;
/// Total size in bytes of the Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 42;

/// Flows of UDP over IPv4 without options. Each flow has its own source address. Each run gets a
/// packet of a random flow; all flows are equally likely.
///
/// The IPv4 checksum is updated. The UDP checksum of the packet must be 0, which means that there
/// is no checksum (RFC 768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// Number of flows, at least 1.
    pub count: u32,
    /// Seed from which addresses and ports are generated.
    pub seed: u32,
    /// True if flows also differ in their destination addresses.
    pub destinations: bool,
    /// True if flows also differ in their destination ports.
    pub destination_ports: bool,
}

impl Flows {
    /// Returns true if the byte at this offset of the packet is overwritten before each run,
    /// because flows differ in it.
    pub fn writes(&self, at: usize) -> bool {
        match at {
            24..30 | 34..36 => true,
            30..34 => self.destinations,
            36..38 => self.destination_ports,
            _ => false,
        }
    }

    /// Returns the sum of those 16-bit words of the IPv4 header that are the same in all flows.
    ///
    /// # Errors
    /// If the packet is not UDP over IPv4 without options, or the number of flows is out of range.
    pub(super) fn constant_sum(&self, packet: &[u8]) -> Result<i32, TimingError> {
        let invalid =
            TimingError::CodeTooLong { work: "to draw: it takes UDP over IPv4 without options" };
        let header = packet.get(IP..IP + 20).filter(|_| packet.len() >= HEADERS);
        let Some(header) = header else { return Err(invalid) };
        let udp = header[0] == 0x45 && header[9] == 17 && packet[12..14] == [8, 0];
        if !udp || self.count == 0 || self.count > i32::MAX as u32 {
            return Err(invalid);
        }
        let fixed = |word: usize| match word {
            5..=7 => false, // the checksum and the source
            8..=9 => !self.destinations,
            _ => true,
        };
        let words = header.chunks_exact(2).enumerate().filter(|&(word, _)| fixed(word));
        // In the machine's byte order: the Internet checksum works in either order (RFC 1071).
        Ok(words.map(|(_, bytes)| i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]))).sum())
    }
}

//! Packets of many flows, of which each run gets one.

use super::error::TimingError;

/// Where the IPv4 header starts, behind that of Ethernet.
const IP: usize = 14;
/// Bytes of Ethernet, IPv4 and UDP headers.
const HEADERS: usize = 42;

/// Flows of UDP over IPv4 without options, one of which is drawn for each run, evenly.
///
/// A flow has a source address of its own. The checksum of the IPv4 header is right; that of UDP has
/// to be 0 in the packet, which says that there is none (RFC 768).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Flows {
    /// How many there are, from 1.
    pub count: u32,
    /// What addresses and ports depend on.
    pub seed: u32,
    /// Whether destination addresses differ, too.
    pub destinations: bool,
    /// Whether destination ports differ, too.
    pub destination_ports: bool,
}

impl Flows {
    /// Whether a byte of the packet is written for each run.
    pub fn writes(&self, at: usize) -> bool {
        match at {
            24..30 | 34..36 => true,
            30..34 => self.destinations,
            36..38 => self.destination_ports,
            _ => false,
        }
    }

    /// The sum of those 16-bit words of the packet's IPv4 header that are the same for all flows.
    ///
    /// # Errors
    /// If the packet is not what flows can be written into.
    pub(super) fn constant_sum(&self, packet: &[u8]) -> Result<i32, TimingError> {
        let invalid =
            TimingError::TooMuch { what: "to draw: it takes UDP over IPv4 without options" };
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
        // In the machine's order, which sums of the kind do not depend on (RFC 1071).
        Ok(words.map(|(_, bytes)| i32::from(u16::from_ne_bytes([bytes[0], bytes[1]]))).sum())
    }
}

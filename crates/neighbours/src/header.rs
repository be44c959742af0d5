//! Builds and changes packet headers: Ethernet, IPv4 without options, and UDP (RFC 791, 768), with
//! their checksums.

/// Total size in bytes of the Ethernet, IPv4 and UDP headers.
pub const BYTES: usize = 42;
const IP: usize = 14;
const TTL: usize = IP + 8;
const PROTOCOL: usize = IP + 9;
const IP_CHECKSUM: usize = IP + 10;
const SOURCE: usize = IP + 12;
const DESTINATION: usize = IP + 16;
const UDP: usize = IP + 20;
const UDP_CHECKSUM: usize = UDP + 6;
const PROTOCOL_UDP: u8 = 17;
/// Initial time to live (TTL) of generated packets.
pub const INITIAL_TTL: u8 = 64;

pub type Header = [u8; BYTES];

/// Addresses, ports and protocol number, which together identify the flow of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct FiveTuple {
    pub source: u32,
    pub destination: u32,
    pub source_port: u16,
    pub destination_port: u16,
    pub protocol: u8,
}

/// Builds the headers of a UDP packet that belongs to a flow, with correct checksums. The payload
/// has `length` bytes (at most 65,507), and `sum` is the sum of its 16-bit words ([`sum_of`]).
pub fn udp_headers(flow: &FiveTuple, length: u16, sum: u32) -> Header {
    let mut header = [0; BYTES];
    header[..IP].copy_from_slice(&[2, 0, 0, 0, 0, 1, 2, 0, 0, 0, 0, 2, 8, 0]);
    header[IP] = 0x45;
    put(&mut header, IP + 2, length.saturating_add(28));
    header[TTL] = INITIAL_TTL;
    header[PROTOCOL] = PROTOCOL_UDP;
    put_address(&mut header, SOURCE, flow.source);
    put_address(&mut header, DESTINATION, flow.destination);
    put(&mut header, UDP, flow.source_port);
    put(&mut header, UDP + 2, flow.destination_port);
    put(&mut header, UDP + 4, length.saturating_add(8));
    let ip = folded(sum_of(&header[IP..UDP]));
    put(&mut header, IP_CHECKSUM, !ip);
    let udp = udp_checksum(&header, sum);
    put(&mut header, UDP_CHECKSUM, udp);
    header
}

/// Returns the network mask of a prefix of `length` bits. Lengths above 32 count as 32.
#[inline]
pub fn mask(length: u8) -> u32 {
    u32::MAX.checked_shl(32 - u32::from(length.min(32))).unwrap_or(0)
}

/// Returns the flow that a packet belongs to.
#[inline]
pub fn flow(header: &Header) -> FiveTuple {
    FiveTuple {
        source: address(header, SOURCE),
        destination: address(header, DESTINATION),
        source_port: word(header, UDP),
        destination_port: word(header, UDP + 2),
        protocol: header[PROTOCOL],
    }
}

/// Returns the length of the packet in bytes, according to its IPv4 header. The Ethernet header is
/// included.
#[inline]
pub fn length(header: &Header) -> u32 {
    u32::from(word(header, IP + 2)) + IP as u32
}

/// Replaces the source address and port of a packet, and updates both checksums incrementally (RFC
/// 1624, Eqn. 3).
#[inline]
pub fn rewrite_source(header: &mut Header, source: u32, port: u16) {
    let old = [word(header, SOURCE), word(header, SOURCE + 2), word(header, UDP)];
    let new = [(source >> 16) as u16, source as u16, port];
    let ip = updated(word(header, IP_CHECKSUM), &old[..2], &new[..2]);
    put(header, IP_CHECKSUM, ip);
    let before = word(header, UDP_CHECKSUM);
    // Zero means "no checksum"; a computed checksum of zero is written as 0xffff (RFC 768).
    if before != 0 {
        let after = updated(before, &old, &new);
        put(header, UDP_CHECKSUM, if after == 0 { 0xffff } else { after });
    }
    put_address(header, SOURCE, source);
    put(header, UDP, port);
}

/// Decrements the time to live of a packet, and writes the address of the next hop into the header.
/// Returns false if the time to live has run out.
#[inline]
pub fn hop(header: &mut Header, next: u32) -> bool {
    if header[TTL] <= 1 {
        return false;
    }
    let old = word(header, TTL);
    header[TTL] -= 1;
    let new = word(header, TTL);
    let checksum = updated(word(header, IP_CHECKSUM), &[old], &[new]);
    put(header, IP_CHECKSUM, checksum);
    header[2..6].copy_from_slice(&next.to_be_bytes());
    true
}

/// Returns the sum of the 16-bit words of `bytes`. Adds the carry out of the lowest 16 bits once.
/// If the number of bytes is odd, the last byte is the high byte of a word.
pub fn sum_of(bytes: &[u8]) -> u32 {
    let pairs = bytes.chunks_exact(2);
    let odd = pairs.remainder().first().map_or(0, |&high| u64::from(high) << 8);
    let sum: u64 = pairs.map(|pair| u64::from(pair[0]) << 8 | u64::from(pair[1])).sum();
    let all = sum + odd;
    ((all & 0xffff) + (all >> 16 & 0xffff) + (all >> 32)) as u32
}

fn udp_checksum(header: &Header, payload: u32) -> u16 {
    let pseudo = sum_of(&header[SOURCE..UDP])
        + u32::from(header[PROTOCOL])
        + u32::from(word(header, UDP + 4));
    let ports = sum_of(&header[UDP..UDP_CHECKSUM]);
    match !folded(pseudo + ports + payload) {
        0 => 0xffff,
        sum => sum,
    }
}

/// Returns the new checksum of a header after the words `old` were replaced by the words `new`.
fn updated(checksum: u16, old: &[u16], new: &[u16]) -> u16 {
    let removed = old.iter().map(|&word| u32::from(!word));
    let added = new.iter().map(|&word| u32::from(word));
    !folded(u32::from(!checksum) + removed.chain(added).sum::<u32>())
}

fn folded(mut sum: u32) -> u16 {
    while sum >> 16 != 0 {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

#[inline]
fn word(header: &Header, at: usize) -> u16 {
    u16::from_be_bytes([header[at], header[at + 1]])
}

#[inline]
fn address(header: &Header, at: usize) -> u32 {
    u32::from(word(header, at)) << 16 | u32::from(word(header, at + 2))
}

#[inline]
fn put(header: &mut Header, at: usize, value: u16) {
    header[at..at + 2].copy_from_slice(&value.to_be_bytes());
}

#[inline]
fn put_address(header: &mut Header, at: usize, value: u32) {
    header[at..at + 4].copy_from_slice(&value.to_be_bytes());
}

/// Returns true if both checksums of the packet are correct. Computes them from all bytes.
#[cfg(test)]
pub fn intact(header: &Header, payload: &[u8]) -> bool {
    let ip = folded(sum_of(&header[IP..UDP])) == 0xffff;
    let mut all = header[SOURCE..UDP].to_vec();
    all.extend([0, header[PROTOCOL]]);
    all.extend(&header[UDP + 4..UDP + 6]);
    all.extend(&header[UDP..]);
    all.extend(payload);
    ip && folded(sum_of(&all)) == 0xffff
}

#[cfg(test)]
mod tests {
    use super::{
        FiveTuple, INITIAL_TTL, TTL, flow, hop, intact, length, rewrite_source, sum_of, udp_headers,
    };
    use proptest::prelude::*;

    prop_compose! {
        fn any_flow()(source: u32, destination: u32, source_port: u16, destination_port: u16)
            -> FiveTuple
        {
            FiveTuple { source, destination, source_port, destination_port, protocol: 17 }
        }
    }

    proptest! {
        #[test]
        fn checksums_stay_correct_after_rewriting(
            before in any_flow(),
            payload in proptest::collection::vec(any::<u8>(), 0..64),
            source: u32,
            port: u16,
            next: u32,
        ) {
            let mut header = udp_headers(&before, payload.len() as u16, sum_of(&payload));
            prop_assert!(intact(&header, &payload));
            prop_assert_eq!(flow(&header), before);
            prop_assert_eq!(length(&header) as usize, header.len() + payload.len());
            rewrite_source(&mut header, source, port);
            prop_assert!(intact(&header, &payload));
            prop_assert!(hop(&mut header, next));
            prop_assert!(intact(&header, &payload));
            prop_assert_eq!(flow(&header), FiveTuple { source, source_port: port, ..before });
            prop_assert_eq!(header[TTL], INITIAL_TTL - 1);
        }
    }

    #[test]
    fn hops_are_limited_by_the_time_to_live() {
        let mut header = udp_headers(&FiveTuple::default(), 0, 0);
        let hops = (0..1000).take_while(|_| hop(&mut header, 1)).count();
        assert_eq!(hops, usize::from(INITIAL_TTL) - 1);
        assert!(intact(&header, &[]));
    }

    #[test]
    fn a_damaged_header_is_not_intact() {
        let mut header = udp_headers(&FiveTuple::default(), 2, sum_of(&[1, 2]));
        assert!(intact(&header, &[1, 2]) && !intact(&header, &[1, 3]));
        header[TTL] -= 1;
        assert!(!intact(&header, &[1, 2]));
    }
}

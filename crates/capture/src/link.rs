//! Names link types other than Ethernet, and converts packets of some of them to Ethernet frames.
//!
//! Numbers, names and headers are those of <https://www.tcpdump.org/linktypes.html>.

use std::borrow::Cow;

/// Length of an Ethernet header in bytes.
const ETHERNET: usize = 14;
const TYPE_IPV4: [u8; 2] = [0x08, 0x00];
const TYPE_IPV6: [u8; 2] = [0x86, 0xdd];
/// Smallest EtherType. Smaller numbers in the EtherType field of an Ethernet header are lengths
/// (IEEE 802.3, clause 3.2.6).
const LEAST_TYPE: u16 = 0x600;

const NULL: u16 = 0;
const RAW: [u16; 3] = [101, 12, 14];
const LOOP: u16 = 108;
const LINUX_SLL: u16 = 113;
const IPV4: u16 = 228;
const IPV6: u16 = 229;
const LINUX_SLL2: u16 = 276;

/// Names of link types, by number.
const NAMES: [(u16, &str); 25] = [
    (NULL, "NULL"),
    (6, "IEEE802_5"),
    (8, "SLIP"),
    (9, "PPP"),
    (RAW[1], "RAW"),
    (RAW[2], "RAW"),
    (50, "PPP_HDLC"),
    (51, "PPP_ETHER"),
    (RAW[0], "RAW"),
    (104, "C_HDLC"),
    (105, "IEEE802_11"),
    (107, "FRELAY"),
    (LOOP, "LOOP"),
    (LINUX_SLL, "LINUX_SLL"),
    (119, "IEEE802_11_PRISM"),
    (127, "IEEE802_11_RADIOTAP"),
    (187, "BLUETOOTH_HCI_H4"),
    (189, "USB_LINUX"),
    (195, "IEEE802_15_4_WITHFCS"),
    (220, "USB_LINUX_MMAPPED"),
    (227, "CAN_SOCKETCAN"),
    (IPV4, "IPV4"),
    (IPV6, "IPV6"),
    (253, "NETLINK"),
    (LINUX_SLL2, "LINUX_SLL2"),
];

/// Returns the name and number of the link type `link`. Returns only the number if the name is
/// unknown.
pub fn named(link: u16) -> String {
    match NAMES.iter().find(|(number, _)| *number == link) {
        Some((_, name)) => format!("{name} ({link})"),
        None => link.to_string(),
    }
}

/// Returns true if [`frame`] converts packets of this link type.
pub fn is_convertible(link: u16) -> bool {
    RAW.contains(&link) || [NULL, LOOP, LINUX_SLL, IPV4, IPV6, LINUX_SLL2].contains(&link)
}

/// Converts a captured packet to an Ethernet frame. Returns the frame and its length on the wire in
/// bytes.
///
/// Addresses that the capture does not contain are zero. The EtherType is 0 if the packet is too
/// short to contain it, or if its protocol has no EtherType.
pub fn frame(link: u16, captured: &[u8], wire: usize) -> (Cow<'_, [u8]>, usize) {
    let (header, source, kind) = match link {
        NULL | LOOP => (4, None, captured.get(4).and_then(|&first| internet(first))),
        LINUX_SLL => {
            let source = captured.get(6..12).filter(|_| captured.get(4..6) == Some(&[0, 6]));
            (16, source, captured.get(14..16).and_then(ethernet_type))
        }
        LINUX_SLL2 => {
            let source = captured.get(12..18).filter(|_| captured.get(11) == Some(&6));
            (20, source, captured.get(..2).and_then(ethernet_type))
        }
        _ => (0, None, captured.first().and_then(|&first| internet(first))),
    };
    let payload = captured.get(header..).unwrap_or_default();
    let mut bytes = Vec::with_capacity(ETHERNET + payload.len());
    bytes.extend([0; 6]);
    bytes.extend(source.unwrap_or(&[0; 6]));
    bytes.extend(kind.unwrap_or_default());
    bytes.extend(payload);
    let wire = wire.max(captured.len()).saturating_sub(header) + ETHERNET;
    (Cow::Owned(bytes), wire)
}

/// Returns the EtherType of an IP packet (IPv4 or IPv6) from its first byte, which contains the IP
/// version. Returns `None` for any other version.
fn internet(first: u8) -> Option<[u8; 2]> {
    match first >> 4 {
        4 => Some(TYPE_IPV4),
        6 => Some(TYPE_IPV6),
        _ => None,
    }
}

/// Returns the EtherType in the protocol field of a Linux cooked header (`LINUX_SLL`). Returns
/// `None` if the number in the field is not an EtherType.
fn ethernet_type(field: &[u8]) -> Option<[u8; 2]> {
    let field: [u8; 2] = field.try_into().ok()?;
    (u16::from_be_bytes(field) >= LEAST_TYPE).then_some(field)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Builds an Ethernet frame with a zero destination address and the given source address,
    /// EtherType and payload.
    fn ethernet(source: [u8; 6], kind: [u8; 2], payload: &[u8]) -> Vec<u8> {
        [&[0; 6], &source[..], &kind, payload].concat()
    }

    #[test]
    fn internet_packets_get_the_type_of_their_version() {
        for (link, header) in [(101, 0), (12, 0), (228, 0), (229, 0), (0, 4), (108, 4)] {
            for (first, kind) in [(0x45, TYPE_IPV4), (0x60, TYPE_IPV6), (0x00, [0, 0])] {
                let captured = [vec![2; header], vec![first, 1, 2]].concat();
                let (bytes, wire) = frame(link, &captured, header + 40);
                assert_eq!(*bytes, *ethernet([0; 6], kind, &[first, 1, 2]), "{link}");
                assert_eq!(wire, 54, "{link}");
            }
        }
    }

    #[test]
    fn cooked_headers_have_source_and_type() {
        let source = [1, 2, 3, 4, 5, 6];
        let cooked = [&[0, 0, 0, 1, 0, 6][..], &source, &[0, 0, 0x88, 0x47], b"abc"].concat();
        assert_eq!(*frame(113, &cooked, 19).0, *ethernet(source, [0x88, 0x47], b"abc"));
        let second =
            [&[0x08, 0x06, 0, 0, 0, 0, 0, 1, 0, 1, 0, 6][..], &source, &[0, 0], b"abc"].concat();
        assert_eq!(*frame(276, &second, 23).0, *ethernet(source, [0x08, 0x06], b"abc"));
        let loopback = [&[0; 14][..], &[0, 4], b"abc"].concat();
        assert_eq!(*frame(113, &loopback, 19).0, *ethernet([0; 6], [0, 0], b"abc"));
    }

    #[test]
    fn any_captured_bytes_become_a_frame() {
        for link in (0..=300).filter(|&link| is_convertible(link)) {
            for length in 0..24 {
                let captured = vec![0x45; length];
                let (bytes, wire) = frame(link, &captured, 0);
                assert!(bytes.len() >= ETHERNET && wire >= bytes.len(), "{link} {length}");
            }
        }
    }
}

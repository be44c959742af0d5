//! Computes the fields of `struct __sk_buff` that a tc program sees in a test run
//! (`bpf_prog_test_run_skb` of `net/bpf/test_run.c`, `eth_type_trans` of `net/ethernet/eth.c`).

use std::collections::BTreeMap;

use slowpath_bpf::{FirstByte, ProgramType};
use slowpath_kernel::Context;

/// Offset of the EtherType in an Ethernet header in bytes. `ETH_HLEN` is the length of this header.
const TYPE: usize = 12;
const ETH_HLEN: usize = 14;
/// Smallest EtherType (`ETH_P_802_3_MIN`); smaller numbers are lengths.
const TYPE_MIN: u16 = 0x600;
/// `ETH_P_802_3` and `ETH_P_802_2`, in the byte order of the field `protocol`.
const RAW: u64 = 0x0100;
const LLC: u64 = 0x0400;
/// Values of the field `pkt_type` (`uapi/linux/if_packet.h`). The loopback device has zeros as its
/// address and as its broadcast address.
const MULTICAST: u64 = 2;
const OTHERHOST: u64 = 3;

/// EtherTypes of IPv4 and IPv6. Each is followed by the address family, and by the offset and size
/// of the source address in the header.
const NETWORKS: [(u16, u64, usize, usize); 2] = [(0x0800, 2, 12, 4), (0x86dd, 10, 8, 16)];

/// Returns the values of the fields, by name. The packet has at least 14 bytes with a link layer
/// header, or any length without one.
pub fn fields(row: &ProgramType, packet: &[u8], context: &Context) -> BTreeMap<String, u64> {
    let mut fields: BTreeMap<String, u64> =
        row.fields.iter().map(|field| (field.name.to_owned(), 0)).collect();
    if row.first == FirstByte::Link {
        fields.insert("protocol".to_owned(), protocol(packet));
        fields.insert("pkt_type".to_owned(), packet_type(packet));
    } else {
        let protocol = context.protocol(packet);
        fields.insert("protocol".to_owned(), protocol.swap_bytes().into());
        addresses(protocol, packet, &mut fields);
    }
    fields.insert("ifindex".to_owned(), 1);
    fields.insert("wire_len".to_owned(), packet.len() as u64);
    fields.extend(context.fields.iter().map(|(name, &value)| (name.clone(), value)));
    fields
}

/// Sets the address fields, which a program reads from the socket of a test run. The local address
/// of this socket is the packet's source address.
fn addresses(protocol: u16, packet: &[u8], fields: &mut BTreeMap<String, u64>) {
    let Some(&(_, family, start, size)) = NETWORKS.iter().find(|network| network.0 == protocol)
    else {
        return;
    };
    fields.insert("family".to_owned(), family);
    for (side, start) in [("local", start), ("remote", start + size)] {
        let words = packet.get(start..start + size).unwrap_or_default().as_chunks::<4>().0;
        for (index, word) in words.iter().enumerate() {
            let name = match size {
                4 => format!("{side}_ip4"),
                _ => format!("{side}_ip6[{index}]"),
            };
            fields.insert(name, u32::from_le_bytes(*word).into());
        }
    }
}

fn protocol(packet: &[u8]) -> u64 {
    let bytes: [u8; 2] =
        packet.get(TYPE..ETH_HLEN).and_then(|b| b.try_into().ok()).unwrap_or([0; 2]);
    if u16::from_be_bytes(bytes) >= TYPE_MIN {
        return u16::from_le_bytes(bytes).into();
    }
    match packet.get(ETH_HLEN..ETH_HLEN + 2) {
        Some([0xff, 0xff]) => RAW,
        _ => LLC,
    }
}

fn packet_type(packet: &[u8]) -> u64 {
    match packet.get(..6) {
        Some([0, 0, 0, 0, 0, 0]) | None => 0,
        Some([first, ..]) if first & 1 == 1 => MULTICAST,
        Some(_) => OTHERHOST,
    }
}

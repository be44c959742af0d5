//! Computes the fields of `struct __sk_buff` that a tc program sees in a test run
//! (`bpf_prog_test_run_skb` of `net/bpf/test_run.c`, `eth_type_trans` of `net/ethernet/eth.c`).

use std::collections::BTreeMap;

use slowpath_bpf::SCHED_CLS;
use slowpath_kernel::Context;

/// Offset of the EtherType in bytes, and length of an Ethernet header.
const TYPE: usize = 12;
const ETH_HLEN: usize = 14;
/// Smallest EtherType (`ETH_P_802_3_MIN`); smaller numbers are lengths.
const TYPE_MIN: u16 = 0x600;
/// `ETH_P_802_3` and `ETH_P_802_2`, in the byte order of the field `protocol`.
const RAW: u64 = 0x0100;
const LLC: u64 = 0x0400;
/// Types of packets (`uapi/linux/if_packet.h`). The loopback device has zeros as its address and as
/// its broadcast address.
const MULTICAST: u64 = 2;
const OTHERHOST: u64 = 3;

/// Returns the number in each field, by name, for a packet of at least 14 bytes.
pub fn fields(packet: &[u8], context: &Context) -> BTreeMap<String, u64> {
    let mut fields: BTreeMap<String, u64> =
        SCHED_CLS.fields.iter().map(|field| (field.name.to_owned(), 0)).collect();
    fields.insert("protocol".to_owned(), protocol(packet));
    fields.insert("pkt_type".to_owned(), packet_type(packet));
    fields.insert("ifindex".to_owned(), 1);
    fields.insert("wire_len".to_owned(), packet.len() as u64);
    fields.extend(context.fields.iter().map(|(name, &value)| (name.clone(), value)));
    fields
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

//! Describes the context of a packet: the fields of `struct xdp_md` that a test run can set.
//!
//! Source: `xdp_convert_md_to_buff` in the kernel's `net/bpf/test_run.c`.

use std::collections::BTreeMap;

use slowpath_bpf::{ProgramType, XDP};

/// Size of `struct xdp_md` in bytes.
pub(crate) const SIZE: usize = 24;

/// The context with which a packet arrives. By default the packet has no metadata and arrives on
/// queue 0 of the loopback device.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Context {
    /// Metadata in front of the packet. Its length is a multiple of 4 bytes, at most 252.
    pub metadata: Vec<u8>,
    /// Index of the device that receives the packet. The device must exist; 0 stands for the
    /// loopback device.
    pub ingress_ifindex: u32,
    /// Receive queue of the device on which the packet arrives. It must exist.
    pub rx_queue_index: u32,
    /// Values of `struct __sk_buff` fields, by field name, for programs that get this structure.
    /// Fields that are not listed have the defaults of a test run. The kernel accepts the fields in
    /// [`SETTABLE`]. `protocol` can be set for packets without a link layer header.
    pub fields: BTreeMap<String, u64>,
}

/// Fields of `struct __sk_buff` that a test run can set, and that it returns
/// (`convert___skb_to_skb`, `convert_skb_to___skb`).
pub const SETTABLE: [&str; 13] = [
    "mark",
    "priority",
    "ingress_ifindex",
    "ifindex",
    "cb[0]",
    "cb[1]",
    "cb[2]",
    "cb[3]",
    "cb[4]",
    "tstamp",
    "wire_len",
    "gso_segs",
    "hwtstamp",
];

/// Offsets at which the packet starts and ends in the buffer of a test run, in bytes. The metadata
/// is at the start of the buffer, in front of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub data: u32,
    pub end: u32,
}

/// EtherType for experiments (`ETH_P_802_EX1`), which is given to packets that are not IP packets.
const EXPERIMENT: u16 = 0x88b5;

impl Context {
    /// Returns the EtherType of a packet that starts with its network header: the value of the
    /// field `protocol` if it is set, otherwise the type that fits the first bytes of the packet.
    /// Test runs reject IP packets without a whole header.
    pub fn protocol(&self, packet: &[u8]) -> u16 {
        match (self.fields.get("protocol"), packet.first().map(|first| first >> 4)) {
            (Some(&protocol), _) => (protocol as u16).swap_bytes(),
            (None, Some(4)) if packet.len() >= 20 => 0x0800,
            (None, Some(6)) if packet.len() >= 40 => 0x86dd,
            _ => EXPERIMENT,
        }
    }

    /// Encodes the context as a `struct xdp_md`, for a packet of `len` bytes behind the metadata.
    pub(crate) fn encode(&self, len: usize) -> [u8; SIZE] {
        let meta = u32::try_from(self.metadata.len()).unwrap_or(u32::MAX);
        let end = u32::try_from(len).unwrap_or(u32::MAX).saturating_add(meta);
        let fields = [
            ("data", meta),
            ("data_end", end),
            ("ingress_ifindex", self.ingress_ifindex),
            ("rx_queue_index", self.rx_queue_index),
        ];
        let mut bytes = [0; SIZE];
        for (name, value) in fields {
            let offset = XDP.field(name).map_or(SIZE, |field| field.offset as usize);
            bytes[offset..offset + 4].copy_from_slice(&value.to_ne_bytes());
        }
        bytes
    }
}

/// Encodes the context structure that a test run takes, with values for the fields in [`SETTABLE`].
/// `row` describes the program type, and thus the layout of this structure.
pub(crate) fn encode_fields(row: &ProgramType, fields: &BTreeMap<String, u64>) -> Vec<u8> {
    let mut bytes = vec![0; row.size as usize];
    for (name, value) in fields.iter().filter(|(name, _)| SETTABLE.contains(&name.as_str())) {
        if let Some(field) = row.field(name) {
            let (at, size) = (field.offset as usize, usize::from(field.bytes));
            bytes[at..at + size].copy_from_slice(&value.to_le_bytes()[..size]);
        }
    }
    bytes
}

/// Decodes the fields in [`SETTABLE`] from the context structure that a test run returns. `row`
/// describes the program type, and thus the layout of this structure.
pub(crate) fn decode_fields(row: &ProgramType, bytes: &[u8]) -> BTreeMap<String, u64> {
    let value = |name: &&str| {
        let field = row.field(name)?;
        let (at, size) = (field.offset as usize, usize::from(field.bytes));
        let mut value = [0; 8];
        value[..size].copy_from_slice(bytes.get(at..at + size)?);
        Some(((*name).to_owned(), u64::from_le_bytes(value)))
    };
    SETTABLE.iter().filter_map(value).collect()
}

/// Decodes the offsets of the packet's start and end from the `struct xdp_md` that a test run
/// returned.
pub(crate) fn decode(bytes: &[u8; SIZE]) -> Layout {
    let field = |name| {
        let at = XDP.field(name).map_or(SIZE, |field| field.offset as usize);
        u32::from_ne_bytes([0, 1, 2, 3].map(|i| bytes[at + i]))
    };
    Layout { data: field("data"), end: field("data_end") }
}

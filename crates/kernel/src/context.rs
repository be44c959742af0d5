//! Describes the context of a packet: the fields of `struct xdp_md` that a test run can set.
//!
//! Source: `xdp_convert_md_to_buff` in the kernel's `net/bpf/test_run.c`.

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
}

/// Offsets at which the packet starts and ends in the buffer of a test run, in bytes. The metadata
/// is at the start of the buffer, in front of the packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Layout {
    pub data: u32,
    pub end: u32,
}

impl Context {
    /// Encodes the context as a `struct xdp_md`, for a packet of `len` bytes behind the metadata.
    pub(crate) fn encode(&self, len: usize) -> [u8; SIZE] {
        let meta = u32::try_from(self.metadata.len()).unwrap_or(u32::MAX);
        let end = u32::try_from(len).unwrap_or(u32::MAX).saturating_add(meta);
        let fields = [meta, end, 0, self.ingress_ifindex, self.rx_queue_index, 0];
        let mut bytes = [0; SIZE];
        for (to, field) in bytes.chunks_exact_mut(4).zip(fields) {
            to.copy_from_slice(&field.to_ne_bytes());
        }
        bytes
    }
}

/// Decodes the packet's start and end from the `struct xdp_md` that a test run returned.
pub(crate) fn decode(bytes: &[u8; SIZE]) -> Layout {
    let field = |n: usize| u32::from_ne_bytes([0, 1, 2, 3].map(|i| bytes[4 * n + i]));
    Layout { data: field(0), end: field(1) }
}

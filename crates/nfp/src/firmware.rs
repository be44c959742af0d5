//! The limits of the SmartNIC's firmware and its driver: for access to maps, the length of
//! programs, the size of stacks, and the free space before and after a packet.
//!
//! Sources: the public firmware (`apps/nic/ebpf.uc`, `NFD_BPF_*`) and the driver's `bpf/main.h`.

use slowpath_bpf::lift::{Receive, TailRoom};

/// Interface through which programs access maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapAbi {
    /// The firmware of Krude et al. (CoNEXT 2021): one array map in the SmartNIC's memory, whose
    /// address is in a register. Published costs exist for this interface only.
    #[default]
    ArrayPointer,
    /// The stock firmware: programs call functions of the firmware to access maps.
    Call,
}

impl MapAbi {
    /// Returns the largest number of instructions in a program that the firmware can load.
    pub(crate) fn max_instructions(self) -> usize {
        match self {
            // `NFD_BPF_MAX_LEN` of the public firmware, from which the paper's firmware is derived.
            MapAbi::ArrayPointer => 2560,
            // The whole instruction store of a core.
            MapAbi::Call => 8192,
        }
    }
}

/// Bytes of stack per thread in the firmware (`NFD_BPF_STACK_SZ`).
pub(crate) const MAX_STACK: u32 = 512;
/// Alignment of stack frames in bytes (`STACK_FRAME_ALIGN`).
pub(crate) const FRAME_ALIGN: u32 = 64;
/// Largest size in bytes of the array map of [`MapAbi::ArrayPointer`].
pub(crate) const MAX_ARRAY: u64 = 1 << 30;
/// Largest XDP result that the firmware knows, `XDP_TX`. The firmware treats larger results as
/// aborted.
pub(crate) const MAX_RESULT: u32 = 3;

/// Size in bytes of an Ethernet header. Helpers cannot make a packet shorter.
pub(crate) const ETHERNET_HEADER: u32 = 14;
/// Bytes of the shortest Ethernet frame, without frame check sequence.
pub const MIN_FRAME: u16 = 60;

/// Width in bits of the packet's length. The length is in the lowest bits of the first word of the
/// packet vector, the firmware's description of a packet.
pub const PACKET_LENGTH_BITS: u8 = 14;
/// Largest packet length in bytes that [`PACKET_LENGTH_BITS`] can hold.
pub const MAX_PACKET: u16 = (1 << PACKET_LENGTH_BITS) - 1;
/// Offset in bytes of the packet's address in the packet vector.
pub const PACKET_ADDRESS_OFFSET: u64 = 8;

/// Lowest offset, in bytes from the start of the packet buffer, at which a packet may start
/// (`ebpf_init_cap_adjust_head`).
pub const MIN_HEAD_OFFSET: u32 = 44;
/// Highest offset, in bytes from the start of the packet buffer, at which a packet may start.
pub const MAX_HEAD_OFFSET: u32 = 248;
/// Distance in bytes by which a program can always move a packet's start towards the start of the
/// buffer, as the firmware guarantees.
pub(crate) const MAX_HEAD_GROWTH: i32 = 84;
/// Distance in bytes by which a program can always move a packet's start towards the end of the
/// buffer, as the firmware guarantees.
pub(crate) const MAX_HEAD_CUT: i32 = 112;
/// Offset, in bytes from the start of the packet buffer, at which the firmware puts a packet: the
/// guaranteed distance `MAX_HEAD_GROWTH` above [`MIN_HEAD_OFFSET`].
pub const INITIAL_HEAD_OFFSET: u32 = MIN_HEAD_OFFSET + MAX_HEAD_GROWTH as u32;

/// Position of a received packet in its buffer, and the distances by which helpers can move the
/// packet's start and end.
pub const RECEIVE: Receive = Receive {
    head: (MAX_HEAD_GROWTH as u16, MAX_HEAD_GROWTH as u16),
    max_head_trim: Some((MAX_HEAD_OFFSET - INITIAL_HEAD_OFFSET) as u16),
    tail: TailRoom::TrimOnly,
    ..Receive::PAGE
};

/// Offsets in bytes of the fields of `struct xdp_md` that the SmartNIC provides.
pub mod xdp_md {
    /// Offset of `data`, the packet's first byte.
    pub const DATA: u64 = 0;
    /// Offset of `data_end`, the end of the packet.
    pub const DATA_END: u64 = 4;
    /// Offset of `rx_queue_index`, the host queue that receives the packet.
    pub const RX_QUEUE_INDEX: u64 = 16;
}

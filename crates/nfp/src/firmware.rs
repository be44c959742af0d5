//! What the card's firmware and its driver fix, each number once: which maps there are, how long
//! programs may be, how deep stacks, how far the ends of a packet move.
//!
//! Sources: the public firmware (`apps/nic/ebpf.uc`, `NFD_BPF_*`) and the driver's `bpf/main.h`.

use slowpath_bpf::lift::{Receive, TailRoom};

/// How programs reach maps.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum MapAbi {
    /// The paper's firmware: one array in the card's memory, whose address is in a register. The
    /// only one with published costs.
    #[default]
    ArrayPointer,
    /// The stock firmware: programs call it.
    Call,
}

impl MapAbi {
    /// How many instructions of a program the firmware has room for.
    pub(crate) fn max_instructions(self) -> usize {
        match self {
            // `NFD_BPF_MAX_LEN` of the public firmware that the paper's is made from.
            MapAbi::ArrayPointer => 2560,
            // All of a core's instruction store.
            MapAbi::Call => 8192,
        }
    }
}

/// Bytes of stack that the firmware has for each thread (`NFD_BPF_STACK_SZ`).
pub(crate) const MAX_STACK: u32 = 512;
/// Stack frames start at multiples of this, in bytes (`STACK_FRAME_ALIGN`).
pub(crate) const FRAME_ALIGN: u32 = 64;
/// Bytes of the array map of the paper's firmware.
pub(crate) const MAX_ARRAY: u64 = 1 << 30;
/// The greatest XDP result that the firmware knows, `XDP_TX`; others count as aborted.
pub(crate) const MAX_RESULT: u32 = 3;

/// Bytes of an Ethernet header: no packet gets shorter.
pub(crate) const ETHERNET_HEADER: u32 = 14;
/// Bytes of the shortest Ethernet frame, without check sequence.
pub const MIN_FRAME: u16 = 60;

/// Width in bits of the packet's length, which is the lowest part of the first word that the firmware
/// hands over.
pub const PACKET_LENGTH_BITS: u8 = 14;
/// The largest length that so many bits hold, in bytes.
pub const MAX_PACKET: u16 = (1 << PACKET_LENGTH_BITS) - 1;
/// Offset in bytes of the packet's address in what the firmware hands over.
pub const PACKET_ADDRESS: u64 = 8;

/// Where a packet may start in its buffer, in bytes (`ebpf_init_cap_adjust_head`).
pub const HEAD_FIRST: u32 = 44;
/// The last place in its buffer where a packet may start, in bytes.
pub const HEAD_LAST: u32 = 248;
/// How far towards the start of its buffer the firmware guarantees that a packet can be moved, in
/// bytes.
pub(crate) const HEAD_DOWN: i32 = 84;
/// How far towards the end of its buffer the firmware guarantees that a packet can be moved, in
/// bytes.
pub(crate) const HEAD_UP: i32 = 112;
/// Where the firmware puts packets, in bytes from the start of their buffer: as far from the bounds
/// as it guarantees.
pub const HEAD_START: u32 = HEAD_FIRST + HEAD_DOWN as u32;

/// How packets arrive on the card, and how far its helpers can move their ends.
pub const RECEIVE: Receive = Receive {
    head: (HEAD_DOWN as u16, HEAD_DOWN as u16),
    cut: Some((HEAD_LAST - HEAD_START) as u16),
    tail: TailRoom::Cut,
    ..Receive::PAGE
};

/// Offsets in bytes of the fields of `struct xdp_md` that the card has.
pub mod xdp_md {
    /// Of the packet's first byte.
    pub const DATA: u64 = 0;
    /// Of the packet's end.
    pub const DATA_END: u64 = 4;
    /// Of the queue of the host that gets the packet.
    pub const RX_QUEUE_INDEX: u64 = 16;
}

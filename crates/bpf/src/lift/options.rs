//! What the lifter takes as given: sizes of packets, content of maps, helpers that are assumed
//! harmless, the kernel's types.

use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;
use std::sync::Arc;

use slowpath_stop::Stop;

use crate::Btf;
use crate::lift::content::MapContent;
use crate::lift::surroundings::Surroundings;

/// How far the ends of a packet can be moved.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketRoom {
    /// Bytes in front of the packet as received.
    pub before: u64,
    /// How many bytes of the packet as received can be cut off its head, if that is limited.
    pub cut: Option<u64>,
    /// Bytes behind the packet's start as received that the packet can extend to; none if its tail
    /// can only be cut, by at least one byte.
    pub tail: Option<u64>,
}

impl PacketRoom {
    /// What native XDP guarantees: `XDP_PACKET_HEADROOM` less `sizeof(struct xdp_frame)`, and a page
    /// of 4096 bytes less the head room and `SKB_DATA_ALIGN(sizeof(struct skb_shared_info))`.
    pub const KERNEL: PacketRoom =
        PacketRoom { before: 256 - 40, cut: None, tail: Some(4096 - 256 - 320) };

    /// What lies around a packet that was just received: all of the room, and no metadata.
    pub fn received(self) -> Surroundings {
        let before = u16::try_from(self.before).unwrap_or(u16::MAX);
        Surroundings { head_room: (before, before), metadata: (0, 0) }
    }
}

/// A program that runs behind another one, by what that returns: on the same packet and context, or on
/// another device that the packet is sent to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Handover {
    /// The program that returns, by its number in [`crate::Object::programs`].
    pub from: usize,
    /// What it returns then, such as `XDP_PASS`, in 32 bits.
    pub results: Vec<u32>,
    /// The bits of results that are looked at.
    pub mask: u32,
    /// The program that runs next. No program runs behind itself, not even after others.
    pub to: usize,
    /// What is between the two, where the packet is sent to another device.
    pub network: Option<Network>,
}

/// A network that packets go through from one device to another: in a new buffer, with a new context,
/// and padded if they are short.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Network {
    /// Bytes of packets that it may change, from the first one on.
    pub changes: Vec<Range<u16>>,
    /// Whether it routes packets: their time to live, or hop limit, may change, and the checksum of
    /// IPv4 headers, behind up to two VLAN tags.
    pub routes: bool,
}

/// What the lifter takes as given.
#[derive(Clone, Debug)]
pub struct LiftOptions {
    /// Length of the shortest packet in bytes, without frame check sequence.
    pub min_packet: u16,
    /// Length of the longest packet in bytes, without frame check sequence.
    pub max_packet: u16,
    /// What is known about the content of maps, by name.
    pub contents: BTreeMap<String, MapContent>,
    /// Helpers that are taken to return any value and to change nothing, by name, with the reason.
    pub assumed_helpers: BTreeMap<String, String>,
    /// The types of the kernel, for programs that tail calls lead to.
    pub kernel_types: Option<Arc<Btf>>,
    /// Whether operations stay whose results nothing uses, so that every value of every register can
    /// be asked for.
    pub keeps_dead_operations: bool,
    /// Whether calls of helpers leave what they are given in [`crate::lift::Layout::calls`].
    pub records_calls: bool,
    /// How far helpers can move the ends of the packet.
    pub room: PacketRoom,
    /// What lies around packets when they arrive, where other programs have run on them before; none
    /// if they were just received.
    pub surroundings: Option<Surroundings>,
    /// Which programs run behind others. What no handover is said of ends the run.
    pub handovers: Vec<Handover>,
    /// The programs whose work counts, by their numbers in [`crate::Object::programs`], with what
    /// their tail calls lead to; all if it is not said.
    pub counted: Option<BTreeSet<usize>>,
    /// Whether other CPUs change shared maps between accesses of a run, rather than not at all.
    pub interleaved: bool,
    /// When to give up.
    pub stop: Stop,
}

impl Default for LiftOptions {
    /// From the minimum of Ethernet, 60 bytes, to the usual MTU, 1500 bytes, and any map content.
    fn default() -> Self {
        LiftOptions {
            min_packet: 60,
            max_packet: 1500,
            contents: BTreeMap::new(),
            assumed_helpers: BTreeMap::new(),
            kernel_types: None,
            keeps_dead_operations: false,
            records_calls: false,
            room: PacketRoom::KERNEL,
            surroundings: None,
            handovers: Vec::new(),
            counted: None,
            interleaved: false,
            stop: Stop::never(),
        }
    }
}

impl LiftOptions {
    /// What lies around packets when they arrive.
    pub fn around(&self) -> Surroundings {
        self.surroundings.unwrap_or_else(|| self.room.received())
    }

    /// Why a helper that is not supported is taken for harmless, if it is.
    pub(super) fn assumed(&self, name: &str) -> Option<&str> {
        self.assumed_helpers.get(name).map(String::as_str)
    }
}

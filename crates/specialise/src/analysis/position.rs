//! Tracks the position of the packet in its buffer, and whether helpers that move the packet's
//! start or end succeed. The rules are those of `bpf_xdp_adjust_head`, `bpf_xdp_adjust_tail` and
//! `bpf_xdp_adjust_meta` in `net/core/filter.c` (Linux 6.18).
//!
//! The analysis may show that a call succeeds, but never that it fails. A call that is shown to
//! succeed also succeeds with more headroom and with less metadata.

use super::inputs::AnalysisInputs;
use crate::fault::{self, Fault};
use slowpath_bpf::insn::helper;
use slowpath_bpf::lift::{MAX_METADATA, Receive, TailRoom};
use std::ops::{Add, Sub};

/// Minimum packet length that the kernel enforces, in bytes (`ETH_HLEN`).
const LEAST: i64 = 14;
/// Maximum distance in bytes of a move of the packet's start or end. The analysis assumes that a
/// call with a larger distance may fail.
const FAR: i64 = 1 << 17;
/// Maximum length of metadata, in bytes.
const METADATA: i64 = MAX_METADATA as i64;

/// A range of integers, both ends included.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range(pub i64, pub i64);

impl Range {
    fn join(self, other: Range) -> Range {
        Range(self.0.min(other.0), self.1.max(other.1))
    }

    /// Returns the range with both ends clamped to the range `other`.
    fn clamp(self, other: Range) -> Range {
        Range(self.0.clamp(other.0, other.1), self.1.clamp(other.0, other.1))
    }

    /// Widens the range `self` towards `joined`: each end that has grown is replaced by that of
    /// `limit`, so that the analysis of loops ends.
    fn widen(self, joined: Range, limit: Range) -> Range {
        let low = if joined.0 < self.0 { limit.0 } else { joined.0 };
        Range(low, if joined.1 > self.1 { limit.1 } else { joined.1 })
    }
}

impl Add for Range {
    type Output = Range;

    fn add(self, other: Range) -> Range {
        Range(self.0 + other.0, self.1 + other.1)
    }
}

impl Sub for Range {
    type Output = Range;

    fn sub(self, other: Range) -> Range {
        Range(self.0 - other.1, self.1 - other.0)
    }
}

/// The position of the packet in its buffer. All positions are in bytes from the start of the
/// headroom.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct PacketPosition {
    /// Minimum and maximum position of the packet's first byte.
    pub start: Range,
    /// Maximum position of the packet's end.
    pub end: i64,
    /// Minimum and maximum length in bytes of the metadata in front of the packet. The length is a
    /// multiple of 4.
    pub metadata: Range,
    /// True if the metadata certainly lies within the headroom.
    inside: bool,
    /// True if the driver lets programs move the packet's start and end as far as the kernel's
    /// helpers allow.
    moves: bool,
    /// True if the driver lets programs use metadata in front of packets.
    supported: bool,
    /// Maximum position of the end of any packet, in bytes from the start of its buffer; `None` if
    /// it is not known.
    page: Option<i64>,
}

/// The effect of a helper call that moves the start or the end of the packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct MoveEffect {
    /// True if the call certainly succeeds.
    pub succeeds: bool,
    /// True if the outcome of the call depends on the headroom and tailroom of the packet.
    pub room: bool,
    /// Position of the packet after the call.
    pub placed: PacketPosition,
    /// Minimum and maximum length of the packet after the call, in bytes.
    pub length: Range,
}

impl PacketPosition {
    /// Returns the position of packets when the program starts. `length` is the minimum and maximum
    /// packet length in bytes.
    ///
    /// For drivers that use one page per packet, the result also covers the usual position of a
    /// received packet ([`Receive::PAGE`]).
    pub fn arrived(inputs: &AnalysisInputs<'_>, length: Range) -> PacketPosition {
        let receive = inputs.receive;
        let range = |(low, high): (u16, u16)| Range(low.into(), high.into());
        let environment = receive.packet_environment();
        let fixed = environment.head_room.0 == environment.head_room.1;
        let known = environment.head_room.0 >= environment.metadata.1;
        let page = page(receive);
        let received = Receive::PAGE.packet_environment();
        let around = page.map_or(environment, |_| environment.join(received));
        let (mut start, metadata) = (range(around.head_room), range(around.metadata));
        if !known {
            // Metadata may start at the first byte of the headroom.
            start.0 = 0;
        }
        let mut end = start.1 + length.1;
        if let Some(page) =
            page.filter(|_| !fixed && environment.head_room.1 > received.head_room.1)
        {
            // The packet ends in its page. The only exception is a longest packet that does not fit
            // there after the known headroom.
            let known = i64::from(environment.head_room.0).max(metadata.1);
            end = end.min(page.max(length.1 + known));
        }
        PacketPosition {
            start,
            end,
            metadata,
            inside: known || !fixed,
            moves: moves(receive),
            supported: receive.supports_metadata,
            page,
        }
    }

    /// Returns the position after a move of the packet's start or end by an unknown distance. It
    /// covers every possible result of the move.
    pub fn anywhere(self) -> PacketPosition {
        PacketPosition {
            start: PAGE,
            end: PAGE.1,
            metadata: Range(0, METADATA),
            inside: false,
            ..self
        }
    }

    /// Returns a position that covers the packets of `self` and those of `other`. If `widen` is
    /// true, ranges that grow are extended to their limits, so that the analysis of loops ends.
    pub fn join(self, other: PacketPosition, widen: bool) -> PacketPosition {
        let join = |a: Range, b: Range, limit| match widen {
            true => a.widen(a.join(b), limit),
            false => a.join(b),
        };
        PacketPosition {
            start: join(self.start, other.start, PAGE),
            end: if widen && other.end > self.end { PAGE.1 } else { self.end.max(other.end) },
            metadata: join(self.metadata, other.metadata, Range(0, METADATA)),
            inside: self.inside && other.inside,
            moves: self.moves,
            supported: self.supported,
            page: self.page,
        }
    }

    /// Returns the effect of the helper `called`, which moves the start or the end of the packet by
    /// `by` bytes. Returns `None` for other helpers. `length` is the range of packet lengths before
    /// the call.
    pub fn moved(self, called: i32, by: Range, length: Range) -> Option<MoveEffect> {
        let near = by.0 >= -FAR && by.1 < FAR;
        let by = by.clamp(Range(-FAR, FAR));
        let (mut placed, mut around) = (self, true);
        let (fits, new) = match called {
            helper::XDP_ADJUST_HEAD => {
                placed.start = self.start + by;
                let new = length - by;
                let first = placed.start.0 + i64::from(fault::has(Fault::RoomTooGreat));
                let inwards = self.inside && by.0 >= 0;
                around = !inwards;
                let room = inwards || first >= self.metadata.1;
                (room && new.0 >= LEAST && self.moves, new)
            }
            helper::XDP_ADJUST_TAIL => {
                placed.end = self.end.min(self.start.1 + length.1) + by.1;
                let new = length + by;
                // Shortening the packet at its tail needs no room.
                around = self.page.is_some() || by.1 > 0;
                let room = self.page.map_or(!around, |page| placed.end <= page);
                (room && new.0 >= LEAST && self.moves, new)
            }
            helper::XDP_ADJUST_META => {
                placed.metadata = self.metadata - by;
                let Range(shortest, longest) = placed.metadata;
                let words = by.0 == by.1 && by.0 % 4 == 0;
                let made = self.supported || self.metadata.0 > 0;
                let room = self.start.0 >= longest && self.moves && made;
                (room && words && shortest >= 0 && longest <= METADATA, length)
            }
            _ => return None,
        };
        let succeeds = near && fits;
        if !succeeds {
            // A call that may fail may leave the packet unchanged.
            placed = placed.join(self, false);
        }
        placed.start = placed.start.clamp(PAGE);
        placed.metadata = placed.metadata.clamp(Range(0, METADATA));
        let new = Range(new.0.max(LEAST.min(length.0)), new.1);
        let length = if succeeds { new } else { new.join(length) };
        Some(MoveEffect { succeeds, room: around, placed, length })
    }
}

/// A range that contains all positions in a packet's buffer.
const PAGE: Range = Range(0, 1 << 20);

/// Returns true if the driver lets programs move a packet's start and end as far as the kernel's
/// helpers allow.
fn moves(receive: Receive) -> bool {
    receive.max_head_trim.is_none() && receive.tail != TailRoom::TrimOnly
}

/// Returns the maximum position of the end of any packet, if it is known.
fn page(receive: Receive) -> Option<i64> {
    match receive.tail {
        TailRoom::Buffer(bytes) if moves(receive) => Some(bytes.into()),
        TailRoom::Buffer(_) | TailRoom::Bytes(..) | TailRoom::TrimOnly => None,
    }
}

#[cfg(test)]
mod tests;

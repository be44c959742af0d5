//! Where the packet lies in its page, and whether helpers that move its ends can fail: by what
//! `bpf_xdp_adjust_head`, `bpf_xdp_adjust_tail` and `bpf_xdp_adjust_meta` of `net/core/filter.c` look at
//! (Linux 6.18).
//!
//! That a call fails is never concluded. What is said to succeed does so with more room and less
//! metadata as well.

use super::setting::Setting;
use crate::fault::{self, Fault};
use slowpath_bpf::insn::helper;
use slowpath_bpf::lift::{MAX_METADATA, Receive, TailRoom};
use std::ops::{Add, Sub};

/// No packet gets shorter, in bytes (`ETH_HLEN`).
const LEAST: i64 = 14;
/// No end moves farther, in bytes.
const FAR: i64 = 1 << 17;
/// Longest metadata, in bytes.
const METADATA: i64 = MAX_METADATA as i64;

/// Numbers from the first to the second.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Range(pub i64, pub i64);

impl Range {
    fn join(self, other: Range) -> Range {
        Range(self.0.min(other.0), self.1.max(other.1))
    }

    /// What is also in the other; that where nothing is.
    fn clamp(self, other: Range) -> Range {
        Range(self.0.clamp(other.0, other.1), self.1.clamp(other.0, other.1))
    }

    /// As far as it goes where joining it with another one made it greater.
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

/// Where it lies, in bytes behind the first one of the room in front of it.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Placed {
    /// Its first byte.
    pub start: Range,
    /// The byte behind its last one, at most.
    pub end: i64,
    /// How long the metadata in front of it is, a whole number of words.
    pub metadata: Range,
    /// Whether that is for sure in the room.
    inside: bool,
    /// Whether its ends move as the kernel moves them.
    moves: bool,
    /// Whether the driver supports metadata.
    supported: bool,
    /// Where the last byte can be at most, if that is known.
    page: Option<i64>,
}

/// What a helper does that moves an end of the packet.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Moved {
    /// Whether it does so in any case.
    pub succeeds: bool,
    /// Whether that rests on what lies around the packet.
    pub room: bool,
    /// Where the packet lies then.
    pub placed: Placed,
    /// How long it is then, in bytes.
    pub length: Range,
}

impl Placed {
    /// A packet of a length, with what is known to be around it when it arrives.
    ///
    /// In a page, what is said is right for packets that were just received as well.
    pub fn arrived(setting: &Setting<'_>, length: Range) -> Placed {
        let receive = setting.receive;
        let range = |(low, high): (u16, u16)| Range(low.into(), high.into());
        let surroundings = receive.around();
        let fixed = surroundings.head_room.0 == surroundings.head_room.1;
        let known = surroundings.head_room.0 >= surroundings.metadata.1;
        let page = page(receive);
        let received = Receive::PAGE.around();
        let around = page.map_or(surroundings, |_| surroundings.join(received));
        let (mut start, metadata) = (range(around.head_room), range(around.metadata));
        if !known {
            // What comes in front of metadata.
            start.0 = 0;
        }
        let mut end = start.1 + length.1;
        if let Some(page) =
            page.filter(|_| !fixed && surroundings.head_room.1 > received.head_room.1)
        {
            // There is as much room as the packet leaves, or as much as is known to be there.
            let known = i64::from(surroundings.head_room.0).max(metadata.1);
            end = end.min(page.max(length.1 + known));
        }
        Placed {
            start,
            end,
            metadata,
            inside: known || !fixed,
            moves: moves(receive),
            supported: receive.supports_metadata,
            page,
        }
    }

    /// What may be after anything has moved it.
    pub fn anywhere(self) -> Placed {
        Placed { start: PAGE, end: PAGE.1, metadata: Range(0, METADATA), inside: false, ..self }
    }

    /// What holds where either does. With `widen`, so that a sequence of it ends.
    pub fn join(self, other: Placed, widen: bool) -> Placed {
        let join = |a: Range, b: Range, limit| match widen {
            true => a.widen(a.join(b), limit),
            false => a.join(b),
        };
        Placed {
            start: join(self.start, other.start, PAGE),
            end: if widen && other.end > self.end { PAGE.1 } else { self.end.max(other.end) },
            metadata: join(self.metadata, other.metadata, Range(0, METADATA)),
            inside: self.inside && other.inside,
            moves: self.moves,
            supported: self.supported,
            page: self.page,
        }
    }

    /// What a call of a helper does to a packet of a length, if it moves an end by so much.
    pub fn moved(self, called: i32, by: Range, length: Range) -> Option<Moved> {
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
                // Cutting it needs no room.
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
            // Perhaps nothing has moved.
            placed = placed.join(self, false);
        }
        placed.start = placed.start.clamp(PAGE);
        placed.metadata = placed.metadata.clamp(Range(0, METADATA));
        let new = Range(new.0.max(LEAST.min(length.0)), new.1);
        let length = if succeeds { new } else { new.join(length) };
        Some(Moved { succeeds, room: around, placed, length })
    }
}

/// Where anything of a packet can be.
const PAGE: Range = Range(0, 1 << 20);

/// Whether the ends of a packet move as the kernel moves them.
fn moves(receive: Receive) -> bool {
    receive.cut.is_none() && receive.tail != TailRoom::Cut
}

/// Where the last byte of a packet can be, if that is known.
fn page(receive: Receive) -> Option<i64> {
    match receive.tail {
        TailRoom::Buffer(bytes) if moves(receive) => Some(bytes.into()),
        TailRoom::Buffer(_) | TailRoom::Bytes(..) | TailRoom::Cut => None,
    }
}

#[cfg(test)]
mod tests;

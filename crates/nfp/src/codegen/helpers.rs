//! The kernel's helpers that the card has, and how many argument registers each reads.

pub(super) const MAP_LOOKUP: i32 = 1;
pub(super) const MAP_UPDATE: i32 = 2;
pub(super) const MAP_DELETE: i32 = 3;
pub(super) const RANDOM: i32 = 7;
pub(super) const PERF_OUTPUT: i32 = 25;
pub(super) const ADJUST_HEAD: i32 = 44;
pub(super) const ADJUST_TAIL: i32 = 65;

/// How many argument registers a helper reads; of one that the card does not have, all.
pub(super) fn arguments(number: i32) -> u8 {
    match number {
        RANDOM => 0,
        MAP_LOOKUP | MAP_DELETE | ADJUST_HEAD | ADJUST_TAIL => 2,
        MAP_UPDATE => 4,
        _ => 5,
    }
}

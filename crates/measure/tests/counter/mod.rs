//! Programs with a counter in an array of one element.

use std::sync::Arc;

use crate::assembled::{ADD, EXIT, insn, object, result};

/// Stores `r1` into the counter.
pub const PUT_COUNTER: [u8; 8] = insn(0x7b, 7, 1, 0, 0);

/// Builds a program from a body that starts with the counter in `r1`, its address in `r7`, and 64
/// bytes of the packet at `r8`.
pub fn counter(body: &[[u8; 8]]) -> Arc<slowpath_bpf::Object> {
    let before = [
        insn(0x61, 8, 1, 0, 0),
        insn(0x61, 2, 1, 4, 0),
        insn(0xbf, 3, 8, 0, 0),
        insn(ADD, 3, 0, 0, 64),
        insn(0x2d, 3, 2, 7, 0),
        insn(0x62, 10, 0, -4, 0),
        insn(0xbf, 2, 10, 0, 0),
        insn(ADD, 2, 0, 0, -4),
        insn(0x18, 1, 0, 0, 0),
        insn(0, 0, 0, 0, 0),
        insn(0x85, 0, 0, 0, 1),
        insn(0x55, 0, 0, 2, 0),
        result(0),
        EXIT,
        insn(0xbf, 7, 0, 0, 0),
        insn(0x79, 1, 7, 0, 0),
    ];
    object([2, 4, 8, 1], &[&before, body].concat())
}

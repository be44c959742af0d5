//! Applies the limits of the kernel on loops: iterations of `bpf_loop` (`kernel/bpf/bpf_iter.c`)
//! and the counter of `may_goto` (`do_misc_fixups` of `kernel/bpf/verifier.c`).

use crate::insn::helper::LOOP;
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::lifter::Lifter;
use crate::lift::visit_limits::{BlockOrPoint, Limit};

/// Maximum number of iterations of `bpf_loop`, and of `may_goto` jumps in one function call
/// (`BPF_MAX_LOOPS`).
pub(in crate::lift) const MAX_LOOPS: u64 = 8 << 20;

impl Lifter<'_> {
    /// Limits the number of times that a run reaches the loop test of a helper, which calls a
    /// callback at most `iterations` times. The test is reached once more at the end of the loop.
    pub fn limit_callbacks(&mut self, at: ProgramPoint, number: i32, iterations: u64) {
        let by = if number == LOOP { "bpf_loop" } else { "bpf_for_each_map_elem" };
        let limit = Limit {
            block: BlockOrPoint::Point(at.with(Phase::LoopTest)),
            since: BlockOrPoint::Block(self.site().0),
            most: iterations.saturating_add(1),
            by: by.into(),
            condition: None,
        };
        self.visit_limits.set(at, limit);
    }

    /// Limits the number of times that a run reaches a `may_goto` instruction. Every function call
    /// resets the kernel's counter. The instruction is reached once more when the counter is zero.
    pub fn limit_may_goto(&mut self, at: ProgramPoint) {
        let function = self.frames.get(at.frame).function;
        let entry = ProgramPoint { frame: at.frame, slot: function, phase: Phase::Start };
        let condition = format!(
            "the kernel ends may_goto after {MAX_LOOPS} rounds (from Linux 6.15 on, x86-64 ends it \
             after 250 ms instead)"
        );
        let limit = Limit {
            block: BlockOrPoint::Block(self.site().0),
            since: BlockOrPoint::Point(entry),
            most: MAX_LOOPS + 1,
            by: "may_goto".into(),
            condition: Some(condition),
        };
        self.visit_limits.set(at, limit);
    }
}

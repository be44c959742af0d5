//! How often the kernel lets blocks run, whatever the program says: rounds of `bpf_loop`
//! (`kernel/bpf/bpf_iter.c`), the counter of `may_goto` (`do_misc_fixups` of
//! `kernel/bpf/verifier.c`).

use std::collections::{BTreeMap, HashMap};

use slowpath_ir::{BlockId, VisitLimit};

use crate::insn::helper::LOOP;
use crate::lift::frame::{Phase, ProgramPoint};
use crate::lift::lifter::Lifter;

/// `BPF_MAX_LOOPS`: rounds of `bpf_loop`, and of `may_goto` in one call of a function.
pub(in crate::lift) const MAX_LOOPS: u64 = 8 << 20;

/// A block that has been lifted, or the point where one begins.
#[derive(Clone, Copy, Debug)]
enum Place {
    Block(BlockId),
    Point(ProgramPoint),
}

#[derive(Clone, Debug)]
struct Limit {
    block: Place,
    since: Place,
    most: u64,
    by: String,
    condition: Option<String>,
}

/// Limits by the instruction that they are about; blocks are lifted again, and the last time counts.
#[derive(Clone, Debug, Default)]
pub(in crate::lift) struct VisitLimits(BTreeMap<ProgramPoint, Limit>);

impl VisitLimits {
    /// The limits, once all blocks have numbers.
    pub fn resolved(&self, ids: &HashMap<ProgramPoint, BlockId>) -> Vec<VisitLimit> {
        let id = |place| match place {
            Place::Block(id) => Some(id),
            Place::Point(point) => ids.get(&point).copied(),
        };
        let resolved = |limit: &Limit| {
            Some(VisitLimit {
                block: id(limit.block)?,
                since: id(limit.since)?,
                most: limit.most,
                by: limit.by.clone(),
                condition: limit.condition.clone(),
            })
        };
        self.0.values().filter_map(resolved).collect()
    }
}

impl Lifter<'_> {
    /// The call of a helper that calls back at most `rounds` times is being lifted. The test behind
    /// the last round is one run more.
    pub fn limit_callbacks(&mut self, at: ProgramPoint, number: i32, rounds: u64) {
        let by = if number == LOOP { "bpf_loop" } else { "bpf_for_each_map_elem" };
        let limit = Limit {
            block: Place::Point(at.with(Phase::LoopTest)),
            since: Place::Block(self.site().0),
            most: rounds.saturating_add(1),
            by: by.into(),
            condition: None,
        };
        self.visit_limits.0.insert(at, limit);
    }

    /// A `may_goto` is being lifted. Every call of a function starts the counter anew, and the run
    /// that finds it used up is one more.
    pub fn limit_may_goto(&mut self, at: ProgramPoint) {
        let function = self.frames.get(at.frame).function;
        let entry = ProgramPoint { frame: at.frame, slot: function, phase: Phase::Start };
        let condition = format!(
            "the kernel ends may_goto after {MAX_LOOPS} rounds (from Linux 6.15 on, x86-64 ends it \
             after 250 ms instead)"
        );
        let limit = Limit {
            block: Place::Block(self.site().0),
            since: Place::Point(entry),
            most: MAX_LOOPS + 1,
            by: "may_goto".into(),
            condition: Some(condition),
        };
        self.visit_limits.0.insert(at, limit);
    }
}

//! Emits branches and loops of generated programs.

use slowpath_bpf::insn::{AluOp, Condition, Insn, Register, Source, Width};

use super::{Emitter, pick, reg};
use crate::state::{Kind, Range, VerifierState};
use crate::statement::{Stmt, Test};

/// Maximum number of attempts to find a fixed point: a register state at a loop's head that holds
/// before every iteration.
const ATTEMPTS: usize = 8;

impl Emitter<'_> {
    /// Emits a conditional jump whose target is set later. Returns the slot of the jump. Returns
    /// `None` if no register holds a scalar.
    pub(super) fn conditional(&mut self, test: &Test) -> Option<usize> {
        let dst = self.scalar(test.left)?;
        let src = self.source_beside(dst, test.right)?;
        let width = match test.width {
            Width::W32 if self.features.jump32 => Width::W32,
            Width::W64 if !self.features.wide && self.features.jump32 => Width::W32,
            _ => Width::W64,
        };
        let cond = test.condition;
        Some(self.jump(Insn::Branch { width, cond, dst, src, offset: 0 }))
    }

    pub(super) fn branches(&mut self, test: &Test, taken: &[Stmt], other: &[Stmt]) -> Option<()> {
        let at = self.conditional(test)?;
        let mut states = [self.state.clone(), self.state.clone()];
        if let Some(&Insn::Branch { width: Width::W64, cond, dst, src: Source::Imm(value), .. }) =
            self.code.last()
            && let Some(range) = self.state.range(dst)
            && self.features.refined_ranges
        {
            for (state, holds) in states.iter_mut().zip([true, false]) {
                if let Some(range) = refine(range, cond, value, holds) {
                    state.set(dst, Kind::Scalar(range));
                }
            }
        }
        let [if_taken, if_not] = states;
        self.emit_branches(at, (if_taken, taken), (if_not, other))
    }

    /// Emits both branches of the conditional jump in slot `at`: the statements `taken` at the
    /// jump's target, and `other` right after the jump. `if_taken` and `if_not` are the
    /// states of registers and stack with which the branches start.
    pub(super) fn emit_branches(
        &mut self,
        at: usize,
        (if_taken, taken): (VerifierState, &[Stmt]),
        (if_not, other): (VerifierState, &[Stmt]),
    ) -> Option<()> {
        self.state = if_not;
        self.block(other);
        let after_other = self.state.clone();
        let over = Insn::Jump { offset: 0, long: false };
        let over = (after_other.paths > 0).then(|| self.jump(over));
        self.land(at);
        let start = self.code.len();
        self.state = if_taken;
        self.block(taken);
        if self.code.len() == start {
            // The branch is empty, so no jump over it is needed.
            if over.is_some() {
                self.code.pop();
            }
            self.land(at);
            if self.code.len() == at + 1 {
                return None;
            }
        } else if let Some(over) = over {
            self.land(over);
        }
        self.state = self.state.join(&after_other);
        Some(())
    }

    pub(super) fn iterations(&mut self, iterations: u8, up: bool, body: &[Stmt]) -> Option<()> {
        let iterations = iterations.max(1);
        if !self.features.loops {
            return None;
        }
        let saved = [reg(6), reg(7), reg(8), reg(9)];
        let usable: Vec<Register> =
            saved.into_iter().filter(|register| !self.reserved.contains(register)).collect();
        // The body needs at least one other register.
        let counter = pick(&usable, 0).filter(|_| usable.len() > 1)?;
        self.set(counter, if up { 0 } else { iterations.into() });
        let counts = Kind::Scalar(Range { min: 0, max: iterations.into() });
        self.state.set(counter, counts);
        self.reserved.push(counter);
        let (paths, ended) = (self.state.paths, self.ended);
        let mut head = self.state.clone();
        head.paths = 1;
        for _ in 0..ATTEMPTS {
            let mut attempt = self.clone();
            attempt.state = head.clone();
            attempt.ended = 0;
            attempt.breaks = Some(Vec::new());
            attempt.block(body);
            if attempt.state.paths == 0 || attempt.code.len() == self.code.len() {
                return None;
            }
            let next = head.widen(&attempt.state);
            if next == head {
                attempt.end_of_loop(counter, up.then_some(iterations), self.code.len());
                let breaks = std::mem::replace(&mut attempt.breaks, self.breaks.clone());
                let broken = breaks.iter().flatten().map(|(_, state)| state.paths);
                let broken = broken.fold(0, u64::saturating_add);
                let (per_iteration, exits) = (attempt.state.paths, attempt.ended);
                let (mut entering, mut leaving_by_break, mut exiting) = (paths, 0u64, ended);
                for _ in 0..iterations {
                    exiting = exiting.saturating_add(entering.saturating_mul(exits));
                    leaving_by_break =
                        leaving_by_break.saturating_add(entering.saturating_mul(broken));
                    entering = entering.saturating_mul(per_iteration);
                }
                for (at, state) in breaks.iter().flatten() {
                    attempt.land(*at);
                    attempt.state = attempt.state.join(state);
                }
                attempt.state.paths = entering.saturating_add(leaving_by_break);
                attempt.ended = exiting;
                attempt.reserved.pop();
                *self = attempt;
                return Some(());
            }
            head = next;
        }
        None
    }

    pub(super) fn leave_loop(&mut self, test: &Test) -> Option<()> {
        self.breaks.as_ref()?;
        let at = self.conditional(test)?;
        let state = self.state.clone();
        self.breaks.as_mut()?.push((at, state));
        Some(())
    }

    /// Emits the end of a loop whose body starts at slot `head`: the step of the counter and the
    /// jump back. With `limit`, the counter counts up to `limit`, otherwise it counts down to 0.
    fn end_of_loop(&mut self, counter: Register, limit: Option<u8>, head: usize) {
        let (step, cond, bound) = match limit {
            Some(limit) => (1, Condition::Lt, i32::from(limit)),
            None => (-1, Condition::Ne, 0),
        };
        let counts = self.state.get(counter);
        self.alu(AluOp::Add, Width::W64, counter, Source::Imm(step));
        self.state.set(counter, counts);
        let offset = head as i16 - self.code.len() as i16 - 1;
        let src = Source::Imm(bound);
        self.code.push(Insn::Branch { width: Width::W64, cond, dst: counter, src, offset });
    }
}

/// Returns the part of `range` in which a comparison of a 64-bit number with an immediate has the
/// result `holds`. Returns `None` if the comparison cannot have this result.
fn refine(range: Range, condition: Condition, value: i32, holds: bool) -> Option<Range> {
    let Ok(value) = u64::try_from(value) else { return Some(range) };
    let least = |min| Some(Range { min, max: u64::MAX });
    let most = |max| Some(Range { min: 0, max });
    let by = match (condition, holds) {
        (Condition::Eq, true) | (Condition::Ne, false) => Some(Range::exactly(value)),
        (Condition::Gt, true) | (Condition::Le, false) => least(value + 1),
        (Condition::Ge, true) | (Condition::Lt, false) => least(value),
        (Condition::Lt, true) | (Condition::Ge, false) => most(value.checked_sub(1)?),
        (Condition::Le, true) | (Condition::Gt, false) => most(value),
        _ => None,
    };
    by.map_or(Some(range), |by| range.meet(by))
}

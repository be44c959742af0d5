//! Lifts the end of a program: depending on the return code, the run ends, or a handover passes the
//! packet to another program.

use slowpath_codes as codes;
use slowpath_ir::{Emit, Operand};

use crate::lift::error::{Cause, INTERNAL};
use crate::lift::frame::{Frame, Phase, ProgramPoint};
use crate::lift::lifter::{Lifter, Next};
use crate::lift::options::Handover;

impl Lifter<'_> {
    /// Lifts the end of a program: tests whether its return code triggers handover `number`, which
    /// passes the packet to another program. If the program has no handover with this number, the
    /// run ends. Handovers with lower numbers were tested before and do not apply.
    pub fn hand_over(&mut self, at: ProgramPoint, number: u32) -> Next {
        let Some(handover) = self.handover(at, number) else {
            let result = self.ir.base(self.ir.result);
            let r0 = self.ir.value(0);
            self.ir.emit.store(result, r0);
            return Next::Exit;
        };
        let (results, mask) = (handover.results.clone(), handover.mask);
        let r0 = self.ir.value(0);
        let mut r0 = self.ir.emit.extract(r0, 0, 32);
        if mask != u32::MAX {
            r0 = self.ir.emit.and(r0, Operand::constant(32, mask.into()));
        }
        let mut applies = Operand::constant(1, 0);
        for result in results {
            let same = self.ir.emit.eq(r0, Operand::constant(32, result.into()));
            applies = self.ir.emit.or(applies, same);
        }
        Next::Branch(applies, at.with(Phase::Next(number)), at.with(Phase::Handover(number + 1)))
    }

    /// Enters the program that receives the packet by handover `number` (a transition to another
    /// program), possibly on another device.
    pub fn run_next(&mut self, at: ProgramPoint, number: u32) -> Result<Next, Cause> {
        let lost = || Cause::new(codes::INTERNAL_ERROR, "a handover is lost", INTERNAL);
        let Handover { to, network, .. } = self.handover(at, number).ok_or_else(lost)?.clone();
        if let Some(network) = network {
            self.transmit(at, &network);
        }
        // The tail call count starts at zero in each program that the kernel runs.
        let count = self.ir.start_zero("tail calls", 64);
        self.ir.emit.copy(count, Operand::constant(64, 0));
        let unit = self.code.unit_of(self.object, to, self.options)?;
        let frame = self.frames.id(Frame { unit, run: unit, function: 0, depth: 0, ret: None });
        self.restart(0);
        self.draw_uninit(unit, 0, 0);
        Ok(Next::To(ProgramPoint { frame, slot: 0, phase: Phase::Start }))
    }

    /// Returns handover `number` (a transition to another program) of the program that contains a
    /// point; `None` if the program has fewer handovers.
    fn handover(&self, at: ProgramPoint, number: u32) -> Option<&Handover> {
        let from = self.code.program(self.frames.get(at.frame).run).number;
        self.options.handovers.iter().filter(|handover| handover.from == from).nth(number as usize)
    }
}

//! Lifts calls of the program's own functions, which are inlined, and returns from them.

use crate::lift::error::{Cause, VERIFIER};
use crate::lift::frame::{Frame, Phase, ProgramPoint};
use crate::lift::lifter::{Lifter, Next};
use crate::lift::state::value::AbstractValue;
use slowpath_codes as codes;

/// Maximum nesting of calls (`MAX_CALL_FRAMES` of the kernel).
const MAX_FRAMES: u8 = 8;

impl Lifter<'_> {
    /// Enters a function that returns to the program point `ret`; the argument registers must
    /// already be set.
    pub fn enter_function(
        &mut self,
        at: ProgramPoint,
        function: usize,
        ret: ProgramPoint,
    ) -> Result<ProgramPoint, Cause> {
        let frame = self.frames.get(at.frame);
        let (unit, run, depth) = (frame.unit, frame.run, frame.depth + 1);
        if self.frames.running(at.frame, unit, function) {
            return Err(Cause::new(
                codes::REJECTED_BY_VERIFIER,
                "a function calls itself",
                VERIFIER,
            ));
        }
        if depth >= MAX_FRAMES {
            let text = format!("calls are nested more than {MAX_FRAMES} deep");
            return Err(Cause::new(codes::REJECTED_BY_VERIFIER, text, VERIFIER));
        }
        let frame = self.frames.id(Frame { unit, run, function, depth, ret: Some(ret) });
        self.state.call(depth);
        self.ir.enter(depth);
        self.draw_uninit(unit, function, depth);
        Ok(ProgramPoint { frame, slot: function, phase: Phase::Start })
    }

    /// Lifts an exit instruction, which ends a function or the program.
    pub fn exit(&mut self, at: ProgramPoint) -> Result<Next, Cause> {
        self.cost(at, "exit");
        Ok(self.leave(at))
    }

    /// Ends the current function. The run continues after the call of the function; if no function
    /// called it, the program ends.
    pub fn leave(&mut self, at: ProgramPoint) -> Next {
        let Some(ret) = self.frames.get(at.frame).ret else {
            return self.hand_over(at, 0);
        };
        let depth = self.frames.get(ret.frame).depth;
        self.state.ret(depth);
        // A function cannot return a pointer into a stack frame (`prepare_func_exit` of the
        // kernel's verifier). It can return a pointer into a map element.
        if let AbstractValue::Frame { .. } | AbstractValue::Unknown = self.state.regs[0] {
            self.state.regs[0] = AbstractValue::MaybeMapValue;
        }
        Next::To(ret)
    }
}

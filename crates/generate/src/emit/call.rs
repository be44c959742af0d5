//! Emits calls of helpers and of the program's functions.

use slowpath_bpf::insn::helper::GET_PRANDOM_U32;
use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Source, Width};

use super::{Emitter, pick, reg};
use crate::state::{Kind, Range};
use crate::statement::{Delta, Operand, Pick};

/// Return code of a generated program whose call to move the start or end of the packet failed.
const FAILED: i32 = 0;

impl Emitter<'_> {
    /// Checks that a call can be emitted now. Returns `None` if it would overwrite the register
    /// that holds the pointer to the XDP context.
    pub(super) fn before_call(&self) -> Option<()> {
        (self.context != Some(reg(1))).then_some(())
    }

    pub(super) fn helper(&mut self, number: i32) {
        self.code.push(Insn::Call(Call::Helper(number)));
        self.after_call();
    }

    fn after_call(&mut self) {
        for argument in 1..=5 {
            self.state.set(reg(argument), Kind::Nothing);
        }
        self.state.set(Register::R0, Kind::Scalar(Range::ANY));
    }

    pub(super) fn random(&mut self) -> Option<()> {
        self.before_call().filter(|()| self.features.random)?;
        self.helper(GET_PRANDOM_U32);
        Some(())
    }

    pub(super) fn adjust(&mut self, helper: i32, delta: Delta, check: bool) -> Option<()> {
        self.before_call().filter(|()| self.features.helpers)?;
        let context = self.context?;
        let argument = reg(2);
        match delta {
            Delta::Constant(by) => self.set(argument, by),
            Delta::Variable(choice, mask, negative) => {
                let scalar = self.scalar(choice)?;
                self.copy_register(argument, scalar);
                self.mask(argument, mask.into())?;
                if negative {
                    let width = self.width(Width::W64);
                    self.code.push(Insn::Neg { width, dst: argument });
                }
            }
        }
        self.copy_register(reg(1), context);
        self.helper(helper);
        self.state.packet_moved();
        if check {
            let (width, cond, src) = (Width::W64, Condition::Ne, Source::Imm(0));
            let at = self.jump(Insn::Branch { width, cond, dst: Register::R0, src, offset: 0 });
            self.pending_exits.push((at, FAILED));
            self.ended = self.ended.saturating_add(self.state.paths);
        }
        Some(())
    }

    pub(super) fn call(&mut self, function: Pick, arguments: &[Operand; 3]) -> Option<()> {
        self.before_call()?;
        let number = usize::from(function).checked_rem(self.callees.len())?;
        let callee = pick(self.callees, function)?;
        for (to, operand) in (1..=callee.arguments).zip(arguments) {
            let src = self.source(*operand)?;
            self.alu(AluOp::Mov, Width::W64, reg(to), src);
        }
        // Store the callee's index, because its offset is known only after all functions are
        // emitted.
        self.code.push(Insn::Call(Call::Subprogram { offset: number as i32 }));
        self.after_call();
        self.state.paths = self.state.paths.saturating_mul(callee.paths);
        Some(())
    }
}

//! Implements the transfer function, which applies one operation to a state.

use slowpath_domain::Domain;
use slowpath_ir::{InputKind, Op, Operand};

use crate::memory::can_track;
use crate::options::Setting;
use crate::state::AbstractState;
use crate::value::{Origin, Value};
use crate::value_number::{Arg, Def, ValueNumber};

impl AbstractState {
    fn arg(&mut self, operand: Operand) -> Arg {
        match operand {
            Operand::Const { value, width } => Arg::Const(value, width),
            Operand::Reg(reg) => {
                let number = self.number_of(reg);
                match self.values[number as usize].value {
                    Value { domain, origin: None } if domain.as_constant().is_some() => {
                        Arg::Const(domain.lo(), domain.width())
                    }
                    _ => Arg::Number(number),
                }
            }
        }
    }

    /// Updates the abstract state to that after one operation.
    pub(crate) fn step(&mut self, setting: &Setting, op: &Op) {
        if let Op::Store { addr, value } = *op {
            let (addr, value) = (self.arg(addr), self.operand_number(value));
            self.store(setting, addr, value);
            return;
        }
        if let Op::Clear { addr, .. } = *op {
            let addr = self.arg(addr);
            self.forget(addr);
            return;
        }
        let Some(dst) = op.dst() else { return };
        let width = setting.program.width(dst);
        let number = self.result(setting, op, width);
        self.regs[dst.index()] = Some(number);
    }

    fn operand_number(&mut self, operand: Operand) -> ValueNumber {
        match operand {
            Operand::Reg(reg) => self.number_of(reg),
            Operand::Const { value, width } => self.number_of_arg(Arg::Const(value, width)),
        }
    }

    fn result(&mut self, setting: &Setting, op: &Op, width: u8) -> ValueNumber {
        let def = match *op {
            Op::Copy { src, .. } => return self.operand_number(src),
            Op::Binary { op, a, b, .. } => Def::Binary(op, self.arg(a), self.arg(b)),
            Op::Not { src, .. } => Def::Not(self.arg(src)),
            Op::Extract { src, lo, .. } => Def::Extract(self.arg(src), lo),
            Op::ZeroExtend { src, .. } => Def::ZeroExtend(self.arg(src)),
            Op::SignExtend { src, .. } => Def::SignExtend(self.arg(src)),
            Op::Select { cond, then, other, .. } => {
                Def::Select(self.arg(cond), self.arg(then), self.arg(other))
            }
            Op::Input { input, .. } => {
                let info = &setting.program.inputs[input.index()];
                let origin = match info.kind {
                    InputKind::BaseAddress(region) if can_track(width) => {
                        Some(Origin { region, offset: Domain::constant(width, 0), or_null: false })
                    }
                    _ => None,
                };
                let domain = Domain::range(width, info.min, info.max);
                return self.fresh(Value { domain, origin });
            }
            Op::Unknown { min, max, .. } => {
                return self.fresh(Value::scalar(Domain::range(width, min, max)));
            }
            Op::Load { addr, .. } => {
                let addr = self.arg(addr);
                return self.load(setting, addr, width / 8);
            }
            Op::Store { .. } | Op::Clear { .. } | Op::Rely { .. } => {
                return self.fresh(Value::full(width));
            }
        };
        self.define(def, width)
    }
}

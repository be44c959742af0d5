//! Lifts multiplications, which take several `mul_step` instructions.
//!
//! The product is computed from the operands of `start`. A block must contain all steps of a
//! multiplication in order.

use slowpath_ir::{BinaryOp, Emit};

use super::core_state::{ArchReg, CoreState};
use super::delayed_effects::Multiplication;
use super::error::LiftCause;
use crate::{MulStep, Operand};

impl CoreState {
    /// Lifts `mul_step[a, b], step`, one step of a multiplication.
    pub(super) fn mul_step(
        &mut self,
        a: Operand,
        b: Operand,
        step: MulStep,
        both_banks: bool,
    ) -> Result<(), LiftCause> {
        use MulStep::{Last16x16, Last24x8, Last32x32, Last32x32High, Start, Step24x8};
        if matches!(step, Step24x8 | Last24x8) {
            return Err(LiftCause::MulUnsupported { step: step.text() });
        }
        if step == Start {
            let [first, second] = [a, b].map(|factor| {
                let value = self.source(factor);
                self.emit.zero_extend(value, 64)
            });
            let product = self.emit.binary(BinaryOp::Mul, first, second);
            self.multiplication = Some(Multiplication { operands: (a, b), product, last: step });
        } else {
            let multiplication = self.continued(step)?;
            match step {
                Last16x16 | Last32x32 => self.deliver_product(multiplication, 0, a, both_banks),
                Last32x32High => self.deliver_product(multiplication, 32, a, both_banks),
                _ if multiplication.operands != (a, b) => {
                    return Err(LiftCause::MulFactors { step: step.text() });
                }
                _ => {}
            }
        }
        if !step.writes_result() {
            self.undefine(ArchReg::Previous, "the previous ALU result");
        }
        Ok(())
    }

    /// Returns the unfinished multiplication that `step` continues, or an error if there is none.
    fn continued(&mut self, step: MulStep) -> Result<Multiplication, LiftCause> {
        let possible = |last: MulStep| {
            use MulStep::{
                Last16x16, Last32x32, Last32x32High, Start, Step16x16First, Step16x16Second,
                Step32x32First, Step32x32Fourth, Step32x32Second, Step32x32Third,
            };
            matches!(
                (last, step),
                (Start, Step16x16First | Step32x32First)
                    | (Step16x16First, Step16x16Second)
                    | (Step16x16Second, Last16x16)
                    | (Step32x32First, Step32x32Second)
                    | (Step32x32Second, Step32x32Third)
                    | (Step32x32Third, Step32x32Fourth)
                    | (Step32x32Fourth, Last32x32 | Last32x32High)
                    | (Last32x32, Last32x32High)
            )
        };
        match &mut self.multiplication {
            Some(multiplication) if possible(multiplication.last) => {
                multiplication.last = step;
                Ok(*multiplication)
            }
            other => {
                let before = other.map_or("a block without `start`".to_owned(), |m| {
                    format!("`{}`", m.last.text())
                });
                Err(LiftCause::MulOrder { step: step.text(), before })
            }
        }
    }

    fn deliver_product(&mut self, of: Multiplication, lo: u8, dst: Operand, both_banks: bool) {
        let result = self.emit.extract(of.product, lo, 32);
        self.set_zero_negative(result);
        for flag in [ArchReg::Carry, ArchReg::Overflow, ArchReg::Less] {
            self.undefine(flag, "carry and overflow");
        }
        self.low_half = None;
        self.write_result(dst, result, both_banks);
    }
}

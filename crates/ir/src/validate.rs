//! Checks that a program of the intermediate representation is well formed. Later stages rely on
//! the checked properties.

use crate::{BinaryOp, Destination, Draw, Op, Operand, OriginOp, Program, Terminator, ValueFormat};
use thiserror::Error;

/// The error for a malformed program. It is always a defect of the front end, never of the user's
/// input.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("internal error in the lifted program at instruction {insn}: {what}")]
pub struct ValidateError {
    /// Number of the instruction whose operations are malformed.
    pub insn: u32,
    /// Description of the defect.
    pub what: String,
}

impl Program {
    /// Checks the widths, indices and branch targets of the program.
    ///
    /// # Errors
    /// Returns an error for the first malformed operation.
    pub fn validate(&self) -> Result<(), ValidateError> {
        for origin in self.prologue.iter().chain(self.blocks.iter().flat_map(|b| &b.ops)) {
            self.validate_op(origin)?;
        }
        for block in &self.blocks {
            let fail = |what: String| Err(ValidateError { insn: block.first.0, what });
            if let Terminator::Branch { cond, .. } = block.terminator
                && self.regs.get(cond.index()).is_none_or(|reg| reg.width != 1)
            {
                return fail("the branch condition is not one bit".into());
            }
            for edge in block.terminator.edges() {
                if matches!(edge.target, Destination::Block(next) if next.index() >= self.blocks.len())
                {
                    return fail("a branch leads to a block that does not exist".into());
                }
                let events = block.costs.iter().chain(&edge.costs);
                for event in events {
                    if event.class.index() >= self.cost_classes.len() {
                        return fail("a cost event has no class".into());
                    }
                }
            }
        }
        if self.entry.index() >= self.blocks.len() {
            return Err(ValidateError { insn: 0, what: "there is no entry block".into() });
        }
        Ok(())
    }

    /// Returns true if the report format of `draw` can show all values of a register of `width`
    /// bits up to `max`.
    fn is_presentable(&self, draw: &Draw, width: u8, max: u64) -> bool {
        match &draw.reading {
            ValueFormat::Number | ValueFormat::Error => true,
            ValueFormat::Signed => width == 64,
            ValueFormat::Bytes => width.is_multiple_of(8),
            ValueFormat::Time(start) => self.inputs.get(start.index()).is_some(),
            ValueFormat::OneOf(values) => max < values.len() as u64,
            ValueFormat::Names(names) => max < names.len() as u64,
            ValueFormat::Choices(names) => max < names.len() as u64,
        }
    }

    fn validate_op(&self, origin: &OriginOp) -> Result<(), ValidateError> {
        let fail = |what: &str| {
            Err(ValidateError { insn: origin.insn.0, what: format!("{what}: {:?}", origin.op) })
        };
        let width_of = |operand: Operand| match operand {
            Operand::Reg(reg) => self.regs.get(reg.index()).map_or(0, |info| info.width),
            Operand::Const { width, value } if value & !crate::op::mask(width) == 0 => width,
            Operand::Const { .. } => 0,
        };
        if origin.op.operands().any(|operand| !(1..=64).contains(&width_of(operand))) {
            return fail("an operand has no valid width");
        }
        let width = origin.op.dst().map(|dst| width_of(dst.into()));
        if width.is_some_and(|w| !(1..=64).contains(&w)) {
            return fail("the destination has no valid width");
        }
        let width = width.unwrap_or(0);
        let fits = match origin.op {
            Op::Copy { src, .. } | Op::Not { src, .. } => width_of(src) == width,
            Op::Binary { op, a, b, .. } => match op {
                BinaryOp::Concat => width_of(a) + width_of(b) == width,
                BinaryOp::Intern => width == 32 && width_of(a) == 64 && width_of(b) == 64,
                BinaryOp::Eq | BinaryOp::Ult | BinaryOp::Slt => {
                    width == 1 && width_of(a) == width_of(b)
                }
                _ => width_of(a) == width && width_of(b) == width,
            },
            Op::Extract { src, lo, .. } => lo + width <= width_of(src),
            Op::ZeroExtend { src, .. } | Op::SignExtend { src, .. } => width_of(src) <= width,
            Op::Select { cond, then, other, .. } => {
                width_of(cond) == 1 && width_of(then) == width && width_of(other) == width
            }
            Op::Input { input, .. } => {
                self.inputs.get(input.index()).is_some_and(|info| info.width == width)
            }
            Op::Unknown { min, max, draw, .. } => {
                min <= max
                    && max & !crate::op::mask(width) == 0
                    && self
                        .draws
                        .get(draw.index())
                        .is_some_and(|draw| self.is_presentable(draw, width, max))
            }
            Op::Load { .. } => width.is_multiple_of(8),
            Op::Store { value, .. } => width_of(value).is_multiple_of(8),
            Op::Clear { addr, bytes } => width_of(addr) == width_of(bytes),
            Op::Rely { cond, on } => width_of(cond) == 1 && on.index() < self.reliances.len(),
        };
        if fits { Ok(()) } else { fail("widths do not fit") }
    }
}

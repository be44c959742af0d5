//! Defines the abstract state at one program point. It contains the value numbers of all registers
//! and of memory bytes at known offsets, and a table of the numbered values.

use slowpath_domain::{Domain, mask};
use slowpath_ir::{Program, Reg, RegionId};

use crate::evaluate::{evaluate, value_of};
use crate::value::Value;
use crate::value_number::{Arg, Def, NumberedValue, ValueNumber};

/// A memory cell: adjacent bytes of memory that hold a numbered value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub region: RegionId,
    /// Offset from the region's base in bytes, signed.
    pub offset: i64,
    pub bytes: u8,
    pub number: ValueNumber,
}

impl Cell {
    /// Returns the offset of the first byte after the cell.
    pub fn end(&self) -> i64 {
        self.offset + i64::from(self.bytes)
    }

    /// Returns the region of the cell, and its offset and size in bytes.
    pub fn location(&self) -> (RegionId, i64, u8) {
        (self.region, self.offset, self.bytes)
    }
}

/// Facts about registers and memory before an instruction.
#[derive(Clone, Debug)]
pub struct AbstractState {
    /// Value numbers of registers; `None` for unknown values.
    pub(crate) regs: Vec<Option<ValueNumber>>,
    /// Width of each register in bits.
    widths: Vec<u8>,
    /// True for dead registers, which are not read before they are written.
    pub(crate) dead: Vec<bool>,
    /// Memory cells, sorted by location. No two of them overlap.
    pub(crate) cells: Vec<Cell>,
    pub(crate) values: Vec<NumberedValue>,
}

impl AbstractState {
    /// Returns a state in which all values are unknown.
    pub(crate) fn unknown(program: &Program) -> Self {
        AbstractState {
            regs: vec![None; program.regs.len()],
            widths: program.regs.iter().map(|info| info.width).collect(),
            dead: vec![false; program.regs.len()],
            cells: Vec::new(),
            values: Vec::new(),
        }
    }

    /// Returns the possible values of a register. A dead register that is not in
    /// [`Options::keep`](crate::Options::keep) may have any value. Front ends omit operations whose
    /// result is not read, so the register of the original machine may have another value.
    pub fn value(&self, reg: Reg) -> Domain {
        self.value_and_origin(reg).domain
    }

    /// Returns the possible values of a register and, if it is an address, the memory that it
    /// points to.
    pub fn value_and_origin(&self, reg: Reg) -> Value {
        let number = self.regs[reg.index()].filter(|_| !self.dead[reg.index()]);
        number.map_or(Value::full(self.widths[reg.index()]), |id| self.values[id as usize].value)
    }

    /// Returns the value number of a register, creating one if it has none.
    pub(crate) fn number_of(&mut self, reg: Reg) -> ValueNumber {
        match self.regs[reg.index()] {
            Some(number) => number,
            None => {
                let number = self.fresh(Value::full(self.widths[reg.index()]));
                self.regs[reg.index()] = Some(number);
                number
            }
        }
    }

    /// Adds a value without a definition and returns its number.
    pub(crate) fn fresh(&mut self, value: Value) -> ValueNumber {
        self.values.push(NumberedValue { value, def: Def::Unknown });
        (self.values.len() - 1) as ValueNumber
    }

    /// Returns the value number of an operand.
    pub(crate) fn number_of_arg(&mut self, arg: Arg) -> ValueNumber {
        match arg {
            Arg::Number(number) => number,
            Arg::Const(value, width) => self.fresh(Value::scalar(Domain::constant(width, value))),
        }
    }

    pub(crate) fn value_of(&self, arg: Arg) -> Value {
        value_of(&self.values, arg)
    }

    fn def_of(&self, arg: Arg) -> Def {
        match arg {
            Arg::Number(number) => self.values[number as usize].def,
            Arg::Const(..) => Def::Unknown,
        }
    }

    /// Returns the value number of the result of a definition, of `width` bits.
    pub(crate) fn define(&mut self, def: Def, width: u8) -> ValueNumber {
        if let Some(arg) = self.existing(&def, width) {
            return self.number_of_arg(arg);
        }
        let value = evaluate(&self.values, &def, width).settled();
        self.values.push(NumberedValue { value, def });
        (self.values.len() - 1) as ValueNumber
    }

    /// Returns an operand that is known to equal the result of a definition; `None` if no such
    /// operand exists.
    fn existing(&self, def: &Def, width: u8) -> Option<Arg> {
        let arg = match *def {
            Def::Extract(a, 0) => match self.def_of(a) {
                Def::ZeroExtend(inner) | Def::SignExtend(inner) => inner,
                _ => a,
            },
            Def::ZeroExtend(a) => match self.def_of(a) {
                Def::Extract(inner, 0)
                    if self.value_of(inner).domain.hi()
                        <= mask(self.value_of(a).domain.width()) =>
                {
                    inner
                }
                _ => a,
            },
            Def::SignExtend(a) => a,
            Def::Select(c, a, b) => match self.value_of(c).domain.as_constant()? {
                0 => b,
                _ => a,
            },
            _ => return None,
        };
        Some(arg).filter(|&arg| self.value_of(arg).domain.width() == width)
    }
}

//! What is known at one point of the program: the value number of every register and of the bytes
//! of memory that lie at known offsets, and the table of values that the numbers stand for.

use slowpath_domain::Domain;
use slowpath_ir::{Program, Reg, RegionId};

use crate::evaluate::{evaluate, value_of};
use crate::value::{Value, greatest};
use crate::value_number::{Arg, Def, NumberedValue, ValueNumber};

/// Bytes of memory that hold a numbered value.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub region: RegionId,
    /// Bytes from the region's base, signed.
    pub offset: i64,
    pub bytes: u8,
    pub number: ValueNumber,
}

impl Cell {
    /// The offset of the first byte behind.
    pub fn end(&self) -> i64 {
        self.offset + i64::from(self.bytes)
    }

    /// Which bytes they are.
    pub fn location(&self) -> (RegionId, i64, u8) {
        (self.region, self.offset, self.bytes)
    }
}

/// What is known about registers before an instruction.
#[derive(Clone, Debug)]
pub struct AbstractState {
    /// Value numbers of registers; `None` where nothing is known.
    pub(crate) regs: Vec<Option<ValueNumber>>,
    /// Widths of registers.
    widths: Vec<u8>,
    /// Registers that nothing reads before they are written.
    pub(crate) dead: Vec<bool>,
    /// Sorted by location; no two overlap.
    pub(crate) cells: Vec<Cell>,
    pub(crate) values: Vec<NumberedValue>,
}

impl AbstractState {
    /// Nothing known about any register.
    pub(crate) fn unknown(program: &Program) -> Self {
        AbstractState {
            regs: vec![None; program.regs.len()],
            widths: program.regs.iter().map(|info| info.width).collect(),
            dead: vec![false; program.regs.len()],
            cells: Vec::new(),
            values: Vec::new(),
        }
    }

    /// The numbers that a register may hold. A register whose value nothing reads, and that was not
    /// asked to be kept, has all values: front ends leave out what is not read, so that the
    /// original machine's register may hold something else.
    pub fn value(&self, reg: Reg) -> Domain {
        self.value_and_origin(reg).domain
    }

    /// The same, with the memory that it points to if it is an address.
    pub fn value_and_origin(&self, reg: Reg) -> Value {
        let number = self.regs[reg.index()].filter(|_| !self.dead[reg.index()]);
        number.map_or(Value::full(self.widths[reg.index()]), |id| self.values[id as usize].value)
    }

    /// The value number of a register, made when there is none.
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

    /// The number of a value that nothing is remembered of but itself.
    pub(crate) fn fresh(&mut self, value: Value) -> ValueNumber {
        self.values.push(NumberedValue { value, def: Def::Unknown });
        (self.values.len() - 1) as ValueNumber
    }

    /// The value number of an operand.
    pub(crate) fn number_of_arg(&mut self, arg: Arg) -> ValueNumber {
        match arg {
            Arg::Number(number) => number,
            Arg::Const(value, width) => self.fresh(Value::scalar(Domain::constant(width, value))),
        }
    }

    /// The value of an operand.
    pub(crate) fn value_of(&self, arg: Arg) -> Value {
        value_of(&self.values, arg)
    }

    fn def_of(&self, arg: Arg) -> Def {
        match arg {
            Arg::Number(number) => self.values[number as usize].def,
            Arg::Const(..) => Def::Unknown,
        }
    }

    /// The value number of what a definition yields.
    pub(crate) fn define(&mut self, def: Def, width: u8) -> ValueNumber {
        if let Some(arg) = self.existing(&def, width) {
            return self.number_of_arg(arg);
        }
        let value = evaluate(&self.values, &def, width).settled();
        self.values.push(NumberedValue { value, def });
        (self.values.len() - 1) as ValueNumber
    }

    /// A value that is the result of a definition without further computing.
    fn existing(&self, def: &Def, width: u8) -> Option<Arg> {
        let arg = match *def {
            Def::Extract(a, 0) => match self.def_of(a) {
                Def::ZeroExtend(inner) | Def::SignExtend(inner) => inner,
                _ => a,
            },
            Def::ZeroExtend(a) => match self.def_of(a) {
                Def::Extract(inner, 0)
                    if self.value_of(inner).domain.hi()
                        <= greatest(self.value_of(a).domain.width()) =>
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

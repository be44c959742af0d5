//! What is known at one point of the program: the class of every register and of the bytes of
//! memory that lie at known places.

use slowpath_domain::Domain;
use slowpath_ir::{Program, Reg, RegionId};

use crate::class::{Arg, Class, ClassId, Def};
use crate::evaluate::{evaluate, value_of};
use crate::value::{Value, greatest};

/// Bytes of memory that hold the value of a class.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Cell {
    pub region: RegionId,
    /// Bytes from the region's base, signed.
    pub offset: i64,
    pub bytes: u8,
    pub class: ClassId,
}

impl Cell {
    /// The offset of the first byte behind.
    pub fn end(&self) -> i64 {
        self.offset + i64::from(self.bytes)
    }

    /// What identifies the place.
    pub fn place(&self) -> (RegionId, i64, u8) {
        (self.region, self.offset, self.bytes)
    }
}

/// What is known about registers before an instruction.
#[derive(Clone, Debug)]
pub struct State {
    /// Classes of registers; `None` where nothing is known.
    pub(crate) regs: Vec<Option<ClassId>>,
    /// Widths of registers.
    widths: Vec<u8>,
    /// Registers that nothing reads before they are written.
    pub(crate) dead: Vec<bool>,
    /// Sorted by place; no two overlap.
    pub(crate) cells: Vec<Cell>,
    pub(crate) classes: Vec<Class>,
}

impl State {
    /// Nothing known about any register.
    pub(crate) fn unknown(program: &Program) -> Self {
        State {
            regs: vec![None; program.regs.len()],
            widths: program.regs.iter().map(|info| info.width).collect(),
            dead: vec![false; program.regs.len()],
            cells: Vec::new(),
            classes: Vec::new(),
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
        let class = self.regs[reg.index()].filter(|_| !self.dead[reg.index()]);
        class.map_or(Value::full(self.widths[reg.index()]), |id| self.classes[id as usize].value)
    }

    /// The class of a register, made when there is none.
    pub(crate) fn class_of(&mut self, reg: Reg) -> ClassId {
        match self.regs[reg.index()] {
            Some(class) => class,
            None => {
                let class = self.fresh(Value::full(self.widths[reg.index()]));
                self.regs[reg.index()] = Some(class);
                class
            }
        }
    }

    /// A class of which only the value is known.
    pub(crate) fn fresh(&mut self, value: Value) -> ClassId {
        self.classes.push(Class { value, def: Def::Unknown });
        (self.classes.len() - 1) as ClassId
    }

    /// The class of an operand.
    pub(crate) fn class_of_arg(&mut self, arg: Arg) -> ClassId {
        match arg {
            Arg::Class(class) => class,
            Arg::Const(value, width) => self.fresh(Value::number(Domain::constant(width, value))),
        }
    }

    /// The value of an operand.
    pub(crate) fn value_of(&self, arg: Arg) -> Value {
        value_of(&self.classes, arg)
    }

    fn def_of(&self, arg: Arg) -> Def {
        match arg {
            Arg::Class(class) => self.classes[class as usize].def,
            Arg::Const(..) => Def::Unknown,
        }
    }

    /// The class of what a definition yields.
    pub(crate) fn define(&mut self, def: Def, width: u8) -> ClassId {
        if let Some(arg) = self.existing(&def, width) {
            return self.class_of_arg(arg);
        }
        let value = evaluate(&self.classes, &def, width).settled();
        self.classes.push(Class { value, def });
        (self.classes.len() - 1) as ClassId
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

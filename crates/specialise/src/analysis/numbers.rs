//! Value numbers: a name for each value that the program computes. Values that are known to be
//! equal have equal numbers (Alpern, Wegman and Zadeck, "Detecting equality of variables in
//! programs", POPL 1988).

use crate::graph::BlockId;
use slowpath_bpf::insn::{AluOp, Size, SwapKind, Width};
use std::collections::HashMap;

pub(crate) type Number = u32;

/// Definition of a value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Def {
    Constant(u64),
    /// Initial value of a register.
    Start(u8),
    /// An unknown result of an instruction: block, place within the block, and index of the result.
    Result(BlockId, usize, u8),
    /// The value at a place where paths merge at the start of a block.
    Merge(BlockId, Location),
    /// An operation. Immediates are represented as constants.
    Alu(Width, AluOp, Number, Number),
    Neg(Width, Number),
    Swap(SwapKind, Size, Number),
    Signed(Width, Size, Number),
    /// The low bits of a value, zero-extended.
    Low(u8, Number),
    /// An address in the stack frame.
    Stack(i64),
    /// An address in a map of one element: map, offset. The offset `i64::MIN` denotes the map
    /// itself.
    Data(u32, i64),
    /// A field of the context: its offset, and the number of the latest change of the packet's
    /// ends.
    Context(i64, Number),
}

/// A place whose values merge.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Location {
    Register(u8),
    Stack(i64),
    Packet(i64),
    /// The version of the packet's ends.
    Ends,
}

/// The value numbers of one analysis.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    known: HashMap<Def, Number>,
    defs: Vec<Def>,
}

impl Numbers {
    /// Returns the number of the value with this definition.
    pub fn of(&mut self, def: Def) -> Number {
        *self.known.entry(def).or_insert_with(|| {
            self.defs.push(def);
            (self.defs.len() - 1) as Number
        })
    }

    /// Returns the definition of a value.
    pub fn def(&self, number: Number) -> Def {
        self.defs[number as usize]
    }

    /// Returns an upper bound on the width of a value in bits, from its definition. It uses only
    /// what the kernel's verifier sees too; the verifier knows nothing about byte-swapped values.
    pub fn bits(&self, number: Number) -> u8 {
        match self.def(number) {
            Def::Constant(value) => (64 - value.leading_zeros()) as u8,
            Def::Alu(Width::W32, ..) | Def::Neg(Width::W32, _) | Def::Signed(Width::W32, ..) => 32,
            Def::Low(bits, _) => bits,
            _ => 64,
        }
    }

    /// Returns the low bits of a value, zero-extended.
    pub fn low(&mut self, bits: u8, number: Number) -> Number {
        if self.bits(number) <= bits {
            return number;
        }
        self.of(Def::Low(bits, number))
    }

    /// Returns some bytes of a value in memory, zero-extended: `bytes` bytes from byte `place` on.
    pub fn part(&mut self, number: Number, place: u8, bytes: u8) -> Number {
        let bits = self.of(Def::Constant(8 * u64::from(place)));
        let shifted = match place {
            0 => number,
            _ => self.of(Def::Alu(Width::W64, AluOp::Rsh, number, bits)),
        };
        if bytes == 8 { shifted } else { self.low(8 * bytes, shifted) }
    }

    /// Returns the result of an operation on two values.
    pub fn alu(&mut self, width: Width, op: AluOp, a: Number, b: Number) -> Number {
        // Compilers without 32-bit operations truncate with a left shift and a right shift.
        if let (
            Width::W64,
            AluOp::Rsh,
            Def::Alu(Width::W64, AluOp::Lsh, x, shift),
            Def::Constant(by),
        ) = (width, op, self.def(a), self.def(b))
            && shift == b
            && by < 64
        {
            return self.low(64 - by as u8, x);
        }
        self.of(Def::Alu(width, op, a, b))
    }
}

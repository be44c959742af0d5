//! Value numbers: a number for each value that the program computes. Values that are known to be
//! equal have equal numbers (Alpern, Wegman and Zadeck, "Detecting equality of variables in
//! programs", POPL 1988).

use crate::graph::BlockId;
use slowpath_bpf::insn::{AluOp, Size, SwapKind, Width};
use std::collections::HashMap;

pub(crate) type Number = u32;

/// The definition of a value: the operation and the operands from which it is computed.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Def {
    Constant(u64),
    /// The value that a register has at the start of the program.
    Start(u8),
    /// An unknown result of an instruction, given by the block, the index of the instruction in the
    /// block, and the index of the result.
    Result(BlockId, usize, u8),
    /// The value of a location (such as a register) after several paths have merged at the start of
    /// a block.
    Merge(BlockId, Location),
    /// The result of an operation on two values. A constant operand has a value number, too.
    Alu(Width, AluOp, Number, Number),
    Neg(Width, Number),
    Swap(SwapKind, Size, Number),
    Signed(Width, Size, Number),
    /// The lowest bits of a value, with zeros in all higher bits, given by the number of bits and
    /// the value.
    Low(u8, Number),
    /// An address in the stack frame, given by its offset from the frame pointer.
    Stack(i64),
    /// An address in the value of a map with one element, given by the map and the offset. The
    /// offset `i64::MIN` stands for the address of the map itself.
    Data(u32, i64),
    /// A field of the context, given by its offset and by the version of the packet's start and end
    /// ([`Location::Ends`]), which changes when one of them moves.
    Context(i64, Number),
}

/// A location in which values of different paths merge: a register, memory, or the packet's start
/// and end.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Location {
    Register(u8),
    Stack(i64),
    Packet(i64),
    /// The version of the packet's start and end, which changes whenever one of them moves.
    Ends,
}

/// All value numbers of one analysis, with their definitions.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    known: HashMap<Def, Number>,
    defs: Vec<Def>,
}

impl Numbers {
    /// Returns the value number of a definition. Equal definitions have equal numbers.
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

    /// Returns an upper bound on the width of a value in bits. The bound follows from the
    /// definition of the value and uses only facts that the kernel's verifier knows, too. The
    /// verifier knows nothing about byte-swapped values.
    pub fn bits(&self, number: Number) -> u8 {
        match self.def(number) {
            Def::Constant(value) => (64 - value.leading_zeros()) as u8,
            Def::Alu(Width::W32, ..) | Def::Neg(Width::W32, _) | Def::Signed(Width::W32, ..) => 32,
            Def::Low(bits, _) => bits,
            _ => 64,
        }
    }

    /// Returns the value number for the number that consists of the lowest `bits` bits of another
    /// value.
    pub fn low(&mut self, bits: u8, number: Number) -> Number {
        if self.bits(number) <= bits {
            return number;
        }
        self.of(Def::Low(bits, number))
    }

    /// Returns the value number for a part of a value that was loaded from memory: `bytes` bytes,
    /// from the byte with index `place` on.
    pub fn part(&mut self, number: Number, place: u8, bytes: u8) -> Number {
        let bits = self.of(Def::Constant(8 * u64::from(place)));
        let shifted = match place {
            0 => number,
            _ => self.of(Def::Alu(Width::W64, AluOp::Rsh, number, bits)),
        };
        if bytes == 8 { shifted } else { self.low(8 * bytes, shifted) }
    }

    /// Returns the value number for the result of an operation on two values.
    pub fn alu(&mut self, width: Width, op: AluOp, a: Number, b: Number) -> Number {
        // Without 32-bit operations, compilers truncate by a left and a right shift.
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

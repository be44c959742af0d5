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
    /// Unknown result of an instruction: block, position in the block, and index of the result.
    Result(BlockId, usize, u8),
    /// Value of a location after paths merge at the start of a block.
    Merge(BlockId, Location),
    /// Result of an operation. An immediate operand is a constant with its own number.
    Alu(Width, AluOp, Number, Number),
    Neg(Width, Number),
    Swap(SwapKind, Size, Number),
    Signed(Width, Size, Number),
    /// Low bits of a value, zero-extended: number of bits, value.
    Low(u8, Number),
    /// Address in the stack frame, by its offset from the frame pointer.
    Stack(i64),
    /// Address in the value of a map with one element: map, offset. The offset `i64::MIN` stands
    /// for the address of the map itself.
    Data(u32, i64),
    /// Field of the context: offset of the field, and version of the packet's ends
    /// ([`Location::Ends`]).
    Context(i64, Number),
}

/// Location whose values merge: a register, memory, or the packet's ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Location {
    Register(u8),
    Stack(i64),
    Packet(i64),
    /// Version of the packet's ends: it changes whenever an end moves.
    Ends,
}

/// The value numbers of one analysis.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    known: HashMap<Def, Number>,
    defs: Vec<Def>,
}

impl Numbers {
    /// Returns the value number for a definition; creates it if it is new.
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

    /// Returns an upper bound on the width of a value in bits, from its definition. The bound uses
    /// only what the kernel's verifier knows too; for byte-swapped values, the verifier knows
    /// nothing.
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

    /// Returns `bytes` bytes of a value in memory from byte `place` on, zero-extended.
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

//! Value numbers: a name for every value that the program computes, equal where values are known to
//! be equal (Alpern, Wegman and Zadeck, "Detecting equality of variables in programs", POPL 1988).

use crate::graph::BlockId;
use slowpath_bpf::insn::{AluOp, Size, SwapKind, Width};
use std::collections::HashMap;

/// A value number.
pub(crate) type Number = u32;

/// How a value comes to be.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Def {
    Constant(u64),
    /// What a register holds when the program starts.
    Start(u8),
    /// What an instruction of a block computes, of which no more is known: the block, its place in
    /// it, and which of its results.
    Result(BlockId, usize, u8),
    /// What arrives in a place where ways meet.
    Meet(BlockId, Place),
    /// An operation; an immediate is a constant.
    Alu(Width, AluOp, Number, Number),
    Neg(Width, Number),
    Swap(SwapKind, Size, Number),
    Signed(Width, Size, Number),
    /// The low bits of a value, with zeros above them.
    Low(u8, Number),
    /// An address in the stack frame.
    Stack(i64),
    /// An address in a map of one element.
    Data(u32, i64),
    /// A field of the context, and after which change of the packet's ends it was read.
    Context(i64, Number),
}

/// What meets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) enum Place {
    Register(u8),
    Stack(i64),
    Packet(i64),
    /// The ends of the packet.
    Ends,
}

/// The numbers of one analysis.
#[derive(Debug, Default)]
pub(crate) struct Numbers {
    known: HashMap<Def, Number>,
    defs: Vec<Def>,
}

impl Numbers {
    /// The number of what is defined so.
    pub fn of(&mut self, def: Def) -> Number {
        *self.known.entry(def).or_insert_with(|| {
            self.defs.push(def);
            (self.defs.len() - 1) as Number
        })
    }

    /// How a value comes to be.
    pub fn def(&self, number: Number) -> Def {
        self.defs[number as usize]
    }

    /// How many bits a value can have, as far as the way that it comes to be shows it, also to the
    /// kernel's verifier (which takes what was swapped for anything).
    pub fn bits(&self, number: Number) -> u8 {
        match self.def(number) {
            Def::Constant(value) => (64 - value.leading_zeros()) as u8,
            Def::Alu(Width::W32, ..) | Def::Neg(Width::W32, _) | Def::Signed(Width::W32, ..) => 32,
            Def::Low(bits, _) => bits,
            _ => 64,
        }
    }

    /// The low bits of a value, with zeros above them.
    pub fn low(&mut self, bits: u8, number: Number) -> Number {
        if self.bits(number) <= bits {
            return number;
        }
        self.of(Def::Low(bits, number))
    }

    /// So many bytes of a value that is in memory, from one of its bytes on, with zeros above them.
    pub fn part(&mut self, number: Number, place: u8, bytes: u8) -> Number {
        let bits = self.of(Def::Constant(8 * u64::from(place)));
        let shifted = match place {
            0 => number,
            _ => self.of(Def::Alu(Width::W64, AluOp::Rsh, number, bits)),
        };
        if bytes == 8 { shifted } else { self.low(8 * bytes, shifted) }
    }

    /// An operation on two values.
    pub fn alu(&mut self, width: Width, op: AluOp, a: Number, b: Number) -> Number {
        // Two shifts, there and back, are how compilers without 32-bit operations cut values off.
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

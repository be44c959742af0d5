//! The parts of instructions: registers, sizes, operators, conditions.

/// A register, `r0` to `r10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(u8);

impl Register {
    /// Result of calls and of the program.
    pub const R0: Register = Register(0);
    /// Context at the start, first argument of calls.
    pub const R1: Register = Register(1);
    /// Second argument of calls.
    pub const R2: Register = Register(2);
    /// Third argument of calls.
    pub const R3: Register = Register(3);
    /// Fourth argument of calls.
    pub const R4: Register = Register(4);
    /// Fifth argument of calls.
    pub const R5: Register = Register(5);
    /// A register that calls preserve.
    pub const R6: Register = Register(6);
    /// A register that calls preserve.
    pub const R7: Register = Register(7);
    /// A register that calls preserve.
    pub const R8: Register = Register(8);
    /// A register that calls preserve.
    pub const R9: Register = Register(9);
    /// The frame pointer; read-only.
    pub const FRAME: Register = Register(10);

    /// The register with this number, if there is one.
    pub fn new(number: u8) -> Option<Self> {
        (number <= 10).then_some(Register(number))
    }

    /// Its number, 0 to 10.
    pub fn number(self) -> u8 {
        self.0
    }
}

/// Width of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Width {
    /// 32 bits.
    W32,
    /// 64 bits.
    W64,
}

impl Width {
    /// In bits.
    pub fn bits(self) -> u8 {
        match self {
            Width::W32 => 32,
            Width::W64 => 64,
        }
    }
}

/// Size of a memory access.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Size {
    /// 1 byte.
    B,
    /// 2 bytes.
    H,
    /// 4 bytes.
    W,
    /// 8 bytes.
    DW,
}

impl Size {
    /// In bytes.
    pub fn bytes(self) -> u8 {
        match self {
            Size::B => 1,
            Size::H => 2,
            Size::W => 4,
            Size::DW => 8,
        }
    }

    /// In bits.
    pub fn bits(self) -> u8 {
        self.bytes() * 8
    }

    /// The size of so many bytes, if there is one.
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        [Size::B, Size::H, Size::W, Size::DW].into_iter().find(|s| u32::from(s.bytes()) == bytes)
    }
}

/// A right operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A register.
    Reg(Register),
    /// An immediate, sign-extended to the width of the operation.
    Imm(i32),
}

/// Operators of arithmetic instructions.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient; 0 for a divisor of 0.
    Div,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Left shift; the amount is taken modulo the width.
    Lsh,
    /// Logical right shift; the amount is taken modulo the width.
    Rsh,
    /// Unsigned remainder; the dividend for a divisor of 0.
    Mod,
    /// Bitwise exclusive or.
    Xor,
    /// The right operand.
    Mov,
    /// Arithmetic right shift; the amount is taken modulo the width.
    Arsh,
    /// Signed quotient rounded towards zero; 0 for a divisor of 0.
    Sdiv,
    /// Signed remainder with the dividend's sign; the dividend for a divisor of 0.
    Smod,
}

/// Ways of swapping bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SwapKind {
    /// Host order to little-endian and back: on little-endian hosts, truncation.
    Le,
    /// Host order to big-endian and back: on little-endian hosts, a swap.
    Be,
    /// A swap on any host.
    Always,
}

/// Conditions of jumps.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Condition {
    /// `==`
    Eq,
    /// `!=`
    Ne,
    /// `dst & src` is not 0.
    Set,
    /// Unsigned `>`.
    Gt,
    /// Unsigned `>=`.
    Ge,
    /// Unsigned `<`.
    Lt,
    /// Unsigned `<=`.
    Le,
    /// Signed `>`.
    Sgt,
    /// Signed `>=`.
    Sge,
    /// Signed `<`.
    Slt,
    /// Signed `<=`.
    Sle,
}

/// Atomic operations; `fetch` says that the old value is returned in the source register.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Sum.
    Add {
        /// Whether the old value is returned.
        fetch: bool,
    },
    /// Bitwise or.
    Or {
        /// Whether the old value is returned.
        fetch: bool,
    },
    /// Bitwise and.
    And {
        /// Whether the old value is returned.
        fetch: bool,
    },
    /// Bitwise exclusive or.
    Xor {
        /// Whether the old value is returned.
        fetch: bool,
    },
    /// Exchange with the source register.
    Xchg,
    /// Exchange with the source register if memory equals `r0`; `r0` becomes the old value.
    Cmpxchg,
}

//! Defines the operands and fields of instructions: registers, sizes, operators and conditions.

/// A register, `r0` to `r10`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Register(u8);

impl Register {
    /// Return value of calls and of the program.
    pub const R0: Register = Register(0);
    /// Contains the context when the program starts; first argument of calls.
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

    /// Returns the register with this number; `None` above 10.
    pub fn new(number: u8) -> Option<Self> {
        (number <= 10).then_some(Register(number))
    }

    /// Returns the register number, 0 to 10.
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
    /// Returns the width in bits.
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
    /// Returns the size in bytes.
    pub fn bytes(self) -> u8 {
        match self {
            Size::B => 1,
            Size::H => 2,
            Size::W => 4,
            Size::DW => 8,
        }
    }

    /// Returns the size in bits.
    pub fn bits(self) -> u8 {
        self.bytes() * 8
    }

    /// Returns the size of an access to this many bytes; `None` unless `bytes` is 1, 2, 4 or 8.
    pub fn from_bytes(bytes: u32) -> Option<Self> {
        [Size::B, Size::H, Size::W, Size::DW].into_iter().find(|s| u32::from(s.bytes()) == bytes)
    }
}

/// The right operand of an instruction: a register or an immediate.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Source {
    /// A register.
    Reg(Register),
    /// An immediate, sign-extended to the width of the operation.
    Imm(i32),
}

/// Operator of an arithmetic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AluOp {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Product.
    Mul,
    /// Unsigned quotient; the result is 0 if the divisor is 0.
    Div,
    /// Bitwise or.
    Or,
    /// Bitwise and.
    And,
    /// Left shift; the amount is taken modulo the width.
    Lsh,
    /// Logical right shift; the amount is taken modulo the width.
    Rsh,
    /// Unsigned remainder; the result is the dividend if the divisor is 0.
    Mod,
    /// Bitwise exclusive or.
    Xor,
    /// Move: the result is the right operand.
    Mov,
    /// Arithmetic right shift; the amount is taken modulo the width.
    Arsh,
    /// Signed quotient rounded towards zero; the result is 0 if the divisor is 0.
    Sdiv,
    /// Signed remainder with the dividend's sign; the result is the dividend if the divisor is 0.
    Smod,
}

impl AluOp {
    /// Returns the operator as written before `=` in the instruction's text, such as `+` for `+=`;
    /// empty for a move.
    pub fn symbol(self) -> &'static str {
        match self {
            AluOp::Add => "+",
            AluOp::Sub => "-",
            AluOp::Mul => "*",
            AluOp::Div => "/",
            AluOp::Or => "|",
            AluOp::And => "&",
            AluOp::Lsh => "<<",
            AluOp::Rsh => ">>",
            AluOp::Mod => "%",
            AluOp::Xor => "^",
            AluOp::Mov => "",
            AluOp::Arsh => "s>>",
            AluOp::Sdiv => "s/",
            AluOp::Smod => "s%",
        }
    }
}

/// Byte order conversion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum SwapKind {
    /// Conversion between host byte order and little-endian, which is only a truncation on
    /// little-endian hosts.
    Le,
    /// Conversion between host byte order and big-endian, which is a byte swap on little-endian
    /// hosts.
    Be,
    /// A byte swap on any host.
    Always,
}

impl SwapKind {
    /// Returns the mnemonic without its bit count, such as `le` of `le16`.
    pub fn name(self) -> &'static str {
        match self {
            SwapKind::Le => "le",
            SwapKind::Be => "be",
            SwapKind::Always => "bswap",
        }
    }
}

/// Condition of a jump.
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

/// Atomic operation. With `fetch`, the source register receives the old value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum AtomicOp {
    /// Sum.
    Add {
        /// True if the old value is returned.
        fetch: bool,
    },
    /// Bitwise or.
    Or {
        /// True if the old value is returned.
        fetch: bool,
    },
    /// Bitwise and.
    And {
        /// True if the old value is returned.
        fetch: bool,
    },
    /// Bitwise exclusive or.
    Xor {
        /// True if the old value is returned.
        fetch: bool,
    },
    /// Exchange with the source register.
    Xchg,
    /// Exchange with the source register if memory equals `r0`; `r0` receives the old value.
    Cmpxchg,
}

impl AtomicOp {
    /// Returns true if a register receives the old value.
    pub fn fetches(self) -> bool {
        match self {
            AtomicOp::Add { fetch }
            | AtomicOp::Or { fetch }
            | AtomicOp::And { fetch }
            | AtomicOp::Xor { fetch } => fetch,
            AtomicOp::Xchg | AtomicOp::Cmpxchg => true,
        }
    }
}

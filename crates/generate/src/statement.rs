//! Defines the statements of random programs before they are translated to BPF instructions.
//!
//! Statements are plain data without invariants. A statement identifies a register, offset or slot
//! by a [`Pick`], a choice among those that are possible at its position. If none is possible, the
//! statement is left out. Every list of statements is therefore a program, and a shrunk list is one
//! as well.

use slowpath_bpf::insn::{AluOp, Condition, Size, SwapKind, Width};

/// A choice from a list of possible registers, offsets or slots: an index, taken modulo the length
/// of the list.
pub type Pick = u16;

/// A random program as a list of statements.
#[derive(Clone, Debug)]
pub struct Program {
    /// Choice of the register that holds the pointer to the XDP context: `r1` or one of `r6` to
    /// `r9`. With `r1`, the program cannot make calls.
    pub context: Pick,
    /// Minimum packet length in bytes for which the program checks at its start; 0 for no check.
    pub first_check: u16,
    pub body: Vec<Stmt>,
    /// Return value of the program.
    pub end: Code,
    /// Number of scalars that the program stores to the packet at its end.
    pub observed: u8,
    pub functions: Vec<Function>,
    pub map: MapShape,
}

/// A function that a random program can call.
#[derive(Clone, Debug)]
pub struct Function {
    /// Number of arguments, 1 to 3.
    pub arguments: u8,
    pub body: Vec<Stmt>,
    pub result: Code,
}

/// Sizes of the array map of a random program.
#[derive(Clone, Copy, Debug)]
pub struct MapShape {
    /// Number of 4-byte words in a value.
    pub words: u8,
    /// Binary logarithm of the number of elements.
    pub log_entries: u8,
    /// Bit mask of the 4-byte words on which programs use atomic additions; programs load the other
    /// words.
    pub added: u8,
}

/// The right operand of a BPF instruction.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register that holds a scalar.
    Register(Pick),
    Constant(i32),
}

/// The amount of a shift, as a number of bits.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// An immediate, modulo the width of the shift.
    Constant(u8),
    /// A register whose value is masked, so that it is below the width of the shift. No mask is
    /// needed if its range ensures this.
    Any(Pick),
    /// A register whose value is masked, so that it is below 32.
    Low(Pick),
    /// A register whose value is masked, so that it is from 32 to 63, or from 16 to 31 for 32-bit
    /// shifts.
    High(Pick),
    /// A register that is set to this constant, modulo the width of the shift.
    Known(u8),
}

/// The divisor of a division.
#[derive(Clone, Copy, Debug)]
pub enum Divisor {
    /// An immediate. It is replaced by a positive number if it is not positive.
    Immediate(i32),
    /// A register that is set to this constant, or to 1 if the constant is 0.
    Known(u32),
}

/// The return value of a program or function.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    Constant(i32),
    /// A register that holds a scalar.
    Scalar(Pick),
    /// The two lowest bits of a register that holds a scalar.
    Masked(Pick),
}

/// The number that an atomic addition adds to a word of a map element.
#[derive(Clone, Copy, Debug)]
pub enum Addend {
    /// A register that holds a scalar.
    Any(Pick),
    /// A register that holds a scalar, masked to 16 bits.
    Short(Pick),
    /// A register that holds a scalar, with bit 16 set.
    Long(Pick),
    Known(i32),
}

/// A comparison of a packet pointer `p` with the end of the packet, as a bounds check.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// `p > end` jumps to the exit of the program.
    Greater,
    /// `end < p` jumps to the exit of the program.
    EndLess,
    /// `p <= end` jumps over the exit.
    LessEqual,
    /// `end >= p` jumps over the exit.
    EndGreaterEqual,
}

/// The distance in bytes by which a helper call moves the packet's start or end.
#[derive(Clone, Copy, Debug)]
pub enum Delta {
    Constant(i32),
    /// The bits of a scalar register that a mask selects, negated if the flag is true.
    Variable(Pick, u8, bool),
}

/// Use of a value right after the program loads it from the packet.
#[derive(Clone, Copy, Debug)]
pub enum Follow {
    /// The value stays as it is.
    Nothing,
    /// The value is masked, so that it fits this size.
    Mask(Size),
    /// The value is truncated to 32 bits by two shifts.
    Truncate,
    /// The bytes of the value are swapped.
    Swap,
}

/// The condition of a branch: a comparison of a register with an operand.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Comparison operator; the first branch is taken if the comparison holds.
    pub condition: Condition,
    pub width: Width,
    /// Choice of the left operand, a register that holds a scalar.
    pub left: Pick,
    pub right: Operand,
}

/// A packet load that a jump may skip, followed by a use of the loaded register.
#[derive(Clone, Copy, Debug)]
pub struct Straddle {
    pub size: Size,
    /// Choice of the register to load.
    pub via: Pick,
    /// Address of the load: choices of a packet pointer and of an offset from it.
    pub from: (Pick, Pick),
    /// Address at which the value is stored: choices of a pointer and of an offset. `None` to
    /// truncate the value instead.
    pub to: Option<(Pick, Pick)>,
    /// Number of adjacent values to copy, if the value is stored.
    pub count: u8,
}

/// A packet pointer at a variable offset, and the bounds check that makes it usable.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Choice of the scalar register that serves as the offset.
    pub index: Pick,
    /// Mask that limits the offset.
    pub mask: u16,
    /// Packet pointer to which the offset is added.
    pub from: Pick,
    /// If true, the program adds the offset to a copy of the pointer, otherwise it adds the pointer
    /// to the offset.
    pub reverse: bool,
    /// Number of packet bytes that the bounds check ensures.
    pub bytes: u8,
    /// Comparison that the bounds check uses.
    pub by: Comparison,
}

/// A look-up in the array map of the program.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Key of the element, its index in the array.
    pub key: Operand,
    /// True if the key is masked, so that it is the index of an existing element.
    pub mask: bool,
    /// Choice of the stack slot that holds the key.
    pub slot: Pick,
    /// Choice of another register that receives a copy of the returned pointer; `None` for no copy.
    pub copy_to: Option<Pick>,
    /// True if the branch after the look-up jumps when the element is missing. False if it jumps
    /// when the element exists.
    pub jump_if_missing: bool,
}

/// A statement of a random program. Most fields are choices of registers (`Pick`), with the target
/// register first.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// A move, addition, subtraction, or bitwise and, or, or exclusive or.
    Alu(AluOp, Width, Pick, Operand),
    Neg(Width, Pick),
    /// A byte swap or conversion between byte orders.
    Swap(SwapKind, Size, Pick),
    /// A load of a 64-bit immediate.
    Constant(Pick, u64),
    /// A truncation to 32 bits by two shifts.
    Truncate(Pick),
    Shift(AluOp, Width, Pick, Amount),
    Multiply(Width, Pick, Operand),
    Divide(Width, Pick, Divisor),
    /// A check that the packet has at least `bytes` bytes. If it has not, the program ends with
    /// result `fail`. If `keep` is set, later statements may use the pointers that were compared.
    Check {
        bytes: u16,
        by: Comparison,
        fail: Code,
        keep: bool,
    },
    /// A copy of a packet pointer, to which a constant is added.
    Point {
        from: Pick,
        to: Pick,
        by: i16,
    },
    /// A load from the packet.
    Load {
        size: Size,
        to: Pick,
        from: Pick,
        at: Pick,
        follow: Follow,
    },
    /// A store to the packet.
    Store {
        size: Size,
        to: Pick,
        at: Pick,
        value: Operand,
    },
    /// A copy of bytes within the packet, by alternating loads and stores of the same size.
    Copy {
        size: Size,
        count: u8,
        from: (Pick, Pick),
        to: (Pick, Pick),
        down: bool,
        via: Pick,
    },
    /// A packet load that a conditional jump can skip, with a use of the loaded register.
    Straddle(Test, Straddle),
    /// Addition of a masked offset to a packet pointer, and a bounds check. The resulting pointer
    /// is valid in `inside`; `outside` runs if the check fails.
    Variable {
        access: Variable,
        inside: Vec<Stmt>,
        outside: Vec<Stmt>,
    },
    /// A store of a number to the stack.
    Push {
        size: Size,
        slot: Pick,
        value: Operand,
    },
    /// A load of a number from the stack.
    Pop {
        size: Size,
        slot: Pick,
        to: Pick,
    },
    /// A store of a packet pointer on the stack.
    Spill {
        slot: Pick,
        pointer: Pick,
    },
    /// A load of a packet pointer from the stack.
    Fill {
        slot: Pick,
        to: Pick,
    },
    If {
        test: Test,
        taken: Vec<Stmt>,
        other: Vec<Stmt>,
    },
    /// A loop with a constant number of iterations.
    Loop {
        rounds: u8,
        up: bool,
        body: Vec<Stmt>,
    },
    /// A conditional jump out of the innermost loop.
    Break(Test),
    /// A look-up in the array map. `found` runs if the element exists, otherwise `missing`.
    Lookup {
        element: Element,
        found: Vec<Stmt>,
        missing: Vec<Stmt>,
    },
    /// A load from a map element.
    Read {
        size: Size,
        to: Pick,
        from: Pick,
        at: Pick,
    },
    /// An atomic addition to a map element.
    Add {
        width: Width,
        to: Pick,
        at: Pick,
        value: Addend,
    },
    /// A call of `bpf_xdp_adjust_head`; if `check` is set, the program ends if the call fails.
    AdjustHead {
        delta: Delta,
        check: bool,
    },
    /// A call of `bpf_xdp_adjust_tail`; if `check` is set, the program ends if the call fails.
    AdjustTail {
        delta: Delta,
        check: bool,
    },
    /// A call of `bpf_get_prandom_u32`.
    Random,
    /// A call of one of the program's own functions.
    Call {
        function: Pick,
        arguments: [Operand; 3],
    },
    /// An exit of the program.
    Exit(Code),
}

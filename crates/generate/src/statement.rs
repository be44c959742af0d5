//! Defines the statements of random programs before they are translated to instructions.
//!
//! Statements are plain data without invariants. A statement identifies a register, offset or slot
//! by a [`Pick`], a choice among those that are possible at its position. If none is possible, the
//! statement is left out. Every list of statements is therefore a program, and shrinking preserves
//! this.

use slowpath_bpf::insn::{AluOp, Condition, Size, SwapKind, Width};

/// A choice from a list: an index, taken modulo the length of the list.
pub type Pick = u16;

/// A random program as a list of statements.
#[derive(Clone, Debug)]
pub struct Program {
    /// Choice of the register for the context: `r1` or one of `r6` to `r9`. With `r1`, the program
    /// cannot make calls.
    pub context: Pick,
    /// Number of bytes that the program checks at its start; 0 for no check.
    pub first_check: u16,
    /// The statements of the program.
    pub body: Vec<Stmt>,
    /// Result of the program.
    pub end: Code,
    /// Number of scalars that the program stores to the packet at its end.
    pub observed: u8,
    /// Functions that the program can call.
    pub functions: Vec<Function>,
    /// Properties of the program's map.
    pub map: MapShape,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub struct Function {
    /// Number of arguments, 1 to 3.
    pub arguments: u8,
    /// Statements of the function.
    pub body: Vec<Stmt>,
    /// Result of the function.
    pub result: Code,
}

/// The properties of the program's array map.
#[derive(Clone, Copy, Debug)]
pub struct MapShape {
    /// Number of 4-byte words in a value.
    pub words: u8,
    /// Binary logarithm of the number of elements.
    pub log_entries: u8,
    /// Bit mask of the words that programs use for atomic additions; the other words are for loads.
    pub added: u8,
}

/// The right operand of an instruction.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register that holds a scalar.
    Register(Pick),
    /// An immediate.
    Constant(i32),
}

/// The amount of a shift.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// An immediate, modulo the width of the shift.
    Constant(u8),
    /// A register whose value is masked to values below the width, unless its range is already
    /// below.
    Any(Pick),
    /// A register whose value is masked to values below 32.
    Low(Pick),
    /// A register whose value is masked to values from 32 to 63, or from 16 to 31 for 32-bit
    /// shifts.
    High(Pick),
    /// A register that is set to this constant, modulo the width of the shift.
    Known(u8),
}

/// A divisor.
#[derive(Clone, Copy, Debug)]
pub enum Divisor {
    /// An immediate. It is replaced by a positive number if necessary.
    Immediate(i32),
    /// A register that is set to this constant, or to 1 if the constant is 0.
    Known(u32),
}

/// The result of a program or function.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// A constant.
    Constant(i32),
    /// A scalar.
    Scalar(Pick),
    /// The two lowest bits of a scalar.
    Masked(Pick),
}

/// The number that an atomic addition adds.
#[derive(Clone, Copy, Debug)]
pub enum Addend {
    /// A scalar.
    Any(Pick),
    /// A scalar, masked to 16 bits.
    Short(Pick),
    /// A scalar with bit 16 set.
    Long(Pick),
    /// A constant.
    Known(i32),
}

/// A comparison of a pointer with the end of the packet.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// `p > end` jumps to the exit.
    Greater,
    /// `end < p` jumps to the exit.
    EndLess,
    /// `p <= end` jumps over the exit.
    LessEqual,
    /// `end >= p` jumps over the exit.
    EndGreaterEqual,
}

/// The distance by which the packet's start or end moves.
#[derive(Clone, Copy, Debug)]
pub enum Delta {
    /// A constant.
    Constant(i32),
    /// The bits of a scalar that a mask selects, negated if the flag is true.
    Variable(Pick, u8, bool),
}

/// Use of a value right after the program loads it.
#[derive(Clone, Copy, Debug)]
pub enum Follow {
    /// The value is not changed.
    Nothing,
    /// The value is masked to this size.
    Mask(Size),
    /// The value is truncated to 32 bits by two shifts.
    Truncate,
    /// The bytes of the value are swapped.
    Swap,
}

/// A condition on a register.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// Condition under which the first branch is taken.
    pub condition: Condition,
    /// Width of the comparison.
    pub width: Width,
    /// Left operand, a scalar.
    pub left: Pick,
    /// Right operand.
    pub right: Operand,
}

/// A load that a jump may skip, followed by a use of the loaded register.
#[derive(Clone, Copy, Debug)]
pub struct Straddle {
    /// Size of the load.
    pub size: Size,
    /// Register to load.
    pub via: Pick,
    /// Address of the load: choices of a pointer and of an offset from it.
    pub from: (Pick, Pick),
    /// Address at which the value is stored: choices of a pointer and of an offset. `None` to
    /// truncate the value instead.
    pub to: Option<(Pick, Pick)>,
    /// Number of adjacent values to copy, if the value is stored.
    pub count: u8,
}

/// A pointer at a variable offset.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// Scalar to use as offset.
    pub index: Pick,
    /// Mask of the offset.
    pub mask: u16,
    /// Packet pointer to which the offset is added.
    pub from: Pick,
    /// If true, the program adds the offset to a copy of the pointer, otherwise it adds the pointer
    /// to the offset.
    pub reverse: bool,
    /// Number of bytes to check.
    pub bytes: u8,
    /// Comparison for the check.
    pub by: Comparison,
}

/// A look-up in the map.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// Key.
    pub key: Operand,
    /// True if the key is masked to the index of an existing element.
    pub mask: bool,
    /// Choice of the key's slot on the stack.
    pub slot: Pick,
    /// Choice of another register that receives a copy of the result, if any.
    pub copy_to: Option<Pick>,
    /// True if the jump is taken when the element is missing.
    pub jump_if_missing: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// A move, sum, difference, or bitwise and, or, exclusive or.
    Alu(AluOp, Width, Pick, Operand),
    /// A negation.
    Neg(Width, Pick),
    /// A byte swap.
    Swap(SwapKind, Size, Pick),
    /// A 64-bit immediate.
    Constant(Pick, u64),
    /// A truncation to 32 bits by two shifts.
    Truncate(Pick),
    /// A shift.
    Shift(AluOp, Width, Pick, Amount),
    /// A multiplication.
    Multiply(Width, Pick, Operand),
    /// A division.
    Divide(Width, Pick, Divisor),
    /// A check that the packet has this many bytes; if it fails, the program ends.
    Check { bytes: u16, by: Comparison, fail: Code, keep: bool },
    /// A copy of a packet pointer, plus a constant.
    Point { from: Pick, to: Pick, by: i16 },
    /// A load from the packet.
    Load { size: Size, to: Pick, from: Pick, at: Pick, follow: Follow },
    /// A store to the packet.
    Store { size: Size, to: Pick, at: Pick, value: Operand },
    /// A copy of bytes within the packet, by alternating loads and stores of the same size.
    Copy { size: Size, count: u8, from: (Pick, Pick), to: (Pick, Pick), down: bool, via: Pick },
    /// A load that a conditional jump can skip, with a use of the loaded register.
    Straddle(Test, Straddle),
    /// Adds a masked offset to a packet pointer and checks the bounds of the result, which is valid
    /// in `inside`.
    Variable { access: Variable, inside: Vec<Stmt>, outside: Vec<Stmt> },
    /// A store to the stack.
    Push { size: Size, slot: Pick, value: Operand },
    /// A load from the stack.
    Pop { size: Size, slot: Pick, to: Pick },
    /// A store of a packet pointer on the stack.
    Spill { slot: Pick, pointer: Pick },
    /// A load of a packet pointer from the stack.
    Fill { slot: Pick, to: Pick },
    /// A conditional branch.
    If { test: Test, taken: Vec<Stmt>, other: Vec<Stmt> },
    /// A loop with a constant number of iterations.
    Loop { rounds: u8, up: bool, body: Vec<Stmt> },
    /// A conditional jump out of the innermost loop.
    Break(Test),
    /// A look-up in the map.
    Lookup { element: Element, found: Vec<Stmt>, missing: Vec<Stmt> },
    /// A load from a map element.
    Read { size: Size, to: Pick, from: Pick, at: Pick },
    /// An atomic addition to a map element.
    Add { width: Width, to: Pick, at: Pick, value: Addend },
    /// A move of the packet's start; if `check` is set, the program ends if the move fails.
    AdjustHead { delta: Delta, check: bool },
    /// A move of the packet's end; if `check` is set, the program ends if the move fails.
    AdjustTail { delta: Delta, check: bool },
    /// A call of the helper for random numbers.
    Random,
    /// A call of a function.
    Call { function: Pick, arguments: [Operand; 3] },
    /// An exit of the program.
    Exit(Code),
}

//! Statements: what a random program is before it becomes instructions.
//!
//! Statements are plain data without invariants. Which register, offset or slot a statement means is
//! a [`Pick`] among those that are possible where it stands; a statement that is not possible there
//! stands for nothing. So every list of statements is a program, and shrinking keeps it one.

use slowpath_bpf::insn::{AluOp, Condition, Size, SwapKind, Width};

/// A choice among what is possible, modulo how much that is.
pub type Pick = u16;

/// A program.
#[derive(Clone, Debug)]
pub struct Program {
    /// Where the context lives: `r1` if nothing is called and this is 0, else one of `r6` to `r9`.
    pub context: Pick,
    /// Bytes that are checked at the start; 0 for no check.
    pub first_check: u16,
    /// The statements of the program.
    pub body: Vec<Stmt>,
    /// How it ends.
    pub end: Code,
    /// At the end, so many scalars are stored to the packet.
    pub observed: u8,
    /// The functions.
    pub functions: Vec<Function>,
    /// The map.
    pub map: MapShape,
}

/// A function of the program.
#[derive(Clone, Debug)]
pub struct Function {
    /// How many arguments it has, 1 to 3.
    pub arguments: u8,
    /// Its statements.
    pub body: Vec<Stmt>,
    /// What it returns.
    pub result: Code,
}

/// The array map.
#[derive(Clone, Copy, Debug)]
pub struct MapShape {
    /// Words of 4 bytes in a value.
    pub words: u8,
    /// Binary logarithm of the number of elements.
    pub log_entries: u8,
    /// The words that are added to, one bit each; the others are read.
    pub added: u8,
}

/// A right operand.
#[derive(Clone, Copy, Debug)]
pub enum Operand {
    /// A register with a scalar.
    Register(Pick),
    /// An immediate.
    Constant(i32),
}

/// How far a shift by a register goes.
#[derive(Clone, Copy, Debug)]
pub enum Amount {
    /// An immediate, modulo the width.
    Constant(u8),
    /// A register that is masked to less than the width, if it is not known to be.
    Any(Pick),
    /// A register masked to less than 32.
    Low(Pick),
    /// A register masked to 32 to 63; for 32 bits, to 16 to 31.
    High(Pick),
    /// A register that holds this constant, modulo the width.
    Known(u8),
}

/// A divisor.
#[derive(Clone, Copy, Debug)]
pub enum Divisor {
    /// An immediate, made positive.
    Immediate(i32),
    /// A register that holds this constant, or 1 for 0.
    Known(u32),
}

/// What a program or function returns.
#[derive(Clone, Copy, Debug)]
pub enum Code {
    /// A constant.
    Constant(i32),
    /// A scalar.
    Scalar(Pick),
    /// A scalar's two lowest bits.
    Masked(Pick),
}

/// What is done to the source of an atomic add.
#[derive(Clone, Copy, Debug)]
pub enum Addend {
    /// Nothing.
    Any(Pick),
    /// It is masked to 16 bits.
    Short(Pick),
    /// Bit 16 is set.
    Long(Pick),
    /// It is a constant.
    Known(i32),
}

/// Ways to compare a pointer with the end of the packet.
#[derive(Clone, Copy, Debug)]
pub enum Comparison {
    /// `p > end` leaves.
    Greater,
    /// `end < p` leaves.
    EndLess,
    /// `p <= end` stays.
    LessEqual,
    /// `end >= p` stays.
    EndGreaterEqual,
}

/// By how much the packet's start or end is moved.
#[derive(Clone, Copy, Debug)]
pub enum Delta {
    /// A constant.
    Constant(i32),
    /// The low bits of a scalar, with a mask, and negated.
    Variable(Pick, u8, bool),
}

/// What is done to a loaded value at once.
#[derive(Clone, Copy, Debug)]
pub enum Follow {
    /// Nothing follows a load.
    Nothing,
    /// A mask of so many bytes follows.
    Mask(Size),
    /// The upper half is shifted out and back.
    Truncate,
    /// A swap of the loaded size.
    Swap,
}

/// A condition.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    /// When the first branch is taken.
    pub condition: Condition,
    /// Width of the comparison.
    pub width: Width,
    /// Left operand, a scalar.
    pub left: Pick,
    /// Right operand.
    pub right: Operand,
}

/// A load and what uses it.
#[derive(Clone, Copy, Debug)]
pub struct Straddle {
    /// The size of the load.
    pub size: Size,
    /// The register that is loaded.
    pub via: Pick,
    /// From where.
    pub from: (Pick, Pick),
    /// Where the value is stored; else it is truncated.
    pub to: Option<(Pick, Pick)>,
    /// If it is stored, so many of its neighbours are copied too, itself included.
    pub count: u8,
}

/// A pointer at a variable offset.
#[derive(Clone, Copy, Debug)]
pub struct Variable {
    /// The scalar.
    pub index: Pick,
    /// What it is masked with.
    pub mask: u16,
    /// What it is added to.
    pub from: Pick,
    /// Whether the pointer is added to the index, not the other way round.
    pub reverse: bool,
    /// How many bytes are checked to be there.
    pub bytes: u8,
    /// How.
    pub by: Comparison,
}

/// What is looked up in the map.
#[derive(Clone, Copy, Debug)]
pub struct Element {
    /// The number of the element.
    pub key: Operand,
    /// Whether the number is made to be one that exists.
    pub mask: bool,
    /// Where the key is on the stack.
    pub slot: Pick,
    /// Whether the result is kept in another register, and in which.
    pub keep: Option<Pick>,
    /// Whether the jump is taken if there is no element.
    pub jump_if_missing: bool,
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// `mov`, `add`, `sub`, `and`, `or`, `xor`.
    Alu(AluOp, Width, Pick, Operand),
    /// A negation.
    Neg(Width, Pick),
    /// A byte swap.
    Swap(SwapKind, Size, Pick),
    /// A 64-bit immediate.
    Constant(Pick, u64),
    /// The upper half is shifted out and back.
    Truncate(Pick),
    /// A shift.
    Shift(AluOp, Width, Pick, Amount),
    /// A multiplication.
    Multiply(Width, Pick, Operand),
    /// A division.
    Divide(Width, Pick, Divisor),
    /// So many bytes of the packet are checked to be there; the program ends if not.
    Check { bytes: u16, by: Comparison, fail: Code, keep: bool },
    /// A pointer into the packet is copied and moved.
    Point { from: Pick, to: Pick, by: i16 },
    /// A load from the packet.
    Load { size: Size, to: Pick, from: Pick, at: Pick, follow: Follow },
    /// A store to the packet.
    Store { size: Size, to: Pick, at: Pick, value: Operand },
    /// Loads and stores of the same width in turn.
    Copy { size: Size, count: u8, from: (Pick, Pick), to: (Pick, Pick), down: bool, via: Pick },
    /// A load that a jump leads behind, to the use of what would be loaded.
    Straddle(Test, Straddle),
    /// A pointer at a masked offset, checked; it is there in the first branch.
    Variable { access: Variable, inside: Vec<Stmt>, outside: Vec<Stmt> },
    /// A store to the stack.
    Push { size: Size, slot: Pick, value: Operand },
    /// A load from the stack.
    Pop { size: Size, slot: Pick, to: Pick },
    /// A packet pointer goes to the stack.
    Spill { slot: Pick, pointer: Pick },
    /// A packet pointer comes back.
    Fill { slot: Pick, to: Pick },
    /// Two branches.
    If { test: Test, taken: Vec<Stmt>, other: Vec<Stmt> },
    /// So many rounds.
    Loop { rounds: u8, up: bool, body: Vec<Stmt> },
    /// The innermost loop ends if the condition holds.
    Break(Test),
    /// A look-up in the map.
    Lookup { element: Element, found: Vec<Stmt>, missing: Vec<Stmt> },
    /// A load from a map's element.
    Read { size: Size, to: Pick, from: Pick, at: Pick },
    /// An atomic add to a map's element.
    Add { width: Width, to: Pick, at: Pick, value: Addend },
    /// The packet's start moves; the program ends if it does not and `check` says so.
    AdjustHead { delta: Delta, check: bool },
    /// The packet's end moves.
    AdjustTail { delta: Delta, check: bool },
    /// A random number.
    Random,
    /// A call of a function.
    Call { function: Pick, arguments: [Operand; 3] },
    /// The end.
    Exit(Code),
}

//! Generates random programs with nested loops that have several back edges and exits. The programs
//! use several memory regions, multi-byte values, spilled pointers, hash maps and random numbers.

// Each test file uses only some of these items.

mod compile;
pub mod elements;

pub use compile::{Shape, compile};
pub use elements::Element;

use proptest::prelude::*;
use slowpath_ir::BinaryOp;

/// Number of general registers, 16 bits each.
pub const VALUES: usize = 3;
/// Number of pointer registers into packet or stack, 32 bits each.
pub const POINTERS: usize = 2;
/// Number of registers for results of hash map look-ups, 64 bits each.
pub const HANDLES: usize = 2;
/// Maximum nesting of loops.
pub const NESTING: usize = 2;

/// A condition of a branch in a randomly generated program.
#[derive(Clone, Debug)]
pub enum Cond {
    /// A comparison of a register with a constant; `byte` restricts it to the low byte.
    Constant { op: BinaryOp, a: usize, constant: u8, byte: bool },
    /// A comparison of two registers.
    Values { op: BinaryOp, a: usize, b: usize },
    /// True if the packet is shorter than `length` bytes.
    Shorter { length: u16 },
    /// True if the packet is shorter than `base + (value & 3)` bytes; `a` is the register with the
    /// value.
    ShorterThanSum { base: u16, a: usize },
}

/// A statement of a randomly generated program. Fields such as `dst`, `src`, `a` and `b` are
/// numbers of registers.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Reads 1 or 2 bytes of the packet at a constant offset.
    Read {
        dst: usize,
        offset: u8,
        bytes: u8,
    },
    /// Writes 1 or 2 bytes of the packet at a constant offset.
    Write {
        src: usize,
        offset: u8,
        bytes: u8,
    },
    /// Sets a pointer register to byte `value & 7` of the packet or the stack; `a` is the register
    /// with the value.
    Point {
        pointer: usize,
        stack: bool,
        a: usize,
    },
    /// Advances a pointer register by `by` bytes.
    Advance {
        pointer: usize,
        by: u8,
    },
    /// Advances a pointer register by `value & 3` times 16 MiB; `a` is the register with the value.
    Leap {
        pointer: usize,
        a: usize,
    },
    /// Reads 1 or 2 bytes through a pointer register.
    ReadVia {
        dst: usize,
        pointer: usize,
        bytes: u8,
    },
    /// Writes 1 or 2 bytes through a pointer register.
    WriteVia {
        src: usize,
        pointer: usize,
        bytes: u8,
    },
    /// Stores a pointer register in one of two stack slots (spilling).
    Spill {
        pointer: usize,
        slot: u8,
    },
    /// Loads a pointer register from one of the two stack slots.
    Fill {
        pointer: usize,
        slot: u8,
    },
    /// Reads a byte of the program's map at offset `value & 3`; `a` is the register with the value.
    MapRead {
        dst: usize,
        a: usize,
    },
    /// Writes 2 bytes of the program's map at offset `value & 3`; `a` is the register with the
    /// value.
    MapWrite {
        src: usize,
        a: usize,
    },
    Compute {
        op: BinaryOp,
        dst: usize,
        a: usize,
        b: usize,
    },
    WithConstant {
        op: BinaryOp,
        dst: usize,
        a: usize,
        constant: u8,
    },
    /// A statement that uses the hash map, the table or a random number.
    Element(Element),
    /// Causes a cost event, so that the path becomes slower. `class` is the cost class, which has a
    /// price.
    Work {
        class: usize,
    },
    If {
        cond: Cond,
        then: Vec<Stmt>,
        otherwise: Vec<Stmt>,
    },
    /// Repeats the statements of its body at most `times` times.
    Loop {
        times: u8,
        body: Vec<Stmt>,
    },
    /// Leaves one or two loops if the condition holds.
    Break {
        cond: Cond,
        loops: usize,
    },
    /// Continues with the next iteration if the condition holds.
    Continue {
        cond: Cond,
    },
    /// Exits the program if the condition holds.
    Leave {
        cond: Cond,
    },
}

/// Generates a binary operator for two registers. Multiplication and remainder are left out,
/// because they would take the solver too long.
fn operator() -> impl Strategy<Value = BinaryOp> {
    use BinaryOp::{Add, And, Ashr, Lshr, Or, Shl, Sub, Xor};
    prop::sample::select(vec![Add, Sub, And, Or, Xor, Lshr, Shl, Ashr])
}

fn comparison() -> impl Strategy<Value = BinaryOp> {
    prop_oneof![Just(BinaryOp::Eq), Just(BinaryOp::Ult), Just(BinaryOp::Slt)]
}

fn cond() -> impl Strategy<Value = Cond> {
    let value = 0..VALUES;
    prop_oneof![
        5 => (comparison(), value.clone(), 0u8..5, any::<bool>())
            .prop_map(|(op, a, constant, byte)| Cond::Constant { op, a, constant, byte }),
        2 => (comparison(), value.clone(), value.clone())
            .prop_map(|(op, a, b)| Cond::Values { op, a, b }),
        1 => (59u16..70).prop_map(|length| Cond::Shorter { length }),
        2 => (58u16..68, value).prop_map(|(base, a)| Cond::ShorterThanSum { base, a }),
    ]
}

fn simple() -> impl Strategy<Value = Stmt> {
    let value = 0..VALUES;
    let pointer = 0..POINTERS;
    let v = || value.clone();
    let p = || pointer.clone();
    prop_oneof![
        3 => (v(), 0u8..6, 1u8..3)
            .prop_map(|(dst, offset, bytes)| Stmt::Read { dst, offset, bytes }),
        1 => (v(), 0u8..6, 1u8..3)
            .prop_map(|(src, offset, bytes)| Stmt::Write { src, offset, bytes }),
        2 => (p(), any::<bool>(), v())
            .prop_map(|(pointer, stack, a)| Stmt::Point { pointer, stack, a }),
        1 => (p(), 0u8..3).prop_map(|(pointer, by)| Stmt::Advance { pointer, by }),
        1 => (p(), v()).prop_map(|(pointer, a)| Stmt::Leap { pointer, a }),
        3 => (v(), p(), 1u8..3)
            .prop_map(|(dst, pointer, bytes)| Stmt::ReadVia { dst, pointer, bytes }),
        2 => (v(), p(), 1u8..3)
            .prop_map(|(src, pointer, bytes)| Stmt::WriteVia { src, pointer, bytes }),
        1 => (p(), 0u8..2).prop_map(|(pointer, slot)| Stmt::Spill { pointer, slot }),
        1 => (p(), 0u8..2).prop_map(|(pointer, slot)| Stmt::Fill { pointer, slot }),
        1 => (v(), v()).prop_map(|(dst, a)| Stmt::MapRead { dst, a }),
        1 => (v(), v()).prop_map(|(src, a)| Stmt::MapWrite { src, a }),
        1 => (operator(), v(), v(), v())
            .prop_map(|(op, dst, a, b)| Stmt::Compute { op, dst, a, b }),
        2 => (prop_oneof![4 => operator(), 1 => Just(BinaryOp::Mul)], v(), v(), 0u8..5)
            .prop_map(|(op, dst, a, constant)| Stmt::WithConstant { op, dst, a, constant }),
        6 => elements::element().prop_map(Stmt::Element),
        3 => (0usize..5).prop_map(|class| Stmt::Work { class }),
    ]
}

/// Generates a list of statements inside `loops` enclosing loops; the list itself is nested at most
/// `depth` deep.
fn list(loops: usize, depth: usize) -> BoxedStrategy<Vec<Stmt>> {
    let leave = cond().prop_map(|cond| Stmt::Leave { cond });
    let mut kinds: Vec<(u32, BoxedStrategy<Stmt>)> =
        vec![(9, simple().boxed()), (1, leave.boxed())];
    if loops > 0 {
        let exit = (cond(), 1..loops + 1).prop_map(|(cond, loops)| Stmt::Break { cond, loops });
        kinds.push((2, exit.boxed()));
        kinds.push((1, cond().prop_map(|cond| Stmt::Continue { cond }).boxed()));
    }
    if depth > 0 {
        let branches = (cond(), list(loops, depth - 1), list(loops, depth - 1));
        let branch =
            branches.prop_map(|(cond, then, otherwise)| Stmt::If { cond, then, otherwise });
        kinds.push((4, branch.boxed()));
        if loops < NESTING {
            let repeat = (1u8..4, list(loops + 1, depth - 1))
                .prop_map(|(times, body)| Stmt::Loop { times, body });
            kinds.push((2, repeat.boxed()));
        }
    }
    let most = if depth == 0 { 3 } else { 6 };
    prop::collection::vec(prop::strategy::Union::new_weighted(kinds), 0..most).boxed()
}

/// Generates statements that write and read through a pointer to the packet or to the stack. A
/// branch selects packet or stack, so the memory region is constant only on single paths.
fn deferred() -> impl Strategy<Value = Vec<Stmt>> {
    let value = 0..VALUES;
    let parts = (cond(), value.clone(), cond(), simple(), simple(), list(0, 1));
    let ends = (value.clone(), 1u8..3, cond(), (comparison(), 0u8..4), list(0, 1));
    (parts, ends).prop_map(|((first, a, second, then, other, middle), ends)| {
        let (b, bytes, third, (op, constant), rest) = ends;
        let pointer = 0;
        let point = |stack| vec![Stmt::Point { pointer, stack, a }];
        let mut all = vec![Stmt::If { cond: first, then: point(false), otherwise: point(true) }];
        let write = vec![Stmt::WriteVia { src: b, pointer, bytes }, then];
        all.push(Stmt::If { cond: second, then: write, otherwise: vec![other] });
        all.extend(middle);
        all.push(Stmt::ReadVia { dst: b, pointer, bytes });
        let read = Cond::Constant { op, a: b, constant, byte: true };
        all.push(Stmt::If { cond: read, then: vec![Stmt::Work { class: 4 }], otherwise: vec![] });
        all.push(Stmt::If { cond: third, then: rest, otherwise: vec![Stmt::Work { class: 1 }] });
        all
    })
}

pub fn statements() -> impl Strategy<Value = Vec<Stmt>> {
    prop_oneof![2 => list(0, 3), 1 => deferred()]
}

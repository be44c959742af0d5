//! Statements of C programs. Numbers are taken modulo what there is, so that every list is a program.

/// A program.
#[derive(Clone, Debug)]
pub struct Source {
    /// What it does.
    pub body: Vec<Stmt>,
    /// The function that it can call.
    pub function: Vec<Stmt>,
    /// The maps.
    pub maps: [Table; 2],
}

/// A map.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Number of its type, see [`super::print`].
    pub kind: u8,
    /// How many elements it can hold.
    pub entries: u32,
}

/// A condition on one of the variables.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Which variable.
    pub variable: u8,
    /// Which comparison.
    pub comparison: u8,
    /// With what.
    pub constant: u32,
}

/// By how much an end of the packet moves.
#[derive(Clone, Copy, Debug)]
pub enum Distance {
    /// A constant.
    Constant(i32),
    /// The low bits of a variable, with a mask, and a constant less.
    Variable(u8, u8, i32),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// A field of so many bytes at an offset becomes a variable, if the packet has it.
    Field { at: u16, bytes: u8, to: u8, swap: bool },
    /// A field at a variable offset.
    FieldAt { variable: u8, mask: u8, at: u8, bytes: u8, to: u8 },
    /// Arithmetic on variables.
    Compute { operator: u8, to: u8, from: u8, constant: u32 },
    /// Options of kind and length are walked through, at most so many.
    Options { at: u16, most: u8, wanted: u8, mask: u8, to: u8 },
    /// VLAN tags are skipped, as many as allowed.
    Tags { most: u8, to: u8 },
    /// Bytes are added up, at most so many.
    Sum { at: u16, most: u8, to: u8, by: u8 },
    /// Branches.
    If { test: Condition, then: Vec<Stmt>, other: Vec<Stmt> },
    /// A `switch`.
    Switch { variable: u8, mask: u8, cases: Vec<Vec<Stmt>> },
    /// A counter in a map, made if it is missing.
    Count { map: u8, key: u8, mask: u8, flags: u8, reread: bool },
    /// What an element says decides.
    State { map: u8, key: u8, mask: u8, limit: u8, found: Vec<Stmt>, missing: Vec<Stmt> },
    /// An element goes.
    Forget { map: u8, key: u8, mask: u8 },
    /// The head moves; what follows is done where it does.
    Head { by: Distance, then: Vec<Stmt> },
    /// The tail moves.
    Tail { by: Distance, then: Vec<Stmt> },
    /// Bytes are written.
    Write { at: u16, bytes: u8, variable: u8 },
    /// A call of the function.
    Call { first: u8, second: u8, to: u8 },
    /// Bytes by way of helpers.
    Copy { at: u16, to: u16, bytes: u8 },
    /// The program ends here.
    Return { action: u8 },
}

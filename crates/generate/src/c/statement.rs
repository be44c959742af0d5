//! Defines the statements of C programs. Every list of statements is a valid program.

/// A C program before it is printed.
#[derive(Clone, Debug)]
pub struct Source {
    /// Statements of the program.
    pub body: Vec<Stmt>,
    /// Statements of the function that the program can call.
    pub function: Vec<Stmt>,
    /// Maps that the program can use.
    pub maps: [Table; 2],
}

/// A map of a generated C program.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Number of the map type; [`super::print`] defines the numbers.
    pub kind: u8,
    /// Capacity in elements.
    pub entries: u32,
}

/// A condition on one of the variables.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Number of the variable.
    pub variable: u8,
    /// Number of the comparison; [`super::print`] defines the numbers.
    pub comparison: u8,
    /// Right operand.
    pub constant: u32,
}

/// The distance by which the start or end of the packet moves.
#[derive(Clone, Copy, Debug)]
pub enum Distance {
    /// A constant.
    Constant(i32),
    /// The bits of a variable that a mask selects, minus a constant.
    Variable(u8, u8, i32),
}

/// A statement.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Loads a field of `bytes` bytes at an offset into a variable, if the packet is long enough.
    Field { at: u16, bytes: u8, to: u8, swap: bool },
    /// Loads a field at an offset that depends on a variable.
    FieldAt { variable: u8, mask: u8, at: u8, bytes: u8, to: u8 },
    /// Arithmetic on variables.
    Compute { operator: u8, to: u8, from: u8, constant: u32 },
    /// Walks over at most `most` options, each of which has a kind and a length.
    Options { at: u16, most: u8, wanted: u8, mask: u8, to: u8 },
    /// Skips at most `most` VLAN tags.
    Tags { most: u8, to: u8 },
    /// Adds up at most `most` bytes of the packet.
    Sum { at: u16, most: u8, to: u8, by: u8 },
    /// Branches on a condition.
    If { test: Condition, then: Vec<Stmt>, other: Vec<Stmt> },
    /// A `switch`.
    Switch { variable: u8, mask: u8, cases: Vec<Vec<Stmt>> },
    /// Increments a counter in a map, or inserts the counter if it does not exist.
    Count { map: u8, key: u8, mask: u8, flags: u8, reread: bool },
    /// Looks up a map element. Runs `found` if it exists and has counted more than `limit` packets,
    /// otherwise `missing`.
    State { map: u8, key: u8, mask: u8, limit: u8, found: Vec<Stmt>, missing: Vec<Stmt> },
    /// Deletes a map element.
    Forget { map: u8, key: u8, mask: u8 },
    /// Moves the packet's head; executes `then` if this succeeds.
    Head { by: Distance, then: Vec<Stmt> },
    /// Moves the packet's tail; executes `then` if this succeeds.
    Tail { by: Distance, then: Vec<Stmt> },
    /// Writes bytes to the packet.
    Write { at: u16, bytes: u8, variable: u8 },
    /// Calls the function of the program.
    Call { first: u8, second: u8, to: u8 },
    /// Copies bytes with `bpf_xdp_load_bytes` and `bpf_xdp_store_bytes`.
    Copy { at: u16, to: u16, bytes: u8 },
    /// Ends the program.
    Return { action: u8 },
}

//! Defines the statements of generated C programs. Every list of statements is a valid program.

/// A C program as statements, before it is printed as text.
#[derive(Clone, Debug)]
pub struct Source {
    /// Statements of the XDP program itself.
    pub body: Vec<Stmt>,
    /// Statements of the C function that the program can call.
    pub function: Vec<Stmt>,
    pub maps: [Table; 2],
}

/// A map of a generated C program.
#[derive(Clone, Copy, Debug)]
pub struct Table {
    /// Number of the map type, which [`super::print`] translates to the kernel's number.
    pub kind: u8,
    /// Capacity in elements.
    pub entries: u32,
}

/// A condition of a generated branch: a comparison of a variable with a constant.
#[derive(Clone, Copy, Debug)]
pub struct Condition {
    /// Number of the C variable that is the left operand.
    pub variable: u8,
    /// Number of the comparison operator; [`super::print`] defines the numbers.
    pub comparison: u8,
    pub constant: u32,
}

/// The distance in bytes by which a helper call moves the start or end of the packet.
#[derive(Clone, Copy, Debug)]
pub enum Distance {
    Constant(i32),
    /// `(variable & mask) - constant`. The fields are the number of the variable, the mask and the
    /// constant.
    Variable(u8, u8, i32),
}

/// A statement of a generated C program. Fields such as `to`, `from` and `variable` are numbers of
/// C variables.
#[derive(Clone, Debug)]
pub enum Stmt {
    /// Loads a field of `bytes` bytes, at the packet offset `at`, into a variable, if the packet is
    /// long enough.
    Field {
        at: u16,
        bytes: u8,
        to: u8,
        swap: bool,
    },
    /// Loads a packet field, at an offset that depends on a variable, into the variable `to`.
    FieldAt {
        variable: u8,
        mask: u8,
        at: u8,
        bytes: u8,
        to: u8,
    },
    /// Assigns the result of an arithmetic operation to `to`, computed from two variables and a
    /// constant.
    Compute {
        operator: u8,
        to: u8,
        from: u8,
        constant: u32,
    },
    /// Parses at most `most` header options, each with a type byte and a length byte, from offset
    /// `at`. If an option has type `wanted`, stores its length in `to`.
    Options {
        at: u16,
        most: u8,
        wanted: u8,
        mask: u8,
        to: u8,
    },
    /// Skips at most `most` VLAN tags in the Ethernet header, and adds the numbers in the tags to
    /// the variable `to`.
    Tags {
        most: u8,
        to: u8,
    },
    /// Adds the values of at most `most` packet bytes to the variable `to`: every `by`-th byte from
    /// offset `at`.
    Sum {
        at: u16,
        most: u8,
        to: u8,
        by: u8,
    },
    If {
        test: Condition,
        then: Vec<Stmt>,
        other: Vec<Stmt>,
    },
    /// A C `switch` statement on a variable of which only the bits in a mask count.
    Switch {
        variable: u8,
        mask: u8,
        cases: Vec<Vec<Stmt>>,
    },
    /// Increments a counter in a map, or inserts the counter if it does not exist. If `reread` is
    /// set, also replaces the element and then reads through the pointer to the old element.
    Count {
        map: u8,
        key: u8,
        mask: u8,
        flags: u8,
        reread: bool,
    },
    /// Looks up a map element, whose value contains a packet counter. Runs `found` if the element
    /// exists and its counter exceeds `limit`, otherwise `missing`.
    State {
        map: u8,
        key: u8,
        mask: u8,
        limit: u8,
        found: Vec<Stmt>,
        missing: Vec<Stmt>,
    },
    /// Deletes the map element whose key is a variable of which only the bits in a mask count.
    Forget {
        map: u8,
        key: u8,
        mask: u8,
    },
    /// Moves the start of the packet with `bpf_xdp_adjust_head`; executes `then` if this succeeds.
    Head {
        by: Distance,
        then: Vec<Stmt>,
    },
    /// Moves the end of the packet with `bpf_xdp_adjust_tail`; executes `then` if this succeeds.
    Tail {
        by: Distance,
        then: Vec<Stmt>,
    },
    /// Writes `bytes` bytes of a variable to the packet, if the packet is long enough.
    Write {
        at: u16,
        bytes: u8,
        variable: u8,
    },
    /// Calls the C function of the program with two variables as arguments.
    Call {
        first: u8,
        second: u8,
        to: u8,
    },
    /// Copies `bytes` bytes of the packet from offset `at` to offset `to`, with
    /// `bpf_xdp_load_bytes` and `bpf_xdp_store_bytes`.
    Copy {
        at: u16,
        to: u16,
        bytes: u8,
    },
    /// Returns an XDP action, which ends the program.
    Return {
        action: u8,
    },
}

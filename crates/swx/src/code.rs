//! Pipelines whose names are resolved: fields are places in memory, and labels are positions.

use crate::spec::{Alu, Relation};

/// Memory that a field is a part of.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The header with this number.
    Header(usize),
    /// Metadata of the packet.
    Meta,
    /// Action data of the running action.
    Data,
}

/// A field in memory. Fields of headers have network byte order, others have little-endian order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Memory of the field.
    pub base: Base,
    /// Offset in bytes.
    pub offset: u32,
    /// Number of bytes.
    pub bytes: u32,
}

impl Place {
    /// Returns true if the field has network byte order.
    pub fn is_network_order(self) -> bool {
        matches!(self.base, Base::Header(_))
    }
}

/// A source of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A field of at most 8 bytes.
    Field(Place),
    /// A number.
    Number(u64),
}

/// Condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// Always.
    Always,
    /// The header with this number is valid, or not.
    Valid(usize, bool),
    /// The last table had an entry for the packet, or not.
    Hit(bool),
    /// The last table ran the action with this number, or not.
    Action(usize, bool),
    /// A comparison of numbers.
    Compare(Relation, Place, Value),
}

/// An instruction whose names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// Receives the packet; the metadata field gets the number of the port.
    Receive(Place),
    /// Sends the packet (true) or drops it, which ends the pass.
    Finish(bool),
    /// Makes the next sending the start of a further pass.
    Recirculate,
    /// Adds a header to the packet that is sent, if the header is valid.
    Emit(usize),
    /// No effect on the run, as for a prefetch.
    Nothing,
    /// The field gets the number of earlier passes of the packet.
    Pass(Place),
    /// Takes a header from the packet. The place has the bytes of its variable field.
    Extract(usize, Option<Place>),
    /// Reads a header that stays in the packet.
    Lookahead(usize),
    /// Makes a header valid.
    Validate(usize),
    /// Makes a header invalid.
    Invalidate(usize),
    /// Copies a number.
    Move(Place, Value),
    /// Copies bytes of equal number.
    CopyBytes(Place, Place),
    /// Computes a number of at most 64 bits.
    Alu(Alu, Place, Value),
    /// Adds bytes to a checksum (true) or subtracts them.
    Checksum(bool, Place, Place),
    /// The field gets a hash.
    Hash(Place, String),
    /// Reads a register.
    RegisterRead(Place, usize, Value),
    /// Writes a register (false) or adds to it (true).
    RegisterWrite(bool, usize, Value, Value),
    /// The field gets the colour of a meter.
    Meter(Place),
    /// Looks up the table with this number.
    Table(usize),
    /// Looks up the selector with this number; the field gets the number of the member.
    Select(usize, Place),
    /// The field gets the number of the entry.
    EntryId(Place),
    /// Jumps to the instruction with this number.
    Jump(When, usize),
    /// Leaves the action.
    Return,
}

/// An outcome of a lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// True if the table has an entry for the packet.
    pub hit: bool,
    /// Number of the action.
    pub action: usize,
    /// Action data in the order of memory; `None` if it can be any data.
    pub data: Option<Vec<u8>>,
}

/// A table with an action: a table or a learner.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Name of the table.
    pub name: String,
    /// Kind of the table, for cost classes: `exact`, `lpm`, `wildcard`, `learner` or `none`.
    pub kind: &'static str,
    /// Bytes from the first to the last field of the key.
    pub key_bytes: u32,
    /// Greatest number of entries.
    pub size: u32,
    /// Possible outcomes, in the order of the file; hits come first.
    pub outcomes: Vec<Outcome>,
}

/// Instructions of an action or of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Instructions.
    pub code: Vec<Code>,
}

/// A pipeline whose names are resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Bytes of each header, without a variable field.
    pub header_bytes: Vec<u32>,
    /// Greatest number of bytes of each header.
    pub header_room: Vec<u32>,
    /// Tables and learners.
    pub lookups: Vec<Lookup>,
    /// Bodies of the actions, by number.
    pub actions: Vec<Body>,
    /// Body of the pipeline.
    pub apply: Body,
}

//! Pipelines after name resolution: fields are offsets in memory, labels are instruction indices.

use crate::spec::{Alu, Relation};

/// Memory that contains a field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Base {
    /// The header with this index.
    Header(usize),
    /// Metadata of the packet.
    Meta,
    /// Action data of the running action.
    Data,
}

/// Location of a field in memory. Fields of headers have network byte order, all others
/// little-endian order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// Memory that contains the field.
    pub base: Base,
    /// Offset of the field in this memory, in bytes.
    pub offset: u32,
    /// Size of the field in bytes.
    pub bytes: u32,
}

impl Place {
    /// Returns true if the field has network byte order, as fields of headers do.
    pub fn is_network_order(self) -> bool {
        matches!(self.base, Base::Header(_))
    }
}

/// Source operand of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Value {
    /// A field of at most 8 bytes.
    Field(Place),
    /// A constant.
    Number(u64),
}

/// Condition of a jump.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum When {
    /// The jump is always taken.
    Always,
    /// Jump if the header with this index is valid (`true`) or invalid (`false`).
    Valid(usize, bool),
    /// Jump if the last table lookup was a hit (`true`) or a miss (`false`).
    Hit(bool),
    /// Jump if the last table lookup selected the action with this index (`true`) or another one
    /// (`false`).
    Action(usize, bool),
    /// Jump if the relation holds between a field and an operand; numbers are unsigned.
    Compare(Relation, Place, Value),
}

/// An instruction after name resolution: headers, tables and actions are indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Code {
    /// `rx`: receives the packet, and stores the number of the input port.
    Receive(Place),
    /// `tx` or `drop`: ends the pass by sending (`true`) or dropping (`false`) the packet.
    Finish(bool),
    /// `recirculate`: after the next `tx`, the packet takes another pass instead of leaving.
    Recirculate,
    /// `emit`: appends a header to the output packet if the header is valid.
    Emit(usize),
    /// An instruction without effect on results, such as a prefetch.
    Nothing,
    /// `recircid`: stores the number of earlier passes of the packet.
    Pass(Place),
    /// `extract`: takes a header from the packet. The field holds the length in bytes of its
    /// variable-length (varbit) field; `None` if it has none.
    Extract(usize, Option<Place>),
    /// `lookahead`: reads a header, which stays in the packet.
    Lookahead(usize),
    /// `validate`: makes a header valid.
    Validate(usize),
    /// `invalidate`: makes a header invalid.
    Invalidate(usize),
    /// `mov`: copies a number of at most 64 bits to a field.
    Move(Place, Value),
    /// `mov` between fields of more than 64 bits: copies the bytes of the second field to the
    /// first.
    CopyBytes(Place, Place),
    /// Arithmetic, such as `add`: the field is the left operand and receives the result.
    Alu(Alu, Place, Value),
    /// `ckadd` (`true`) or `cksub` (`false`): adds the bytes in the second place to the checksum in
    /// the first one, or subtracts them.
    Checksum(bool, Place, Place),
    /// `hash`: stores the hash that the hash function with this name computes.
    Hash(Place, String),
    /// `regrd`: copies a register to the field. The other parts are the index of the register
    /// array, and the index of the register in it.
    RegisterRead(Place, usize, Value),
    /// `regwr` (`false`) or `regadd` (`true`): writes a register or adds to it. The other parts are
    /// the index of the register array, the index of the register in it, and the operand.
    RegisterWrite(bool, usize, Value, Value),
    /// `meter`: stores the colour of a meter.
    Meter(Place),
    /// `table`: looks up the table or learner with this index in [`Resolved::lookups`], and runs
    /// the action.
    Table(usize),
    /// `table` for the selector with this index: stores the number of the chosen member in the
    /// field.
    Select(usize, Place),
    /// `entryid`: stores the number of the entry that the last lookup found.
    EntryId(Place),
    /// Jumps to the instruction with this index in the same body if the condition holds.
    Jump(When, usize),
    /// `return`: leaves the action.
    Return,
}

/// A possible result of a table lookup.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Outcome {
    /// True if an entry matches the packet.
    pub hit: bool,
    /// Index of the action that the lookup selects.
    pub action: usize,
    /// Action data as the bytes in memory; `None` if the control plane can choose any data.
    pub data: Option<Vec<u8>>,
}

/// A table or learner for the analysis: a list of the possible results of its lookups.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Name of the table.
    pub name: String,
    /// Kind of the table, for the names of cost classes: `exact`, `lpm`, `wildcard`, `learner` or
    /// `none`.
    pub kind: &'static str,
    /// Number of bytes from the first to the last field of the key.
    pub key_bytes: u32,
    /// Largest number of entries.
    pub size: u32,
    /// Possible results of a lookup, in the order of the file; hits precede misses.
    pub outcomes: Vec<Outcome>,
}

/// Instruction list of an action or of the block `apply`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Body {
    /// Instructions, in order.
    pub code: Vec<Code>,
}

/// A pipeline after name resolution.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Size of each header in bytes, without its variable-length field.
    pub header_bytes: Vec<u32>,
    /// Size of each header in bytes, with its variable-length field at its largest.
    pub header_room: Vec<u32>,
    /// Tables, then learners.
    pub lookups: Vec<Lookup>,
    /// Bodies of the actions, by index.
    pub actions: Vec<Body>,
    /// Body of the block `apply`.
    pub apply: Body,
}

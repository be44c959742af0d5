//! Pipelines as data: everything that a `.spec` file of DPDK 22.11 can declare.
//!
//! A reader of files ([`crate::parse()`]) makes a [`Spec`], and so can a compiler. [`crate::print()`]
//! writes it.

use std::sync::Arc;

/// Number of a line in a file, from 1. A made-up item has line 0.
///
/// All lines are equal, so that two pipelines are equal if they declare the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub u32);

impl PartialEq for Line {
    fn eq(&self, _: &Line) -> bool {
        true
    }
}

impl Eq for Line {}

/// Line of another program that an instruction was translated from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Path of the file, as the compiler read it.
    pub file: Arc<str>,
    /// Number of the line, from 1.
    pub line: u32,
    /// Text of the line without blanks at its end; long lines are cut.
    pub text: Arc<str>,
}

/// Origin of an instruction; none if it was not translated, or if the compiler added it.
///
/// All origins are equal, as all lines are.
#[derive(Clone, Debug, Default)]
pub struct Origin(pub Option<Arc<SourceLine>>);

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

/// A pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Objects whose type a C program registers.
    pub extern_objects: Vec<ExternObject>,
    /// Types of headers, metadata and action data.
    pub structs: Vec<Struct>,
    /// Headers of packets.
    pub headers: Vec<Header>,
    /// The struct of the metadata.
    pub metadata: Option<Metadata>,
    /// Arrays of 64-bit registers.
    pub register_arrays: Vec<RegisterArray>,
    /// Arrays of meters.
    pub meter_arrays: Vec<MeterArray>,
    /// Actions of tables. An action that `learn` names precedes its user.
    pub actions: Vec<Action>,
    /// Tables whose entries the control plane writes.
    pub tables: Vec<Table>,
    /// Tables that choose a member of a group by a hash.
    pub selectors: Vec<Selector>,
    /// Tables whose entries packets write.
    pub learners: Vec<Learner>,
    /// Instructions that run for each packet. The first is `rx`.
    pub apply: Vec<Instruction>,
}

impl Spec {
    /// Returns the line of the program that an instruction was translated from, or else its own.
    pub fn origin_of(&self, line: Line) -> u32 {
        let actions = self.actions.iter().flat_map(|action| &action.instructions);
        let found = self.apply.iter().chain(actions).find(|one| one.line.0 == line.0);
        found.and_then(|one| one.origin.0.as_ref()).map_or(line.0, |origin| origin.line)
    }
}

/// An extern object: `extobj NAME instanceof TYPE`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ExternObject {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the object.
    pub name: String,
    /// Name of the type, which a C program registers.
    pub kind: String,
    /// Argument of the constructor.
    pub pragma: Option<String>,
}

/// A struct type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Struct {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the type.
    pub name: String,
    /// Fields, in the order of memory.
    pub fields: Vec<Field>,
    /// True if the last field has a variable size, up to its width.
    pub variable: bool,
}

impl Struct {
    /// Returns a field and its offset in bits.
    pub fn field(&self, name: &str) -> Option<(&Field, u32)> {
        let mut offset = 0;
        for field in &self.fields {
            if field.name == name {
                return Some((field, offset));
            }
            offset += field.bits;
        }
        None
    }

    /// Returns the number of bits of all fields.
    pub fn bits(&self) -> u32 {
        self.fields.iter().map(|field| field.bits).sum()
    }
}

/// A field of a struct.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Field {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the field, which may have dots.
    pub name: String,
    /// Width in bits, a multiple of 8; the greatest width of a field with a variable size.
    pub bits: u32,
}

/// A packet header: `header NAME instanceof STRUCT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the header.
    pub name: String,
    /// Name of its struct.
    pub kind: String,
}

/// The metadata of a packet: `metadata instanceof STRUCT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Metadata {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the struct.
    pub kind: String,
}

/// An array of 64-bit registers.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RegisterArray {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the array.
    pub name: String,
    /// Number of registers, at least 1. DPDK rounds it up to a power of two.
    pub size: u32,
    /// First value of each register.
    pub initial: u64,
}

/// An array of meters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MeterArray {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the array.
    pub name: String,
    /// Number of meters, at least 1. DPDK rounds it up to a power of two.
    pub size: u32,
}

/// An action.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the action.
    pub name: String,
    /// Name of the struct of its action data.
    pub data: Option<String>,
    /// Instructions.
    pub instructions: Vec<Instruction>,
}

/// Kind of a comparison with a key field.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The field equals the value of the entry.
    Exact,
    /// The field equals the value of the entry under its mask.
    Wildcard,
    /// The field begins with the prefix of the entry.
    Lpm,
}

/// A field of a table key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Line of the declaration.
    pub line: Line,
    /// The field.
    pub field: FieldRef,
    /// Kind of the comparison.
    pub kind: Match,
}

/// Entries that may have an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// All entries.
    Any,
    /// Only entries other than the default: `@tableonly`.
    TableOnly,
    /// Only the default entry: `@defaultonly`.
    DefaultOnly,
}

/// An action that a table names.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRef {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the action.
    pub name: String,
    /// Entries that may have the action.
    pub used: Use,
}

/// Action of a table for packets without an entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultAction {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the action.
    pub name: String,
    /// Action data: names and values, as the file writes them.
    pub arguments: Vec<(String, String)>,
    /// True if the control plane cannot replace it.
    pub constant: bool,
}

/// A table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Table {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the table.
    pub name: String,
    /// Fields of the key.
    pub key: Vec<KeyField>,
    /// Actions.
    pub actions: Vec<ActionRef>,
    /// Default action.
    pub default_action: DefaultAction,
    /// Name of the hash function.
    pub hash: Option<String>,
    /// Name of the recommended table type: `instanceof`.
    pub kind: Option<String>,
    /// Argument of the table type.
    pub pragma: Option<String>,
    /// Greatest number of entries.
    pub size: u32,
}

/// A selector table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the table.
    pub name: String,
    /// Field with the number of the group.
    pub group: String,
    /// Fields that the hash reads.
    pub fields: Vec<FieldRef>,
    /// Field that gets the number of the member.
    pub member: String,
    /// Greatest number of groups.
    pub groups: u32,
    /// Greatest number of members of a group.
    pub members: u32,
}

/// A learner table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Learner {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the table.
    pub name: String,
    /// Fields of the key.
    pub key: Vec<FieldRef>,
    /// Actions.
    pub actions: Vec<ActionRef>,
    /// Default action.
    pub default_action: DefaultAction,
    /// Name of the hash function.
    pub hash: Option<String>,
    /// Greatest number of entries.
    pub size: u32,
    /// Timeouts in seconds.
    pub timeouts: Vec<u32>,
}

/// A field that an instruction names.
#[derive(Clone, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub enum FieldRef {
    /// Field of a header: `h.HEADER.FIELD`, in network byte order.
    Header {
        /// Name of the header.
        header: String,
        /// Name of the field.
        field: String,
    },
    /// Field of the metadata: `m.FIELD`, in host byte order.
    Meta(String),
    /// Field of the action data: `t.FIELD`.
    Data(String),
    /// Field of the mailbox of an extern object: `e.OBJECT.FIELD`.
    Object {
        /// Name of the object.
        object: String,
        /// Name of the field.
        field: String,
    },
    /// Field of the mailbox of an extern function: `f.FUNCTION.FIELD`.
    Function {
        /// Name of the function.
        function: String,
        /// Name of the field.
        field: String,
    },
}

/// A source of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Value of a field.
    Field(FieldRef),
    /// A number.
    Immediate(u64),
}

/// Operation of an arithmetic instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Alu {
    /// Sum.
    Add,
    /// Difference.
    Sub,
    /// Bitwise conjunction.
    And,
    /// Bitwise disjunction.
    Or,
    /// Bitwise exclusive disjunction.
    Xor,
    /// Shift to the left.
    Shl,
    /// Logical shift to the right.
    Shr,
}

/// Relation of a conditional jump; numbers are unsigned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Relation {
    /// Equality.
    Eq,
    /// Inequality.
    Ne,
    /// Less than.
    Lt,
    /// Greater than.
    Gt,
}

/// Condition of a jump.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Condition {
    /// `jmp`: always.
    Always,
    /// `jmpv`: the header is valid.
    Valid(String),
    /// `jmpnv`: the header is not valid.
    Invalid(String),
    /// `jmph`: the last table had an entry for the packet.
    Hit,
    /// `jmpnh`: the last table had no entry for the packet.
    Miss,
    /// `jmpa`: the last table ran the action.
    Action(String),
    /// `jmpna`: the last table ran another action.
    NotAction(String),
    /// `jmpeq`, `jmpneq`, `jmplt`, `jmpgt`: a comparison.
    Compare {
        /// The relation.
        relation: Relation,
        /// Left side.
        left: FieldRef,
        /// Right side.
        right: Operand,
    },
}

/// Source of a checksum instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summand {
    /// A field.
    Field(FieldRef),
    /// A whole header.
    Header(String),
}

/// Function that an `extern` instruction calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Member function of an extern object.
    Object {
        /// Name of the object.
        object: String,
        /// Name of the function.
        function: String,
    },
    /// Extern function.
    Function(String),
}

/// An instruction with its place and label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Line of the instruction.
    pub line: Line,
    /// Line of the program that the pipeline was translated from.
    pub origin: Origin,
    /// Label that jumps name.
    pub label: Option<String>,
    /// Operation with its operands.
    pub op: Op,
}

impl Instruction {
    /// Makes an instruction without a label.
    pub fn new(op: Op) -> Instruction {
        Instruction { line: Line::default(), origin: Origin::default(), label: None, op }
    }

    /// Makes an instruction with a label.
    pub fn labelled(label: &str, op: Op) -> Instruction {
        Instruction { label: Some(label.to_owned()), ..Instruction::new(op) }
    }
}

/// Operation of an instruction with its operands. A `String` named `header` is the name of a
/// header, and a `String` named after its use, such as `port`, is a metadata field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// `rx m.PORT`: waits for a packet.
    Receive {
        /// Metadata field that gets the number of the port.
        port: String,
    },
    /// `tx`: sends the packet.
    Transmit {
        /// Metadata field, or number.
        port: Operand,
    },
    /// `drop`: drops the packet.
    Drop,
    /// `mirror`: arranges a copy of the packet.
    Mirror {
        /// Slot.
        slot: FieldRef,
        /// Session.
        session: FieldRef,
    },
    /// `recirculate`: the packet starts again after `tx`.
    Recirculate,
    /// `recircid m.FIELD`: reads the number of earlier passes.
    RecirculationId {
        /// Metadata field that gets the number.
        pass: String,
    },
    /// `extract h.HEADER`: takes a header from the packet.
    Extract {
        /// The header.
        header: String,
        /// Metadata field with the bytes of the last, variable field.
        length: Option<String>,
    },
    /// `lookahead h.HEADER`: reads a header that stays in the packet.
    Lookahead {
        /// The header.
        header: String,
    },
    /// `emit h.HEADER`: adds a header to the packet, if it is valid.
    Emit {
        /// The header.
        header: String,
    },
    /// `validate h.HEADER`.
    Validate {
        /// The header.
        header: String,
    },
    /// `invalidate h.HEADER`.
    Invalidate {
        /// The header.
        header: String,
    },
    /// `mov`.
    Move {
        /// Destination.
        to: FieldRef,
        /// Source.
        from: Operand,
    },
    /// `add`, `sub`, `and`, `or`, `xor`, `shl`, `shr`.
    Alu {
        /// Operation.
        alu: Alu,
        /// Destination, and left operand.
        to: FieldRef,
        /// Right operand.
        from: Operand,
    },
    /// `ckadd`: adds to a checksum.
    ChecksumAdd {
        /// The checksum.
        to: FieldRef,
        /// Header or field.
        from: Summand,
    },
    /// `cksub`: subtracts from a checksum.
    ChecksumSub {
        /// The checksum.
        to: FieldRef,
        /// Field.
        from: FieldRef,
    },
    /// `hash`: hashes consecutive fields of a struct.
    Hash {
        /// Name of the hash function.
        function: String,
        /// Metadata field that gets the hash.
        to: String,
        /// First field.
        first: FieldRef,
        /// Last field.
        last: FieldRef,
    },
    /// `regprefetch`.
    RegisterPrefetch {
        /// Name of the array.
        array: String,
        /// Index.
        index: Operand,
    },
    /// `regrd`.
    RegisterRead {
        /// Destination.
        to: FieldRef,
        /// Name of the array.
        array: String,
        /// Index.
        index: Operand,
    },
    /// `regwr`.
    RegisterWrite {
        /// Name of the array.
        array: String,
        /// Index.
        index: Operand,
        /// Source.
        from: Operand,
    },
    /// `regadd`.
    RegisterAdd {
        /// Name of the array.
        array: String,
        /// Index.
        index: Operand,
        /// Source.
        from: Operand,
    },
    /// `metprefetch`.
    MeterPrefetch {
        /// Name of the array.
        array: String,
        /// Index.
        index: Operand,
    },
    /// `meter`.
    Meter {
        /// Name of the array.
        array: String,
        /// Index.
        index: Operand,
        /// Length of the packet.
        length: FieldRef,
        /// Colour before the meter.
        colour: Operand,
        /// Destination of the colour.
        to: FieldRef,
    },
    /// `table`: looks up a table, selector or learner, and runs the action.
    Table {
        /// Name of the table.
        table: String,
    },
    /// `learn`: writes an entry of the learner that runs the action.
    Learn {
        /// Action of the new entry.
        action: String,
        /// First of the metadata fields with the action data.
        data: Option<String>,
        /// Metadata field with the number of the timeout.
        timeout: String,
    },
    /// `rearm`: restarts the timeout of the entry.
    Rearm {
        /// Metadata field with the number of a new timeout.
        timeout: Option<String>,
    },
    /// `forget`: deletes the entry.
    Forget,
    /// `entryid m.FIELD`: reads the number of the entry.
    EntryId {
        /// Metadata field that gets the number.
        to: String,
    },
    /// `extern`.
    Extern {
        /// The function.
        call: Call,
    },
    /// `jmp`, `jmpv`, `jmpnv`, `jmph`, `jmpnh`, `jmpa`, `jmpna`, `jmpeq`, `jmpneq`, `jmplt`,
    /// `jmpgt`.
    Jump {
        /// Condition.
        condition: Condition,
        /// Label.
        target: String,
    },
    /// `return`: leaves the action.
    Return,
}

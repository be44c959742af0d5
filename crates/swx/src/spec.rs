//! Pipelines as data: everything that a `.spec` file of DPDK 22.11 can declare.
//!
//! The parser [`crate::parse()`] or a compiler creates a [`Spec`], and [`crate::print()`] writes it
//! to a file.

use std::sync::Arc;

/// Line number in a file, counted from 1. An item that is not from a file has line 0.
///
/// All lines compare as equal, so that two pipelines are equal if they declare the same.
#[derive(Clone, Copy, Debug, Default)]
pub struct Line(pub u32);

impl PartialEq for Line {
    fn eq(&self, _: &Line) -> bool {
        true
    }
}

impl Eq for Line {}

/// Line of the source program that an instruction was compiled from.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SourceLine {
    /// Path of the file, as the compiler read it.
    pub file: Arc<str>,
    /// Line number, counted from 1.
    pub line: u32,
    /// Text of the line without trailing blanks; a long line is truncated.
    pub text: Arc<str>,
}

/// Source line that an instruction was compiled from; `None` if the pipeline was not compiled, or
/// the compiler added the instruction.
///
/// All origins compare as equal, like all lines.
#[derive(Clone, Debug, Default)]
pub struct Origin(pub Option<Arc<SourceLine>>);

impl PartialEq for Origin {
    fn eq(&self, _: &Origin) -> bool {
        true
    }
}

impl Eq for Origin {}

/// A pipeline of DPDK's software switch.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Spec {
    /// Objects whose type a C program registers with DPDK.
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
    /// Actions of tables. An action is declared before the action that adds entries with it by
    /// `learn`.
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
    /// Returns the number of the source line that the instruction in `line` was compiled from;
    /// `line` itself if the source line is unknown.
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
    /// Argument of the object's constructor.
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
    /// True if the last field has a variable length; its width is then the largest length.
    pub variable: bool,
}

impl Struct {
    /// Returns the field with this name, and its offset in bits.
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

    /// Returns the total width of all fields in bits.
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
    /// Width in bits, a multiple of 8. For a variable-length field, the largest width.
    pub bits: u32,
}

/// A packet header: `header NAME instanceof STRUCT`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Header {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the header.
    pub name: String,
    /// Name of the header's struct.
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
    /// Value that each register has when the pipeline is built.
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

/// An action, which table entries select.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Action {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the action.
    pub name: String,
    /// Name of the struct of the action data; `None` for an action without data.
    pub data: Option<String>,
    /// Instructions.
    pub instructions: Vec<Instruction>,
}

/// Way in which a field of a key is compared with an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Match {
    /// The field is equal to the value of the entry.
    Exact,
    /// The field is equal to the value of the entry in the bits of the entry's mask.
    Wildcard,
    /// The field starts with the prefix of the entry.
    Lpm,
}

/// A field of a table key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyField {
    /// Line of the declaration.
    pub line: Line,
    /// Field that a lookup compares.
    pub field: FieldRef,
    /// Way in which the field is compared with entries.
    pub kind: Match,
}

/// Kinds of table entries that may use an action.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// All entries, including the default entry.
    Any,
    /// Only entries other than the default entry: `@tableonly`.
    TableOnly,
    /// Only the default entry: `@defaultonly`.
    DefaultOnly,
}

/// An action in the action list of a table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ActionRef {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the action.
    pub name: String,
    /// Entries that may use the action.
    pub used: Use,
}

/// Action of a table for packets that match no entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DefaultAction {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the action.
    pub name: String,
    /// Action data: names and values, as written in the file.
    pub arguments: Vec<(String, String)>,
    /// True if the control plane cannot replace the default action.
    pub constant: bool,
}

/// A table whose entries the control plane writes.
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
    /// Name of the recommended table type, after `instanceof`.
    pub kind: Option<String>,
    /// Argument of the table type.
    pub pragma: Option<String>,
    /// Largest number of entries.
    pub size: u32,
}

/// A selector: a table that chooses a member of a group by a hash.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selector {
    /// Line of the declaration.
    pub line: Line,
    /// Name of the table.
    pub name: String,
    /// Metadata field with the number of the group.
    pub group: String,
    /// Fields that the hash covers.
    pub fields: Vec<FieldRef>,
    /// Metadata field that receives the number of the chosen member.
    pub member: String,
    /// Largest number of groups.
    pub groups: u32,
    /// Largest number of members in a group.
    pub members: u32,
}

/// A learner: a table whose entries are written by the actions that packets run.
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
    /// Largest number of entries.
    pub size: u32,
    /// Timeouts of entries in seconds. An instruction `learn` selects one by its index.
    pub timeouts: Vec<u32>,
}

/// Reference to a field in an instruction.
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

/// Source operand of an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Operand {
    /// Value of a field.
    Field(FieldRef),
    /// A constant.
    Immediate(u64),
}

/// Operator of an arithmetic instruction.
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

/// Relation of a conditional jump; it compares unsigned numbers.
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
    /// `jmph`: the last table lookup was a hit.
    Hit,
    /// `jmpnh`: the last table lookup was a miss.
    Miss,
    /// `jmpa`: the last table lookup selected the action.
    Action(String),
    /// `jmpna`: the last table lookup selected another action.
    NotAction(String),
    /// `jmpeq`, `jmpneq`, `jmplt`, `jmpgt`: the relation holds between two operands.
    Compare {
        /// Relation of the operands.
        relation: Relation,
        /// Left operand.
        left: FieldRef,
        /// Right operand.
        right: Operand,
    },
}

/// Source operand of `ckadd`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Summand {
    /// A field.
    Field(FieldRef),
    /// A whole header.
    Header(String),
}

/// C function that an `extern` instruction calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Call {
    /// Member function of an extern object.
    Object {
        /// Name of the object.
        object: String,
        /// Name of the function.
        function: String,
    },
    /// Extern function that belongs to no object.
    Function(String),
}

/// An instruction with its line and label.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Instruction {
    /// Line of the instruction.
    pub line: Line,
    /// Source line that the instruction was compiled from.
    pub origin: Origin,
    /// Label by which jumps refer to the instruction.
    pub label: Option<String>,
    /// Operation and operands.
    pub op: Op,
}

impl Instruction {
    /// Creates an instruction without a label.
    pub fn new(op: Op) -> Instruction {
        Instruction { line: Line::default(), origin: Origin::default(), label: None, op }
    }

    /// Creates an instruction with a label.
    pub fn labelled(label: &str, op: Op) -> Instruction {
        Instruction { label: Some(label.to_owned()), ..Instruction::new(op) }
    }
}

/// Operation of an instruction with its operands. A `String` named `header` is the name of a
/// header. A `String` named after its use, such as `port`, is the name of a metadata field.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Op {
    /// `rx m.PORT`: waits for a packet.
    Receive {
        /// Metadata field that receives the number of the input port.
        port: String,
    },
    /// `tx`: sends the packet.
    Transmit {
        /// Output port: a field, or a constant.
        port: Operand,
    },
    /// `drop`: drops the packet.
    Drop,
    /// `mirror`: requests a copy of the packet.
    Mirror {
        /// Field with the index of the mirroring slot.
        slot: FieldRef,
        /// Field with the number of the mirroring session.
        session: FieldRef,
    },
    /// `recirculate`: after the next `tx`, the packet returns to the start of the pipeline.
    Recirculate,
    /// `recircid m.FIELD`: reads the number of earlier passes of the packet.
    RecirculationId {
        /// Metadata field that receives the number.
        pass: String,
    },
    /// `extract h.HEADER [m.LENGTH]`: takes a header from the packet.
    Extract {
        /// Name of the header.
        header: String,
        /// Metadata field with the length in bytes of the header's variable-length field; `None` if
        /// it has none.
        length: Option<String>,
    },
    /// `lookahead h.HEADER`: reads a header, which stays in the packet.
    Lookahead {
        /// Name of the header.
        header: String,
    },
    /// `emit h.HEADER`: appends a header to the output packet if the header is valid.
    Emit {
        /// Name of the header.
        header: String,
    },
    /// `validate h.HEADER`: makes a header valid.
    Validate {
        /// Name of the header.
        header: String,
    },
    /// `invalidate h.HEADER`: makes a header invalid.
    Invalidate {
        /// Name of the header.
        header: String,
    },
    /// `mov`: copies an operand to a field.
    Move {
        /// Destination.
        to: FieldRef,
        /// Source.
        from: Operand,
    },
    /// `add`, `sub`, `and`, `or`, `xor`, `shl`, `shr`: arithmetic on a field.
    Alu {
        /// Operator.
        alu: Alu,
        /// Left operand, which receives the result.
        to: FieldRef,
        /// Right operand.
        from: Operand,
    },
    /// `ckadd`: adds a header or field to a checksum.
    ChecksumAdd {
        /// Field with the checksum.
        to: FieldRef,
        /// Header or field to add.
        from: Summand,
    },
    /// `cksub`: subtracts a field from a checksum.
    ChecksumSub {
        /// Field with the checksum.
        to: FieldRef,
        /// Field to subtract.
        from: FieldRef,
    },
    /// `hash`: hashes consecutive fields of a struct.
    Hash {
        /// Name of the hash function.
        function: String,
        /// Metadata field that receives the hash.
        to: String,
        /// First field to hash.
        first: FieldRef,
        /// Last field to hash.
        last: FieldRef,
    },
    /// `regprefetch`: fetches a register into the cache.
    RegisterPrefetch {
        /// Name of the array.
        array: String,
        /// Index of the register.
        index: Operand,
    },
    /// `regrd`: reads a register.
    RegisterRead {
        /// Destination.
        to: FieldRef,
        /// Name of the array.
        array: String,
        /// Index of the register.
        index: Operand,
    },
    /// `regwr`: writes a register.
    RegisterWrite {
        /// Name of the array.
        array: String,
        /// Index of the register.
        index: Operand,
        /// Value to write.
        from: Operand,
    },
    /// `regadd`: adds to a register.
    RegisterAdd {
        /// Name of the array.
        array: String,
        /// Index of the register.
        index: Operand,
        /// Value to add.
        from: Operand,
    },
    /// `metprefetch`: fetches a meter into the cache.
    MeterPrefetch {
        /// Name of the array.
        array: String,
        /// Index of the meter.
        index: Operand,
    },
    /// `meter`: updates a meter, and computes the colour of the packet.
    Meter {
        /// Name of the array.
        array: String,
        /// Index of the meter.
        index: Operand,
        /// Field with the packet length by which the meter is updated.
        length: FieldRef,
        /// Colour of the packet before the meter.
        colour: Operand,
        /// Field that receives the new colour.
        to: FieldRef,
    },
    /// `table`: looks up a table, selector or learner, and runs the selected action.
    Table {
        /// Name of the table.
        table: String,
    },
    /// `learn`: adds an entry to the learner whose action is running.
    Learn {
        /// Action of the new entry.
        action: String,
        /// First of the metadata fields with the action data; `None` for an action without data.
        data: Option<String>,
        /// Metadata field with the index of the timeout.
        timeout: String,
    },
    /// `rearm`: restarts the timeout of the learner's current entry.
    Rearm {
        /// Metadata field with the index of a new timeout; `None` keeps the timeout.
        timeout: Option<String>,
    },
    /// `forget`: deletes the learner's current entry.
    Forget,
    /// `entryid m.FIELD`: reads the number of the entry that the last lookup found.
    EntryId {
        /// Metadata field that receives the number.
        to: String,
    },
    /// `extern`: calls a C function.
    Extern {
        /// Function to call.
        call: Call,
    },
    /// `jmp`, `jmpv`, `jmpnv`, `jmph`, `jmpnh`, `jmpa`, `jmpna`, `jmpeq`, `jmpneq`, `jmplt`,
    /// `jmpgt`: jumps if the condition holds.
    Jump {
        /// Condition of the jump.
        condition: Condition,
        /// Label of the target instruction.
        target: String,
    },
    /// `return`: leaves the action.
    Return,
}

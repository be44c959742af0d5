//! Types that describe a witness: a packet, map content, and other requirements that make a program
//! take a path.

use indexmap::IndexMap;
use serde::Serialize;

/// A packet that takes a path, with the map content and the other requirements of the path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Witness"))]
pub(crate) struct WitnessResult {
    /// The packet, two hexadecimal digits per byte; `--` for bytes of any value.
    pub packet: String,
    /// Length of the packet in bytes.
    pub length: u32,
    /// Map content that the path needs, by map name; empty if it needs none. Other content is
    /// arbitrary. `OUTER.inner` has the content of the maps inside the map of maps `OUTER`.
    /// `--maps` reads this format; see `docs/reference/maps.md`.
    pub maps: IndexMap<String, Vec<MapContent>>,
    /// Values that instructions must yield and that neither the packet nor a map determines, in the
    /// order of the path. Examples are clocks, random numbers, and the success of a helper.
    pub unknowns: Vec<Unknown>,
    /// Requirements on the state before the first instruction, besides packet and maps.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub environment: Vec<Requirement>,
    /// The witness as table entries of a pipeline, with its output; absent for other programs.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "PipelineWitness"))]
    pub pipeline: Option<PipelineWitness>,
    /// The witness in the terms of a P4 program; absent for other programs.
    // The Python package adds it, so the type is part of the schema only.
    #[cfg(test)]
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "P4Witness")]
    pub p4: Option<P4Witness>,
}

/// A witness of a pipeline of DPDK's software switch: a packet and table entries for it, with
/// concrete values. An interpreter that shares no code with the analysis has executed them: it
/// takes the path, and it also does with other values of bytes that the path does not depend on.
///
/// Hashes, meters and selectors yield the `unknowns` of the witness in this run, which DPDK may not
/// compute for the packet.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PipelineWitness {
    /// The packet, two hexadecimal digits per byte. Bytes of any value are zeros.
    pub packet: String,
    /// Number of the port that receives the packet.
    pub port: u64,
    /// Lookups of tables and learners in order, with the entries that they need.
    pub entries: Vec<PipelineLookup>,
    /// The packet that the pipeline sends, two hexadecimal digits per byte; null if it drops the
    /// packet.
    pub output: Option<String>,
    /// Number of the port that sends the packet; null if the pipeline drops the packet.
    pub output_port: Option<u64>,
    /// Metadata, headers and registers that must not have the content of a new pipeline, with
    /// their content before the packet. DPDK keeps the content of earlier packets. In a new
    /// pipeline, registers have their first values and all other bytes are zeros. Empty if the
    /// packet takes the path in a new pipeline.
    pub initial_state: Vec<PipelineField>,
}

/// A lookup of a table or learner.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PipelineLookup {
    /// Name of the table.
    pub table: String,
    /// Line of the instruction `table`.
    pub line: u32,
    /// Fields of the key, in the order of the table, with the values of the packet.
    pub key: Vec<PipelineField>,
    /// True if an entry must match the key; false if none may match.
    pub hit: bool,
    /// Action of the entry or, after a miss, the default action of the table.
    pub action: String,
    /// Data of the action, in the order of its struct.
    pub data: Vec<PipelineField>,
}

/// A field of a pipeline with its value.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct PipelineField {
    /// Name of the field as in the pipeline, such as `h.ipv4.source`, `m.flow`, `t.port` for action
    /// data, or `packets[3]` for a register.
    pub field: String,
    /// Width in bits.
    pub bits: u64,
    /// Value in hexadecimal, with all digits. Fields of more than 64 bits have the order of memory.
    pub value: String,
    /// True if the path does not depend on the value. In a key, the value still follows from
    /// `packet` and the other fields.
    pub arbitrary: bool,
}

/// A witness in the terms of a P4 program.
#[cfg(test)]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct P4Witness {
    /// States that the program's parser visits, in order, and `accept` or `reject`. States of an
    /// inner parser follow the name of its instance. Bytes of any value are zeros.
    pub parser: Vec<String>,
    /// Error with which the parser rejects the packet; null if it accepts the packet.
    pub error: Option<String>,
    /// Reason why the rest of the run is unknown, with its line; null if all is known.
    pub unknown: Option<String>,
    /// Headers that the parser extracts, in the order of the packet.
    pub headers: Vec<P4Header>,
    /// Tables that the controls apply, in order. Bytes of any value are zeros.
    pub tables: Vec<P4Table>,
    /// Map content of tables as entries, by map name; other maps are absent.
    pub entries: IndexMap<String, Vec<String>>,
}

/// A table that a P4 control applies.
#[cfg(test)]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct P4Table {
    /// Name of the table, with those of its controls.
    pub table: String,
    /// True if an entry matches.
    pub hit: bool,
    /// Action that runs, with its parameters; null if none runs.
    pub action: Option<String>,
}

/// A header that a P4 parser extracts, or bits that it skips.
#[cfg(test)]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct P4Header {
    /// Name of the header in the program, such as `hdr.ipv4`. `packet.advance` for skipped bits.
    pub name: String,
    /// Fields in the order of the packet.
    pub fields: Vec<P4Field>,
}

/// A field of a header.
#[cfg(test)]
#[derive(Clone, Debug, Serialize, schemars::JsonSchema)]
pub(crate) struct P4Field {
    /// Name of the field; empty for skipped bits.
    pub name: String,
    /// Width in bits.
    pub bits: u64,
    /// Value in hexadecimal, with zeros for bits of any value; null if all bits are arbitrary.
    pub value: Option<String>,
    /// Bits that the path needs, in hexadecimal; absent if the path needs all bits or none.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    pub mask: Option<String>,
}

/// One entry of the map content that a witness needs, such as an element or the number of elements.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum MapContent {
    Memory(Memory),
    Element(MapElement),
    Held(HeldMap),
    Queued(QueueElement),
    Fill(Fill),
    Others(Others),
}

/// Required bytes of a memory region without keys, such as `dram` on a SmartNIC.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Memory {
    /// Offset of the first byte, in bytes.
    pub offset: u64,
    /// The bytes, two hexadecimal digits each.
    pub bytes: String,
}

/// Element of a map of a BPF object.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MapElement {
    /// Name of the inner map that contains the element, in the content of `OUTER.inner`; absent
    /// elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub map: Option<String>,
    /// The key, two hexadecimal digits per byte.
    pub key: String,
    /// The value; null if the map must not have an element with this key.
    pub value: Option<ElementValue>,
}

/// An entry of a map of maps, which refers to an inner map.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HeldMap {
    /// The key of the entry in the outer map, two hexadecimal digits per byte.
    pub key: String,
    /// Name of the inner map in the content of `OUTER.inner`.
    pub map: String,
}

/// Element of a queue or stack. Elements are listed in the order in which the program pops them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QueueElement {
    /// Value of the element.
    pub value: ElementValue,
}

/// Number of elements and capacity of an inner map of a map of maps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fill {
    /// Number of elements with keys that are not listed; absent if any number will do.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub others: Option<u32>,
    /// Maximum number of elements; absent if it is the number that the object states.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub max_entries: Option<u32>,
    /// Name of the inner map.
    pub map: String,
}

/// Number of elements of a map that are not listed. Present only if not every number will do.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Others {
    /// Number of elements with keys that are not listed.
    pub others: u64,
}

/// Value of an element: two hexadecimal digits per byte, `--` for bytes of any value. A value of
/// more than 256 bytes has only the relevant bytes, by their offsets.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum ElementValue {
    Whole(String),
    Pieces(IndexMap<String, String>),
}

/// A requirement on the state before the first instruction, besides packet and maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Given"))]
pub(crate) enum Requirement {
    Value(Named),
    Memory(InitialBytes),
}

/// A required value before the first instruction, such as a field of the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Named {
    /// Name of the value, such as `rx_queue_index`, `bpf_get_smp_processor_id`, `max_entries of
    /// flows`.
    pub name: String,
    /// The required value.
    pub value: u64,
}

/// Required bytes in memory before the first instruction: around the packet, or on the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Surroundings"))]
pub(crate) struct InitialBytes {
    /// The memory: `packet` or `stack`.
    pub memory: String,
    /// Offset of the first required byte, in bytes. In `packet`, offsets are relative to the packet
    /// as received: negative before the packet, and from its length on behind the packet. In
    /// `stack`, offsets are relative to the end of the stack frame that is opposite to the frame
    /// pointer (for BPF, `r10` - 512).
    pub offset: i64,
    /// The bytes, two hexadecimal digits each.
    pub bytes: String,
}

/// A value that an instruction must yield for the path to be taken, although neither packet nor
/// maps determine it. Examples are a clock, a random number, or the result of a helper.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unknown {
    /// Number of the instruction in the program.
    pub instruction: u32,
    /// Text of the instruction in assembly language.
    pub text: String,
    /// File of the instruction's source line; null if not known.
    pub file: Option<String>,
    /// Number of the instruction's source line; null if not known.
    pub line: Option<u32>,
    /// Source of the value: name of the helper or kernel function, `may_goto`, or on a SmartNIC a
    /// routine of the firmware.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub call: String,
    /// Name of the result among the results of the call. It is `return value`, a field that the
    /// call writes, bytes behind an argument (`bytes 8 to 15 of value`), or a state that the call
    /// depends on (`room in flows`).
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub result: String,
    /// The value as a number: bytes as a little-endian number, an error as its positive number (0
    /// for none), a clock as the time in nanoseconds that this call returns.
    pub value: u64,
    /// The value in the kernel's terms: `-E2BIG`, `123 ns`, `BPF_FIB_LKUP_RET_NO_NEIGH`, bytes in
    /// hexadecimal in memory order, `yes` or `no` with the error that follows, or a number.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub meaning: String,
    /// True if the value depends only on the arguments of the call, but the model does not compute
    /// it and leaves it open ([`slowpath_ir::Draw`]).
    #[serde(skip)]
    pub computed: bool,
}

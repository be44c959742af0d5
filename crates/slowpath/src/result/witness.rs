//! Witnesses as data: packet, map content, and what else a path needs.

use indexmap::IndexMap;
use serde::Serialize;

/// A packet that takes a path, and what else the path needs.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Witness"))]
pub(crate) struct WitnessResult {
    /// Two hexadecimal digits a byte, `--` where any value will do.
    pub packet: String,
    /// Bytes of the packet.
    pub length: u32,
    /// Map content that the path needs, by name of the map; empty when it needs none. Other content
    /// is arbitrary. The content of maps that a map of maps holds is under `OUTER.inner`. `--maps`
    /// reads this format, see `docs/maps.md`.
    pub maps: IndexMap<String, Vec<MapContent>>,
    /// What instructions have to yield that neither the packet nor a map determines (clocks, random
    /// numbers, whether a helper fails), in the order of the path.
    pub unknowns: Vec<Unknown>,
    /// What has to be so before the first instruction, besides packet and maps.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub environment: Vec<Given>,
}

/// Content that a witness needs in a map.
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

/// Bytes of memory without keys (`dram`).
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Memory {
    /// Of the first byte, in bytes.
    pub offset: u64,
    /// Two hexadecimal digits a byte.
    pub bytes: String,
}

/// An element of a map of a BPF object.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MapElement {
    /// Under `OUTER.inner`: the map that it is in. Absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub map: Option<String>,
    /// Two hexadecimal digits a byte.
    pub key: String,
    /// Null: there must be no element with this key.
    pub value: Option<ElementValue>,
}

/// A map that a map of maps holds.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HeldMap {
    /// Under which key; two hexadecimal digits a byte.
    pub key: String,
    /// What `OUTER.inner` calls it.
    pub map: String,
}

/// An element of a queue or stack: they are in the order in which they come out.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QueueElement {
    /// Its value.
    pub value: ElementValue,
}

/// How full a map out of a map of maps is, and how large.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fill {
    /// How many elements with other keys there are; absent where that makes no difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub others: Option<u32>,
    /// How many elements it has room for; absent where that is what the object says.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub max_entries: Option<u32>,
    /// The map.
    pub map: String,
}

/// How full a map is, where that makes a difference.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Others {
    /// How many elements with other keys there are.
    pub others: u64,
}

/// The value of an element: two hexadecimal digits a byte, `--` for one that may be anything. Of a
/// value of more than 256 bytes, the bytes that matter, by their offset.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum ElementValue {
    Whole(String),
    Pieces(IndexMap<String, String>),
}

/// What has to be so before the first instruction, besides packet and maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum Given {
    Value(Named),
    Memory(Surroundings),
}

/// A value at the start: a field of the context, or what else has a name.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Named {
    /// Such as `rx_queue_index`, `bpf_get_smp_processor_id`, `max_entries of flows`.
    pub name: String,
    /// What it has to be.
    pub value: u64,
}

/// Bytes at the start: around the packet, or on the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Surroundings {
    /// What they are of: `packet`, `stack`.
    pub memory: String,
    /// Of the first byte, in bytes. Of `packet`, offsets are those of the packet as received,
    /// negative in front of it, from its length on behind it; of `stack`, from the end of the frame
    /// that is away from the frame pointer (for BPF, `r10` - 512).
    pub offset: i64,
    /// Two hexadecimal digits a byte.
    pub bytes: String,
}

/// A value that an instruction has to yield for the path to be taken, and that nothing determines:
/// a clock, a random number, the result of a helper.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unknown {
    /// Number of the instruction.
    pub instruction: u32,
    /// How it is written.
    pub text: String,
    /// File of its source line; null where it is not known.
    pub file: Option<String>,
    /// Number of its source line; null where it is not known.
    pub line: Option<u32>,
    /// What yields the value: name of the helper or kernel function, `may_goto`, on the card a
    /// routine of the firmware.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub call: String,
    /// Which of its results it is: `return value`, a field that it writes or bytes of what an
    /// argument points to (`bytes 8 to 15 of value`), or what it finds outside (`room in flows`).
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub result: String,
    /// The value as a number: bytes as a little-endian number; of an error its positive number, 0
    /// for none; of a clock the time that this call returns, in nanoseconds.
    pub value: u64,
    /// The value in the terms of the kernel: `-E2BIG`, `123 ns`, `BPF_FIB_LKUP_RET_NO_NEIGH`, bytes
    /// in hexadecimal in the order of memory, `yes` or `no` with the error that follows, or a number.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub meaning: String,
    /// See [`slowpath_ir::Draw`].
    #[serde(skip)]
    pub computed: bool,
}

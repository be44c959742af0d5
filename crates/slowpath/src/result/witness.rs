//! Describes witnesses as data: the packet, the map content, and further requirements of a path.

use indexmap::IndexMap;
use serde::Serialize;

/// A packet that takes a path, and further requirements of the path.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Witness"))]
pub(crate) struct WitnessResult {
    /// The packet, two hexadecimal digits per byte; `--` for bytes of any value.
    pub packet: String,
    /// Length of the packet in bytes.
    pub length: u32,
    /// Map content that the path needs, by map name; empty if it needs none. Other content is
    /// arbitrary. `OUTER.inner` has the content of the maps inside the map of maps `OUTER`.
    /// `--maps` reads this format; see `docs/maps.md`.
    pub maps: IndexMap<String, Vec<MapContent>>,
    /// Values that instructions must yield and that neither the packet nor a map determines, in the
    /// order of the path. Examples are clocks, random numbers, and the success of a helper.
    pub unknowns: Vec<Unknown>,
    /// Further requirements before the first instruction, besides packet and maps.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub environment: Vec<Requirement>,
}

/// Map content that a witness needs.
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
    /// Offset of the first byte, in bytes.
    pub offset: u64,
    /// The bytes, two hexadecimal digits each.
    pub bytes: String,
}

/// Element of a map of a BPF object.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct MapElement {
    /// Name of the map that contains the element, under `OUTER.inner`; absent elsewhere.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "String"))]
    pub map: Option<String>,
    /// The key, two hexadecimal digits per byte.
    pub key: String,
    /// The value; null if the map must not have an element with this key.
    pub value: Option<ElementValue>,
}

/// A map inside a map of maps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct HeldMap {
    /// Key of the map in the outer map, two hexadecimal digits per byte.
    pub key: String,
    /// Name of the map under `OUTER.inner`.
    pub map: String,
}

/// Element of a queue or stack. Elements are listed in the order in which the program pops them.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct QueueElement {
    /// Value of the element.
    pub value: ElementValue,
}

/// Number of elements and capacity of a map inside a map of maps.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Fill {
    /// Number of elements with other keys; absent if it makes no difference.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub others: Option<u32>,
    /// Maximum number of elements; absent if it is the one in the object.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[cfg_attr(test, schemars(with = "u32"))]
    pub max_entries: Option<u32>,
    /// Name of the map.
    pub map: String,
}

/// Number of elements of a map, if it makes a difference.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Others {
    /// Number of elements with other keys.
    pub others: u64,
}

/// Value of an element: two hexadecimal digits per byte, `--` for bytes of any value. For a value
/// of more than 256 bytes, only the relevant bytes, by their offsets.
#[derive(Clone, Debug, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) enum ElementValue {
    Whole(String),
    Pieces(IndexMap<String, String>),
}

/// A requirement before the first instruction, besides packet and maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(untagged)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Given"))]
pub(crate) enum Requirement {
    Value(Named),
    Memory(InitialBytes),
}

/// A named value at the start, such as a field of the context.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Named {
    /// Name of the value, such as `rx_queue_index`, `bpf_get_smp_processor_id`, `max_entries of
    /// flows`.
    pub name: String,
    /// The required value.
    pub value: u64,
}

/// Bytes in memory at the start: around the packet, or on the stack.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Surroundings"))]
pub(crate) struct InitialBytes {
    /// The memory: `packet` or `stack`.
    pub memory: String,
    /// Offset of the first byte, in bytes. In `packet`, offsets are relative to the packet as
    /// received: negative before it, and from its length on behind it. In `stack`, they are
    /// relative to the end of the frame opposite to the frame pointer (for BPF, `r10` - 512).
    pub offset: i64,
    /// The bytes, two hexadecimal digits each.
    pub bytes: String,
}

/// A value that an instruction must yield for the path to be taken and that nothing determines: a
/// clock, a random number, the result of a helper.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub(crate) struct Unknown {
    /// Number of the instruction.
    pub instruction: u32,
    /// Text of the instruction.
    pub text: String,
    /// File of the instruction's source line; null if not known.
    pub file: Option<String>,
    /// Number of the instruction's source line; null if not known.
    pub line: Option<u32>,
    /// Source of the value: name of the helper or kernel function, `may_goto`, or on the card a
    /// routine of the firmware.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    pub call: String,
    /// Name of the result among those of the call. It is `return value`, a field that the call
    /// writes, bytes behind an argument (`bytes 8 to 15 of value`), or a state that the call
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
    /// See [`slowpath_ir::Draw`].
    #[serde(skip)]
    pub computed: bool,
}

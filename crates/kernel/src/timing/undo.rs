//! Describes how to undo the changes of a run to packet and maps: the bytes and elements before the
//! run.

use slowpath_bpf::Field;

/// Changes to undo after a run, so that the next run starts like the first one. The default value
/// contains no changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    /// Number of bytes by which the run moved the packet's start. Positive values are towards the
    /// packet's end.
    pub head: i32,
    /// Number of bytes by which the run moved the packet's end. Positive values make the packet
    /// longer.
    pub tail: i32,
    /// Length of the metadata after the run, in bytes.
    pub metadata_after: u32,
    /// The metadata before the run.
    pub metadata: Vec<u8>,
    /// Bytes of the packet to restore, as pairs of offset and content before the run.
    pub packet: Vec<(u32, Vec<u8>)>,
    /// Elements of maps as they were before the run.
    pub elements: Vec<ElementUndo>,
    /// Changes to the `struct sk_buff` of a tc program's packet. For tc programs, `head`, `tail`
    /// and the metadata are unused.
    pub skb: SkbUndo,
}

/// Changes of a tc program's run to its `struct sk_buff`, apart from the packet's bytes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SkbUndo {
    /// Number of bytes by which `bpf_skb_adjust_room` made the packet longer.
    pub room: i32,
    /// Length of the packet before the run in bytes; `None` if the run did not move the packet's
    /// end.
    pub length: Option<i32>,
    /// True if the run added a VLAN tag beside the packet's bytes.
    pub pushed_tag: bool,
    /// True if the run computed or set the packet's hash.
    pub hashed: bool,
    /// Value of the field `pkt_type` before the run; `None` if the run did not change it.
    pub packet_type: Option<i32>,
    /// Fields of `struct __sk_buff` that the run changed, with their content before the run.
    pub fields: Vec<(Field, u64)>,
}

/// An element of a map as it was before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementUndo {
    /// Index of the map in [`slowpath_bpf::Object::maps`].
    pub map: usize,
    /// Key of the element. It is empty for queues and stacks.
    pub key: Vec<u8>,
    /// Value of the element; `None` if the element did not exist.
    pub value: Option<Vec<u8>>,
}

impl Undo {
    /// Returns true if there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        let geometry = self.head == 0 && self.tail == 0;
        let metadata = self.metadata_after as usize == self.metadata.len();
        let skb = self.skb == SkbUndo::default();
        geometry && metadata && skb && self.packet.is_empty() && self.elements.is_empty()
    }

    /// Returns the changes to packet and metadata, without those to map elements.
    pub fn without_elements(&self) -> Undo {
        Undo { elements: Vec::new(), ..self.clone() }
    }
}

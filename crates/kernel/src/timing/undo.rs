//! Changes that a run makes to packet and maps, with the content before the run.

/// Changes to undo after a run, so that the next run starts like the first one. Empty by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    /// Bytes by which the run moved the packet's start; positive towards the packet's end.
    pub head: i32,
    /// Bytes by which the run moved the packet's end; positive away from the packet's start.
    pub tail: i32,
    /// Length of the metadata after the run, in bytes.
    pub metadata_after: u32,
    /// The metadata before the run.
    pub metadata: Vec<u8>,
    /// Packet bytes before the run, as pairs of offset and content.
    pub packet: Vec<(u32, Vec<u8>)>,
    /// Elements of maps before the run.
    pub elements: Vec<ElementUndo>,
}

/// An element of a map before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementUndo {
    /// Number of the map in [`slowpath_bpf::Object::maps`].
    pub map: usize,
    /// Key of the element; empty for queues and stacks.
    pub key: Vec<u8>,
    /// Value of the element; `None` if it did not exist.
    pub value: Option<Vec<u8>>,
}

impl Undo {
    /// Returns true if there is nothing to undo.
    pub fn is_empty(&self) -> bool {
        let geometry = self.head == 0 && self.tail == 0;
        let metadata = self.metadata_after as usize == self.metadata.len();
        geometry && metadata && self.packet.is_empty() && self.elements.is_empty()
    }

    /// Returns the changes of packet and metadata alone.
    pub fn without_elements(&self) -> Undo {
        Undo { elements: Vec::new(), ..self.clone() }
    }
}

//! Changes of a run, and the earlier content.

/// The steps after a run that let the next one start from the same conditions as the first. Empty
/// by default.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    /// Bytes by which the run moved the packet's start; towards the end if positive.
    pub head: i32,
    /// Bytes by which the run moved the packet's end; away from the start if positive.
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
    /// Returns true if there is nothing to restore.
    pub fn is_empty(&self) -> bool {
        let geometry = self.head == 0 && self.tail == 0;
        let metadata = self.metadata_after as usize == self.metadata.len();
        geometry && metadata && self.packet.is_empty() && self.elements.is_empty()
    }

    /// Returns the steps for the packet alone.
    pub fn without_elements(&self) -> Undo {
        Undo { elements: Vec::new(), ..self.clone() }
    }
}

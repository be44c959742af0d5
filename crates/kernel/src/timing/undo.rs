//! What a run has changed, and how it was before.

/// What has to be done after a run for the next one to find everything as the first did. By default
/// nothing.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Undo {
    /// By how many bytes the start of the packet has moved; towards its end if positive.
    pub head: i32,
    /// By how many bytes the end of the packet has moved; away from its start if positive.
    pub tail: i32,
    /// How many bytes of metadata there are afterwards.
    pub metadata_after: u32,
    /// The metadata before.
    pub metadata: Vec<u8>,
    /// Bytes of the packet as they were: where, counted from its start, and what.
    pub packet: Vec<(u32, Vec<u8>)>,
    /// Elements of maps as they were.
    pub elements: Vec<ElementUndo>,
}

/// An element of a map as it was before a run.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ElementUndo {
    /// Number of the map in [`slowpath_bpf::Object::maps`].
    pub map: usize,
    /// Its key; empty for queues and stacks.
    pub key: Vec<u8>,
    /// Its value; `None` if there was no such element.
    pub value: Option<Vec<u8>>,
}

impl Undo {
    /// Whether there is nothing to do.
    pub fn is_empty(&self) -> bool {
        let geometry = self.head == 0 && self.tail == 0;
        let metadata = self.metadata_after as usize == self.metadata.len();
        geometry && metadata && self.packet.is_empty() && self.elements.is_empty()
    }

    /// The same for the packet alone.
    pub fn without_elements(&self) -> Undo {
        Undo { elements: Vec::new(), ..self.clone() }
    }
}

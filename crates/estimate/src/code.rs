//! The instructions that a path consists of, and the maps that they name.

use slowpath_bpf::Object;
use slowpath_bpf::insn::Insn;

/// What a path's instruction numbers mean.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub(crate) insns: Vec<Insn>,
    /// Bytes of the keys of each map.
    pub(crate) key_bytes: Vec<u32>,
    /// How many entries each map has room for.
    pub(crate) rooms: Vec<u32>,
    /// What maps of global data hold when a program is loaded.
    pub(crate) initial: Vec<Option<Vec<u8>>>,
}

impl Code {
    /// The instructions of a lifted program by their numbers, and the maps of its object.
    pub fn new(insns: Vec<Insn>, object: &Object) -> Code {
        let maps = object.maps.iter();
        Code {
            insns,
            key_bytes: maps.clone().map(|map| map.key_size).collect(),
            rooms: maps.clone().map(|map| map.max_entries).collect(),
            initial: maps.map(|map| map.initial.clone()).collect(),
        }
    }
}

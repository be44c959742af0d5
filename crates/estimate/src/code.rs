//! The instructions of a program, and properties of its maps, as needed to estimate the times of
//! its paths.

use slowpath_bpf::Object;
use slowpath_bpf::insn::Insn;

/// The instructions of a program by number, and properties of the maps that they use.
#[derive(Clone, Debug, Default)]
pub struct Code {
    pub(crate) insns: Vec<Insn>,
    /// Size of each map's keys, in bytes.
    pub(crate) key_bytes: Vec<u32>,
    /// Maximum number of entries of each map.
    pub(crate) rooms: Vec<u32>,
    /// Initial content of each map that holds global data; `None` for all other maps.
    pub(crate) initial: Vec<Option<Vec<u8>>>,
}

impl Code {
    /// Creates the code of a program. `insns` contains its instructions by number, and `object`
    /// contains its maps.
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

//! Layout of the maps of a compiled program: what a control plane writes for an entry.

use std::rc::Rc;

use serde::Serialize;

use super::entry::Entry;

/// Match kind of a key, as far as it decides on the map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum MatchKind {
    /// One value.
    Exact,
    /// Values with a prefix.
    Lpm,
    /// Values under a mask.
    Ternary,
    /// Values between two limits.
    Range,
    /// One value, or all.
    Optional,
}

/// A number in a map's key or value.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Number {
    /// Name in the program: a parameter, or the text of a key.
    pub name: Rc<str>,
    /// Width in bits.
    pub width: u32,
    /// Offset in bytes.
    pub offset: u32,
    /// Size in bytes. Numbers stand in little-endian order, unless their map is an LPM trie.
    pub size: u32,
}

/// A key of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyLayout {
    /// The number in the key of the map.
    pub number: Number,
    /// Match kind.
    pub kind: MatchKind,
}

/// An action of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionLayout {
    /// Name in the program.
    pub name: Rc<str>,
    /// Number in the field `action` of the map's value, from 1.
    pub id: u32,
    /// Parameters that the control plane sets; offsets are in the value of the map.
    pub params: Vec<Number>,
    /// True if an entry can have the action.
    pub in_entries: bool,
    /// True if the default action can be this action.
    pub as_default: bool,
}

/// The maps of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum TableMaps {
    /// A hash map: the key as laid out, the value of an action.
    Hash,
    /// An LPM trie: 4 bytes of prefix length, then the keys in network byte order, the one with a
    /// prefix last and left-aligned.
    Trie,
    /// An array `NAME_masks` of masks, and a hash map. Element `i` of the array has 4 bytes that are
    /// not zero, then the masks at the offsets of the keys. A key of the hash map has `i` in its
    /// first 4 bytes, then the masked keys.
    TupleSpace {
        /// Number of elements of the array of masks.
        masks: u32,
    },
    /// An array of entries in order of priority. An element has 4 bytes that are not zero, then
    /// first and second numbers of each key (value and mask, or lowest and highest value), then the
    /// value of an action.
    Scan {
        /// Offset of the second numbers from the first ones in bytes.
        second: u32,
        /// Offset of the value of the action in bytes.
        value: u32,
        /// Size of an element in bytes.
        element: u32,
    },
    /// No map: the entries are part of the program, or the table has no key.
    None,
}

/// A table with its maps.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TableLayout {
    /// Control-plane name: names of controls and the table, with dots.
    pub name: String,
    /// Name of the map; related maps add `_masks` and `_default`.
    pub map: String,
    /// Kind of maps.
    pub maps: TableMaps,
    /// Size of a key of the map in bytes.
    pub key_size: u32,
    /// Size of a value of an action in bytes: its number (4 bytes), its parameters.
    pub value_size: u32,
    /// Offset of the priority in the value, for a tuple space; higher numbers win.
    pub priority: Option<u32>,
    /// Number of entries.
    pub size: u32,
    /// Keys.
    pub keys: Vec<KeyLayout>,
    /// Actions.
    pub actions: Vec<ActionLayout>,
    /// True if the control plane can set the default action, in element 0 of the array
    /// `NAME_default`; number 0 stands for the default action of the program.
    pub has_default_map: bool,
    /// Members that entries name by number, in their first 4 bytes, instead of actions. The offsets
    /// of parameters are then those in members and default actions.
    pub members: Option<MembersLayout>,
    /// Offset of a meter in the value.
    pub meter: Option<u32>,
    /// Entries of the program that are not constant.
    #[serde(skip)]
    pub initial: Vec<Entry>,
}

/// The members of an action profile or selector: an array with a value of an action in each element,
/// which several tables can share.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MembersLayout {
    /// Control-plane name.
    pub name: String,
    /// Name of the map.
    pub map: String,
    /// Size of a value of an action in bytes.
    pub value_size: u32,
    /// Number of members.
    pub size: u32,
    /// Groups, of a selector: entries name a group, which names members.
    pub groups: Option<GroupsLayout>,
}

/// The groups of a selector: an array of numbers of 4 bytes, the count of members and their numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupsLayout {
    /// Name of the map.
    pub map: String,
    /// Number of groups.
    pub size: u32,
    /// Largest number of members of a group.
    pub most: u32,
}

/// A counter, register, meter or value set with its map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ObjectLayout {
    /// Control-plane name.
    pub name: String,
    /// Name of the map.
    pub map: String,
    /// Kind: `counter`, `register`, `meter`, `digest` or `value_set`.
    pub kind: &'static str,
    /// Size of an element in bytes, or of the key of a value set.
    pub element: u32,
    /// Number of elements.
    pub size: u32,
    /// Numbers in the key of a value set.
    pub numbers: Vec<Number>,
}

/// The maps of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Tables.
    pub tables: Vec<TableLayout>,
    /// Counters, registers, meters, digests and value sets.
    pub objects: Vec<ObjectLayout>,
    /// True if the program redirects packets through the map `ports`.
    pub redirects: bool,
}

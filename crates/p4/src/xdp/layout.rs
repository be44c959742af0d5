//! Layout of the maps of a compiled program. A control plane follows it to write table entries.

use std::rc::Rc;

use serde::Serialize;

use super::entry::Entry;

/// Match kind of a key field; the kinds of all key fields determine the kind of map of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize)]
pub enum MatchKind {
    /// The value is equal to that of the entry.
    Exact,
    /// The value begins with the prefix of the entry.
    Lpm,
    /// The value is equal to that of the entry in the bits of the entry's mask.
    Ternary,
    /// The value is between the two limits of the entry.
    Range,
    /// The value is equal to that of the entry, or the entry matches all values.
    Optional,
}

/// A number at a fixed offset in the key or value of a map.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Number {
    /// Name in the program: the name of a parameter, or the text of a table key.
    pub name: Rc<str>,
    /// Width in bits.
    pub width: u32,
    /// Offset in the key or value, in bytes.
    pub offset: u32,
    /// Size in bytes. Numbers are in little-endian order, except in LPM tries.
    pub size: u32,
}

/// A key field of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct KeyLayout {
    /// Position and size of the field in the map's key.
    pub number: Number,
    /// Match kind.
    pub kind: MatchKind,
}

/// An action of a table.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ActionLayout {
    /// Name of the action in the program.
    pub name: Rc<str>,
    /// Number of the action in the field `action` of the map's value, counted from 1.
    pub id: u32,
    /// Parameters that the control plane sets. Their offsets are relative to the value of the map.
    pub params: Vec<Number>,
    /// True if an entry of the table can use the action.
    pub in_entries: bool,
    /// True if the action can be the default action of the table.
    pub as_default: bool,
}

/// Kind of maps that implement a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub enum TableMaps {
    /// A hash map: its key contains the table keys, and its value an action.
    Hash,
    /// An LPM trie. Its key consists of 4 bytes of prefix length and the table keys in network byte
    /// order. The key with a prefix comes last and is left-aligned.
    Trie,
    /// An array `NAME_masks` of masks, and a hash map. Element `i` of the array contains 4 bytes
    /// that are not zero, then the masks at the offsets of the keys. A key of the hash map contains
    /// `i` in its first 4 bytes, then the masked keys.
    TupleSpace {
        /// Number of elements of the array of masks.
        masks: u32,
    },
    /// An array of entries in order of priority. An element contains 4 bytes that are not zero, the
    /// first and the second numbers of all keys (value and mask, or lowest and highest value), and
    /// an action.
    Scan {
        /// Distance in bytes between the first numbers of an element and the second ones.
        second: u32,
        /// Offset of the action in an element, in bytes.
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
    /// Control-plane name: names of the enclosing controls and of the table, with dots.
    pub name: String,
    /// Name of the map. Related maps have this name with `_masks` or `_default` appended.
    pub map: String,
    /// Kind of the maps.
    pub maps: TableMaps,
    /// Size of the map's key in bytes.
    pub key_size: u32,
    /// Size in bytes of an action in the map's value: its number (4 bytes) and its parameters.
    pub value_size: u32,
    /// Offset of an entry's priority in the map's value, for a tuple space; higher numbers win.
    /// `None` for other maps.
    pub priority: Option<u32>,
    /// Largest number of entries.
    pub size: u32,
    /// Keys.
    pub keys: Vec<KeyLayout>,
    /// Actions.
    pub actions: Vec<ActionLayout>,
    /// True if the control plane can set the default action, in element 0 of the array
    /// `NAME_default`. Action number 0 in this element stands for the default action of the
    /// program.
    pub has_default_map: bool,
    /// Action profile or selector of the table. An entry then contains the number of a member or
    /// group in its first 4 bytes, instead of an action. The offsets of parameters then apply to
    /// the values of members and default actions.
    pub members: Option<MembersLayout>,
    /// Offset of a direct meter in the map's value, in bytes.
    pub meter: Option<u32>,
    /// Entries of the program that the control plane may change.
    #[serde(skip)]
    pub initial: Vec<Entry>,
}

/// The members of an action profile or selector: an array map with one action in each element.
/// Several tables can share it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct MembersLayout {
    /// Control-plane name of the action profile or selector.
    pub name: String,
    /// Name of the array map.
    pub map: String,
    /// Size of an action in bytes: its number (4 bytes) and its parameters.
    pub value_size: u32,
    /// Largest number of members.
    pub size: u32,
    /// Groups of an action selector: an entry names a group, and the group lists its members.
    /// `None` for an action profile.
    pub groups: Option<GroupsLayout>,
}

/// The groups of an action selector: an array map of 4-byte numbers, first the number of members,
/// then the index of each member.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct GroupsLayout {
    /// Name of the array map.
    pub map: String,
    /// Largest number of groups.
    pub size: u32,
    /// Largest number of members of a group.
    pub most: u32,
}

/// A counter, register, meter, digest or value set with its map.
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
    /// Numbers in the key of a value set; empty for other kinds.
    pub numbers: Vec<Number>,
}

/// Layout of all maps of a program.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Layout {
    /// Tables.
    pub tables: Vec<TableLayout>,
    /// Counters, registers, meters, digests and value sets.
    pub objects: Vec<ObjectLayout>,
    /// True if the program redirects packets through the map `ports`.
    pub redirects: bool,
}

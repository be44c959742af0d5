//! The definition of a map.

use std::ops::Range;

use super::kind::MapKind;
use crate::btf::TypeId;

/// Flag of maps that programs cannot write (`BPF_F_RDONLY_PROG`).
pub const READ_ONLY: u32 = 1 << 7;

/// Flag of maps that user space can map into its memory (`BPF_F_MMAPABLE`).
pub const MAPPABLE: u32 = 1 << 10;

/// The map is pinned under its own name (`LIBBPF_PIN_BY_NAME`), so that objects with the same pin
/// have one map.
pub const PIN_BY_NAME: u32 = 1;

/// The same in the words of iproute2 (`PIN_GLOBAL_NS`).
const IPROUTE2_GLOBAL: u32 = 2;

/// A map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDef {
    /// Its name; for global data the section's.
    pub name: String,
    /// Its type.
    pub kind: MapKind,
    /// In bytes.
    pub key_size: u32,
    /// In bytes.
    pub value_size: u32,
    /// How many elements it can hold; 0 where the loader chooses (perf event arrays).
    pub max_entries: u32,
    /// `BPF_F_*`.
    pub flags: u32,
    /// Extra parameter of some types, such as the number of hash functions of a bloom filter.
    pub extra: u64,
    /// Where the loader pins it: 0 nowhere, [`PIN_BY_NAME`]; other values are the producer's.
    pub pinning: u32,
    /// BTF type of the keys, if the definition has one.
    pub key_type: Option<TypeId>,
    /// BTF type of the values, if the definition has one.
    pub value_type: Option<TypeId>,
    /// Bytes of values that the kernel keeps for itself ([`crate::Btf::special_fields`]): user space
    /// reads zeros there, and its writes leave them as they are.
    pub special: Vec<Range<u32>>,
    /// Content of the only element, for global data.
    pub initial: Option<Vec<u8>>,
    /// Whether nobody writes it once the program runs, so that [`MapDef::initial`] is its content.
    pub read_only: bool,
    /// Values that a user states for bytes of [`MapDef::initial`], in order: the last counts.
    pub stated: Vec<Stated>,
    /// For maps of maps: what the inner maps look like.
    pub inner: Option<Box<MapDef>>,
    /// For program arrays and maps of maps: the slots that the object fills.
    pub slots: Vec<(u32, SlotRef)>,
}

/// The value of a variable, or of a part of one, that a user states.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Stated {
    /// The variable or the part of it, as the user wrote it.
    pub name: String,
    /// Its first byte in the section.
    pub offset: u64,
    /// In bytes.
    pub size: u64,
    /// The value, for messages; `None` where it can have any.
    pub value: Option<String>,
    /// The greatest value of each of its numbers, where it can have any.
    pub most: u64,
}

impl Stated {
    /// The numbers that it consists of: offset in the section and bytes, 1, 2, 4 or 8, of each.
    pub fn numbers(&self) -> Vec<(u64, u8)> {
        let (mut numbers, mut at) = (Vec::new(), 0);
        while at < self.size {
            let left = self.size - at;
            let bytes = [8, 4, 2, 1].into_iter().find(|&bytes| bytes <= left).unwrap_or(1);
            numbers.push((self.offset + at, bytes as u8));
            at += bytes;
        }
        numbers
    }

    /// The name of such a number, in a section of this name, where it can be any.
    pub fn input(&self, section: &str, number: (u64, u8)) -> String {
        let (offset, bytes) = number;
        let which = match u64::from(bytes) == self.size {
            true => String::new(),
            false => format!(", byte {}", offset - self.offset),
        };
        format!("{} in {section}{which}", self.name)
    }

    fn overlaps(&self, offset: u64, size: u64) -> bool {
        self.offset < offset.saturating_add(size) && offset < self.offset.saturating_add(self.size)
    }
}

/// What a slot holds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotRef {
    /// A program, by its number in [`crate::Object::programs`].
    Program(usize),
    /// A map, by its number in [`crate::Object::maps`].
    Map(usize),
}

impl MapDef {
    /// Fixes what can be any: each number has the value that `value` yields for its name, else the one
    /// that the object has.
    pub fn fix(&mut self, value: impl Fn(&str) -> Option<u64>) {
        let Some(initial) = self.initial.as_mut() else { return };
        for stated in self.stated.iter_mut().filter(|stated| stated.value.is_none()) {
            for number in stated.numbers() {
                if let Some(value) = value(&stated.input(&self.name, number)) {
                    let bytes = initial.iter_mut().skip(number.0 as usize).take(number.1.into());
                    bytes.zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
                }
            }
            stated.value = Some("as the witness has it".to_owned());
        }
    }

    /// The bytes of read-only data that every run finds, where all of them are known.
    pub fn constant(&self) -> Option<&[u8]> {
        let initial = self.initial.as_deref().filter(|_| self.read_only)?;
        let open = self.stated.iter().any(|stated| stated.value.is_none());
        (!open).then_some(initial)
    }

    /// Some bytes of read-only data, where every run finds the same.
    pub fn constant_bytes(&self, offset: u64, size: u64) -> Option<&[u8]> {
        let initial = self.initial.as_deref().filter(|_| self.read_only)?;
        let open = |stated: &Stated| stated.value.is_none() && stated.overlaps(offset, size);
        if self.stated.iter().any(open) {
            return None;
        }
        let start = usize::try_from(offset).ok()?;
        initial.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    }

    /// The name that it is pinned under for all objects of a loader, if it is.
    pub fn pin(&self) -> Option<&str> {
        matches!(self.pinning, PIN_BY_NAME | IPROUTE2_GLOBAL).then_some(self.name.as_str())
    }

    /// A map of this name, of which nothing else is said.
    pub fn new(name: &str) -> Self {
        MapDef {
            name: name.to_owned(),
            kind: MapKind(0),
            key_size: 0,
            value_size: 0,
            max_entries: 0,
            flags: 0,
            extra: 0,
            pinning: 0,
            key_type: None,
            value_type: None,
            special: Vec::new(),
            initial: None,
            read_only: false,
            stated: Vec::new(),
            inner: None,
            slots: Vec::new(),
        }
    }

    /// Sets the special bytes of a value to zero, as user space reads them.
    pub fn clear_special(&self, value: &mut [u8]) {
        for field in &self.special {
            if let Some(bytes) = value.get_mut(field.start as usize..field.end as usize) {
                bytes.fill(0);
            }
        }
    }
}

//! Defines [`MapDef`], the map definition to which the three forms in object files are converted.

use std::ops::Range;

use super::kind::MapKind;
use crate::btf::TypeId;

/// Flag of maps that programs cannot write to (`BPF_F_RDONLY_PROG`).
pub const READ_ONLY: u32 = 1 << 7;

/// Flag of maps that user space can map into its memory (`BPF_F_MMAPABLE`).
pub const MAPPABLE: u32 = 1 << 10;

/// Value of [`MapDef::pinning`] for maps that are pinned under their name (`LIBBPF_PIN_BY_NAME`).
/// Objects whose maps are pinned under the same name share one map.
pub const PIN_BY_NAME: u32 = 1;

/// The value of [`MapDef::pinning`] that iproute2 uses instead of [`PIN_BY_NAME`]
/// (`PIN_GLOBAL_NS`).
const IPROUTE2_GLOBAL: u32 = 2;

/// The definition of a map in an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct MapDef {
    /// Name of the map; for global data, the name of the section.
    pub name: String,
    /// Type of the map, such as hash map or array.
    pub kind: MapKind,
    /// Key size in bytes.
    pub key_size: u32,
    /// Value size in bytes.
    pub value_size: u32,
    /// Maximum number of elements; 0 if the loader chooses it (perf event arrays).
    pub max_entries: u32,
    /// Map flags, `BPF_F_*`.
    pub flags: u32,
    /// Extra parameter of some map types, such as the number of hash functions of a bloom filter.
    pub extra: u64,
    /// Pinning of the map: 0 for none, [`PIN_BY_NAME`], or a value of a particular loader.
    pub pinning: u32,
    /// BTF type of the keys; `None` if the object file does not give it.
    pub key_type: Option<TypeId>,
    /// BTF type of the values; `None` if the object file does not give it.
    pub value_type: Option<TypeId>,
    /// Byte ranges of values that only the kernel may access ([`crate::Btf::special_fields`]). User
    /// space reads zeros there, and its writes do not change these bytes.
    pub special: Vec<Range<u32>>,
    /// Initial bytes of the only element, for sections of global data; `None` for other maps.
    pub initial: Option<Vec<u8>>,
    /// True if neither programs nor user space write to the map at run time, so that
    /// [`MapDef::initial`] stays valid.
    pub read_only: bool,
    /// Values that the user has set for variables in [`MapDef::initial`]. Where values overlap, the
    /// last one is valid.
    pub stated: Vec<StatedValue>,
    /// Definition of the inner maps, for maps of maps; otherwise `None`.
    pub inner: Option<Box<MapDef>>,
    /// Initial elements that the object file gives for a program array or a map of maps: the index
    /// of each element, and the program or map that it contains.
    pub slots: Vec<(u32, SlotRef)>,
}

/// A value that the user has set for a variable or a part of a variable.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StatedValue {
    /// Name of the variable or part, as the user wrote it.
    pub name: String,
    /// Offset of the first byte in the section of the variable, in bytes.
    pub offset: u64,
    /// Size of the value in bytes.
    pub size: u64,
    /// Value, as text for messages; `None` if any value is possible.
    pub value: Option<String>,
    /// If any value is possible: the largest value that each of the numbers from
    /// [`StatedValue::numbers`] can have.
    pub max: u64,
}

impl StatedValue {
    /// Divides the bytes of this value into numbers of 1, 2, 4 or 8 bytes. Returns the offset of
    /// each number in the section, and its size in bytes.
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

    /// Returns the name of the program input that stands for one number of a variable for which the
    /// user allows any value. `number` is the offset and size of the number; `section` is the name
    /// of its section.
    pub fn input(&self, section: &str, number: (u64, u8)) -> String {
        let (offset, bytes) = number;
        let part = match u64::from(bytes) == self.size {
            true => String::new(),
            false => format!(", byte {}", offset - self.offset),
        };
        format!("{} in {section}{part}", self.name)
    }

    fn overlaps(&self, offset: u64, size: u64) -> bool {
        self.offset < offset.saturating_add(size) && offset < self.offset.saturating_add(self.size)
    }
}

/// The program or map that an element of a program array or map of maps contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum SlotRef {
    /// A program, by index in [`crate::Object::programs`].
    Program(usize),
    /// A map, by index in [`crate::Object::maps`].
    Map(usize),
}

impl MapDef {
    /// Sets variables for which the user allowed any value to fixed values. `value` returns the
    /// fixed value of the input with a given name. If it returns `None`, the number keeps its
    /// initial value.
    pub fn fix(&mut self, value: impl Fn(&str) -> Option<u64>) {
        let Some(initial) = self.initial.as_mut() else { return };
        for stated in self.stated.iter_mut().filter(|stated| stated.value.is_none()) {
            for number in stated.numbers() {
                if let Some(value) = value(&stated.input(&self.name, number)) {
                    let bytes = initial.iter_mut().skip(number.0 as usize).take(number.1.into());
                    bytes.zip(value.to_le_bytes()).for_each(|(to, from)| *to = from);
                }
            }
            stated.value = Some("the value from the witness".to_owned());
        }
    }

    /// Returns the initial content if all its bytes have the same value in every run; otherwise
    /// `None`.
    pub fn constant(&self) -> Option<&[u8]> {
        let initial = self.initial.as_deref().filter(|_| self.read_only)?;
        let varies = self.stated.iter().any(|stated| stated.value.is_none());
        (!varies).then_some(initial)
    }

    /// Returns `size` bytes of the initial content from `offset`, if these bytes have the same
    /// value in every run; otherwise `None`.
    pub fn constant_bytes(&self, offset: u64, size: u64) -> Option<&[u8]> {
        let initial = self.initial.as_deref().filter(|_| self.read_only)?;
        let varies = |stated: &StatedValue| stated.value.is_none() && stated.overlaps(offset, size);
        if self.stated.iter().any(varies) {
            return None;
        }
        let start = usize::try_from(offset).ok()?;
        initial.get(start..start.checked_add(usize::try_from(size).ok()?)?)
    }

    /// Returns the name under which the map is pinned and shared between objects; `None` if it is
    /// not pinned.
    pub fn pin(&self) -> Option<&str> {
        matches!(self.pinning, PIN_BY_NAME | IPROUTE2_GLOBAL).then_some(self.name.as_str())
    }

    /// Returns a map definition with this name, in which all other fields are empty or zero.
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

    /// Sets the fields of a map value that only the kernel may access to zero, as the kernel does
    /// when user space reads the value.
    pub fn clear_special(&self, value: &mut [u8]) {
        for field in &self.special {
            if let Some(bytes) = value.get_mut(field.start as usize..field.end as usize) {
                bytes.fill(0);
            }
        }
    }
}

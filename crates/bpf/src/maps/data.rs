//! Reads global data: each section of variables becomes a map with one element, as in libbpf.

use super::def::{MAPPABLE, MapDef, READ_ONLY};
use super::kind::MapKind;
use super::table::PlacedMap;
use crate::ObjectError;
use crate::elf::Section;

/// A global variable of an object.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Variable {
    /// Name of the variable.
    pub name: String,
    /// Index of the map that contains the variable, in [`crate::Object::maps`].
    pub map: usize,
    /// Offset of the variable from the start of the map's value, in bytes.
    pub offset: u64,
    /// Size in bytes.
    pub size: u64,
}

/// Maximum size of all data sections together, in bytes, because their content must fit into
/// memory.
const LIMIT: u64 = 64 << 20;

/// Returns true if a section of this name contains global data.
pub(crate) fn is_data_section(name: &str) -> bool {
    [".data", ".rodata", ".bss"]
        .iter()
        .any(|base| name.strip_prefix(base).is_some_and(|r| r.is_empty() || r.starts_with('.')))
}

/// Creates the map for a section of global data, which has index `index`. `before` is the total
/// size of earlier data sections, in bytes.
pub(super) fn read(section: &Section, index: usize, before: u64) -> Result<PlacedMap, ObjectError> {
    let name = section.name.as_str();
    let size = u32::try_from(section.size).ok().filter(|size| before + u64::from(*size) <= LIMIT);
    let Some(size) = size else {
        let text = format!("{} bytes of global data", before.saturating_add(section.size));
        return Err(ObjectError::section(name, text, "slowpath reads at most 64 MiB"));
    };
    let mut content = section.data.to_vec();
    content.resize(size as usize, 0);
    let read_only = name.starts_with(".rodata");
    let def = MapDef {
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: size,
        max_entries: 1,
        flags: MAPPABLE | if read_only { READ_ONLY } else { 0 },
        initial: Some(content),
        read_only,
        ..MapDef::new(name)
    };
    Ok(PlacedMap { def, section: index, offset: 0, values: None, numbered: None })
}

//! Chooses sizes for maps whose size the object leaves to the program's own loader.

use std::borrow::Cow;

use slowpath_bpf::{MapKind, Object};

/// Number of elements of a map in a rehearsal, if the object does not state its size.
const ELEMENTS: u32 = 64;

/// Returns a copy of the object in which all maps have a size, and the names of the maps whose size
/// the object does not state.
pub fn with_sizes(object: &Object) -> (Cow<'_, Object>, Vec<String>) {
    let open: Vec<usize> = object
        .maps
        .iter()
        .enumerate()
        // `slowpath_kernel` chooses the sizes of maps for perf events and of ring buffers.
        .filter(|(_, map)| map.max_entries == 0 && map.kind != MapKind::PERF_EVENT_ARRAY)
        .filter(|(_, map)| !matches!(map.kind, MapKind::RINGBUF | MapKind::USER_RINGBUF))
        .map(|(number, _)| number)
        .collect();
    if open.is_empty() {
        return (Cow::Borrowed(object), Vec::new());
    }
    let mut sized = object.clone();
    let mut names = Vec::new();
    for number in open {
        if let Some(map) = sized.maps.get_mut(number) {
            map.max_entries = ELEMENTS;
            names.push(map.name.clone());
        }
    }
    (Cow::Owned(sized), names)
}

/// Returns a note for the user about the maps `names`, whose size was chosen. Returns `None` if
/// there are no such maps.
pub fn note(names: &[String]) -> Option<String> {
    let all = names.join(", ");
    let what = "elements here, because its own loader chooses their number";
    (!names.is_empty()).then(|| format!("{all}: {ELEMENTS} {what}"))
}

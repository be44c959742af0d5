//! Sizes for maps whose number of elements the program's own loader would choose.

use std::borrow::Cow;

use slowpath_bpf::{MapKind, Object};

/// Number of elements of such maps in a rehearsal.
const ELEMENTS: u32 = 64;

/// Sets the sizes of such maps in an object. Also returns the names of these maps.
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

/// Returns a note for the user about these maps.
pub fn note(names: &[String]) -> Option<String> {
    let all = names.join(", ");
    let what = "elements here: how many there are is up to its own loader";
    (!names.is_empty()).then(|| format!("{all}: {ELEMENTS} {what}"))
}

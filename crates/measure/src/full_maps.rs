//! Fills maps for paths on which an insertion fails because the map is full.
//!
//! For a path with one insertion into a map, the analysis does not determine how many elements the
//! map has. The witness only states that the insertion fails. If the map is full, the kernel's call
//! fails in the same way, so the call takes its real time.

use serde_json::{Value, json};
use slowpath_bpf::{BpfProgram, MapDef, MapKind, Object};
use slowpath_kernel::Answer;
use slowpath_kernel::witness::{self, entries};

/// Maximum number of elements that are added to a map to fill it. They are added again each time
/// the program is loaded.
const MAX_ELEMENTS: u32 = 1 << 16;

/// Maximum total size in bytes of the elements that are added to a map, with their keys.
const MAX_BYTES: u64 = 64 << 20;

/// Text by which a witness marks an insertion that fails because a hash map is full
/// (`alloc_htab_elem` of `kernel/bpf/hashtab.c`).
const FULL: &str = "no: -E2BIG";

/// Adds elements to the witness, to fill each map for which an insertion must fail. Skips maps that
/// are too large. Returns the indices of the insertions that fail by themselves, so that their
/// results need no replacement.
pub fn fill(object: &Object, witness: &mut Value) -> Vec<usize> {
    let unknowns = witness["unknowns"].as_array().cloned().unwrap_or_default();
    let mut instructions = Vec::new();
    let mut filled: Vec<&str> = Vec::new();
    for unknown in unknowns.iter().filter(|unknown| unknown["meaning"] == FULL) {
        let Some((map, instruction)) = insertion(object, unknown) else { continue };
        if !filled.contains(&map.name.as_str()) {
            let Some(others) = missing(map, witness) else { continue };
            let maps = &mut witness["maps"];
            if maps[&map.name].is_null() {
                maps[&map.name] = json!([]);
            }
            let Some(list) = maps[&map.name].as_array_mut() else { continue };
            list.push(json!({ "others": others }));
            filled.push(&map.name);
        }
        instructions.push(instruction);
    }
    instructions
}

/// Returns fixed results for the helper calls of `program` that the kernel would answer differently
/// than the witness's path needs. Skips the calls at the instruction indices `full`, which insert
/// into full maps.
pub fn answers(program: &BpfProgram, witness: &Value, full: &[usize]) -> Vec<Answer> {
    let mut answers = witness::answers(program, witness);
    answers.retain(|answer| !full.contains(&answer.instruction));
    answers
}

/// Returns the map and the instruction index of an insertion that fails because the map is full.
/// `unknown` is the item of a witness that states this failure. Returns `None` if the map cannot be
/// filled.
fn insertion<'a>(object: &'a Object, unknown: &Value) -> Option<(&'a MapDef, usize)> {
    let name = unknown["result"].as_str()?.strip_prefix("room in ")?;
    let map = object.maps.iter().find(|map| map.name == name)?;
    let instruction = usize::try_from(unknown["instruction"].as_u64()?).ok()?;
    matches!(map.kind, MapKind::HASH | MapKind::PERCPU_HASH).then_some((map, instruction))
}

/// Returns the number of elements that must be added to fill a map. Returns `None` if it is full
/// already or cannot be filled.
fn missing(map: &MapDef, witness: &Value) -> Option<u32> {
    let listed = entries(witness, &map.name);
    if listed.clone().any(|entry| !entry["others"].is_null()) {
        return None;
    }
    let present = listed.clone().filter(|entry| !entry["value"].is_null()).count();
    let others = map.max_entries.checked_sub(u32::try_from(present).ok()?).filter(|&n| n > 0)?;
    let bytes = u64::from(others) * (u64::from(map.key_size) + u64::from(map.value_size));
    let keys = 1u64.checked_shl(8 * map.key_size.min(4))?;
    let enough = keys >= u64::from(others) + listed.count() as u64;
    (others <= MAX_ELEMENTS && bytes <= MAX_BYTES && enough).then_some(others)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn hash(max_entries: u32, key_size: u32) -> MapDef {
        let kind = MapKind::HASH;
        MapDef { kind, max_entries, key_size, value_size: 8, ..MapDef::new("flows") }
    }

    fn witness(entries: &Value) -> Value {
        json!({ "maps": { "flows": entries } })
    }

    #[test]
    fn elements_of_the_witness_count() {
        let one = witness(&json!([{ "key": "01000000", "value": "00" }, { "key": "02000000" }]));
        assert_eq!(missing(&hash(1000, 4), &one), Some(999));
        assert_eq!(missing(&hash(1000, 4), &json!({})), Some(1000));
    }

    #[test]
    fn a_map_that_the_witness_fills_stays() {
        assert_eq!(missing(&hash(1000, 4), &witness(&json!([{ "others": 1000 }]))), None);
    }

    #[test]
    fn too_large_maps_and_too_few_keys_are_left() {
        assert_eq!(missing(&hash(MAX_ELEMENTS + 1, 4), &json!({})), None);
        assert_eq!(missing(&hash(256, 1), &json!({})), Some(256));
        assert_eq!(missing(&hash(256, 1), &witness(&json!([{ "key": "01" }]))), None);
    }
}

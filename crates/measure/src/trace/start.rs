//! Sets the content of the maps before the first packet of a trace.

use serde::Serialize;
use serde_json::{Map, Value, json};
use slowpath_bpf::lift::{EntryKeys, entry_keys};
use slowpath_bpf::{MapDef, Object};
use slowpath_kernel::Kernel;
use slowpath_replay::Replay;

use crate::error::MeasureError;

/// A map of the program, with the number of elements that it had before the first packet of a
/// trace.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct TraceMap {
    /// Name of the map.
    pub name: String,
    /// Number of elements that were put into the map; null if it has the content that the object
    /// defines.
    pub entries: Option<u64>,
    /// Number of those elements that are synthetic, with arbitrary keys and values. `--maps` gives
    /// only their number.
    pub others: u64,
}

/// Adds initial map content, which the user gave, to a witness that lacks it. The path of the
/// witness was found with this content. Maps that the program cannot reach are skipped.
///
/// # Errors
/// If the program cannot be linked.
pub fn with_content(
    kernel: &Kernel,
    object: &Object,
    program: usize,
    mut witness: Value,
    content: &Value,
) -> Result<Value, MeasureError> {
    let reachable = kernel.reachable_maps(object, program)?;
    let reachable = reachable.iter().filter_map(|&number| object.maps.get(number));
    let known: Map<String, Value> = reachable.flat_map(|map| entries_of(content, map)).collect();
    if !witness["maps"].is_object() {
        witness["maps"] = json!({});
    }
    if let Some(maps) = witness["maps"].as_object_mut() {
        maps.extend(known);
    }
    Ok(witness)
}

/// Returns the entries of a map in `content`, each with the name of its map. For a map of maps,
/// includes the entries of its inner maps, with the names that `content` uses for them.
fn entries_of(content: &Value, map: &MapDef) -> impl Iterator<Item = (String, Value)> {
    let names = [map.name.clone(), format!("{}.inner", map.name)];
    names.into_iter().filter_map(|name| {
        let entries = content["maps"].get(&name)?.clone();
        Some((name, entries))
    })
}

/// Fills the maps of a program, in kernel and interpreter. `content` has the form of the field
/// `maps` of a witness. Maps without an entry in `content` are unchanged, and maps that the program
/// cannot reach are skipped. Returns a summary of each reachable map that can have content.
pub fn fill(
    replay: &mut Replay,
    object: &Object,
    content: &Value,
) -> Result<Vec<TraceMap>, MeasureError> {
    let reachable = |map: &&MapDef| replay.loaded().map(&map.name).is_some();
    let mut maps = Map::new();
    let mut known = Vec::new();
    for map in object.maps.iter().filter(reachable) {
        if !map.read_only && entry_keys(map.kind) != EntryKeys::None {
            known.push(summary(&map.name, content["maps"].get(&map.name)));
        }
        maps.extend(entries_of(content, map));
    }
    let installed = replay.install(&json!({ "maps": maps }));
    installed.map_err(|error| MeasureError::Content(Box::new(error)))?;
    for TraceMap { name, entries, .. } in &known {
        let map = replay.loaded().map(name).filter(|map| map.definition().kind.evicts());
        if let (Some(map), &Some(entries)) = (map, entries) {
            let kept = map.keys()?.len() as u64;
            if kept < entries {
                return Err(MeasureError::Evicted { map: name.clone(), entries, kept });
            }
        }
    }
    Ok(known)
}

fn summary(name: &str, content: Option<&Value>) -> TraceMap {
    let entries = || content.and_then(Value::as_array).into_iter().flatten();
    let others: u64 = entries().filter_map(|entry| entry["others"].as_u64()).sum();
    let listed = entries().filter(|entry| !entry["others"].is_u64()).count() as u64;
    TraceMap { name: name.to_owned(), entries: content.map(|_| listed + others), others }
}

//! The memory that a witness needs, as map content for reports.

use serde_json::{Map, Value, json};
use slowpath_bpf::lift::{Element, Layout};
use slowpath_exec::Machine;
use slowpath_ir::{RegionId, RegionKind};
use std::collections::{BTreeMap, HashMap};

type Bytes = BTreeMap<(RegionId, u64), u8>;

/// Maps of a BPF object: entries with keys and values, the format of `--maps`. Maps whose content
/// is known anyway are left out.
pub(super) fn of_layout(
    machine: &Machine,
    layout: &Layout,
    bytes: &Bytes,
    interned: &HashMap<(u64, u64), u32>,
) -> Map<String, Value> {
    let known = |region: RegionId| machine.program().regions[region.index()].content.is_some();
    let mut maps = Map::new();
    for map in &layout.maps {
        if known(map.present.unwrap_or(map.values)) {
            continue;
        }
        let elements = map.elements(bytes, interned);
        let entries: Vec<Value> = elements.iter().filter_map(entry).collect();
        if !entries.is_empty() {
            maps.insert(map.name.clone(), Value::Array(entries));
        }
    }
    maps
}

/// An entry; without a value when there must be none with this key.
fn entry(element: &Element) -> Option<Value> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let byte = |byte: &Option<u8>| byte.map_or_else(|| "--".into(), |byte| format!("{byte:02x}"));
    let key = hex(element.key.as_ref()?);
    let value: Option<String> = match element.present {
        Some(false) => None,
        Some(true) | None => Some(element.value.iter().map(byte).collect()),
    };
    let mut entry = json!({ "key": key, "value": value });
    if let (Some(which), Some(entry)) = (element.which, entry.as_object_mut()) {
        entry.insert("map".into(), json!(format!("{which:#x}")));
    }
    Some(entry)
}

/// Memory without keys: the bytes of each region, adjacent ones together.
pub(super) fn of_regions(machine: &Machine, bytes: &Bytes) -> Map<String, Value> {
    let mut maps = Map::new();
    for (index, region) in machine.program().regions.iter().enumerate() {
        if region.kind == RegionKind::Map {
            let stretches = stretches(RegionId::from(index), bytes);
            if !stretches.is_empty() {
                maps.insert(region.name.clone(), Value::Array(stretches));
            }
        }
    }
    maps
}

fn stretches(region: RegionId, bytes: &Bytes) -> Vec<Value> {
    let mut stretches: Vec<(u64, String, u64)> = Vec::new();
    for (&(_, offset), byte) in bytes.iter().filter(|((r, _), _)| *r == region) {
        match stretches.last_mut() {
            Some((_, hex, end)) if *end == offset => {
                hex.push_str(&format!("{byte:02x}"));
                *end += 1;
            }
            _ => stretches.push((offset, format!("{byte:02x}"), offset + 1)),
        }
    }
    let entry = |(offset, bytes, _)| json!({ "offset": offset, "bytes": bytes });
    stretches.into_iter().map(entry).collect()
}

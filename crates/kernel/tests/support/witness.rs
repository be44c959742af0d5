//! Witnesses in the kernel: what one says about maps is installed, and its packet runs.

use std::collections::BTreeMap;

use serde_json::Value;
use slowpath_bpf::{MapDef, MapKind};
use slowpath_kernel::{Loaded, Map};

use super::contents::Entry;
use super::twin::{Twin, out_of_range};

/// Look-ups whose keys depend on earlier look-ups, one after the other.
const ROUNDS: usize = 6;
/// What stands for bytes that a path does not depend on.
const ANY: u8 = 0x5a;

/// Bytes from hexadecimal digits; `--` is any byte.
pub fn bytes(text: &Value) -> Vec<u8> {
    let digits = text.as_str().unwrap_or_default();
    let pair = |at| u8::from_str_radix(&digits[at..at + 2], 16).unwrap_or(ANY);
    (0..digits.len() / 2).map(|n| pair(2 * n)).collect()
}

/// The pieces of a value, or all of it.
fn value(entry: &Value, size: u32) -> Option<Vec<u8>> {
    let Some(pieces) = entry["value"].as_object() else {
        return entry["value"].is_string().then(|| bytes(&entry["value"]));
    };
    let mut all = vec![ANY; size as usize];
    for (offset, piece) in pieces {
        let (offset, piece) = (offset.parse().unwrap_or(all.len()), bytes(piece));
        if let Some(place) = all.get_mut(offset..offset + piece.len()) {
            place.copy_from_slice(&piece);
        }
    }
    Some(all)
}

fn entries<'a>(witness: &'a Value, map: &str) -> impl Iterator<Item = &'a Value> {
    witness["maps"][map].as_array().into_iter().flatten()
}

/// Elements of a queue or stack in the order in which they are put in.
fn queued(witness: &Value, map: &MapDef) -> Vec<Vec<u8>> {
    let mut values: Vec<Vec<u8>> =
        entries(witness, &map.name).filter_map(|entry| value(entry, map.value_size)).collect();
    for entry in entries(witness, &map.name) {
        let others = entry["others"].as_u64().unwrap_or(0);
        values.extend((0..others).map(|_| vec![ANY; map.value_size as usize]));
    }
    if map.kind == MapKind::STACK {
        values.reverse();
    }
    values
}

/// Keys of elements that a program does not look for.
fn others(witness: &Value, map: &MapDef) -> Vec<Vec<u8>> {
    let mentioned: Vec<Vec<u8>> =
        entries(witness, &map.name).map(|entry| bytes(&entry["key"])).collect();
    let count: u64 = entries(witness, &map.name).filter_map(|e| e["others"].as_u64()).sum();
    let key = |number: u64| {
        let number = (0x3a5c_9e17_0000_0000 | number).to_le_bytes();
        let word = if map.key_size < 8 { number.map(|byte| byte ^ 0x5a) } else { number };
        word.into_iter().cycle().take(map.key_size as usize).collect::<Vec<u8>>()
    };
    let free = (0..).map(key).filter(|key| !mentioned.contains(key));
    free.take(count as usize).collect()
}

/// Installs what a witness says about maps in the kernel; the maps in maps, which have to stay.
pub fn install(loaded: &Loaded, witness: &Value) -> Result<BTreeMap<String, Map>, String> {
    let mut inner: BTreeMap<String, Map> = BTreeMap::new();
    let names = witness["maps"].as_object().into_iter().flatten().map(|(name, _)| name);
    for name in names.clone().filter(|name| !name.ends_with(".inner")) {
        let map = loaded.map(name).ok_or_else(|| format!("there is no map {name}"))?;
        let faulty = |e: &dyn std::fmt::Display| format!("{e}, in {}", witness["maps"]);
        let update = |key: &[u8], value: &[u8]| map.update(key, value).map_err(|e| faulty(&e));
        let definition = map.definition();
        if matches!(definition.kind, MapKind::QUEUE | MapKind::STACK) {
            for value in queued(witness, definition) {
                update(&[], &value)?;
            }
            continue;
        }
        for entry in entries(witness, name) {
            let key = bytes(&entry["key"]);
            if let Some(within) = entry["map"].as_str() {
                if !inner.contains_key(within) {
                    let made = map.create_inner().map_err(|e| faulty(&e))?;
                    inner.insert(within.to_owned(), made);
                }
                map.set_map(&key, &inner[within]).map_err(|e| faulty(&e))?;
            } else if matches!(definition.kind, MapKind::DEVMAP | MapKind::DEVMAP_HASH) {
                // Any device will do: the loopback device is always there.
                if entry["value"].is_string() {
                    update(&key, &1u32.to_le_bytes())?;
                }
            } else if let Some(value) = value(entry, definition.value_size)
                && !out_of_range(map, &key)
            {
                update(&key, &value)?;
            }
        }
        for key in others(witness, definition) {
            update(&key, &vec![ANY; definition.value_size as usize])?;
        }
    }
    for name in names.filter(|name| name.ends_with(".inner")) {
        for entry in entries(witness, name) {
            let within = entry["map"].as_str().unwrap_or_default();
            let map = inner.get(within).ok_or_else(|| format!("{name}: nothing holds {within}"))?;
            if let Some(value) = value(entry, map.definition().value_size) {
                map.update(&bytes(&entry["key"]), &value).map_err(|e| e.to_string())?;
            }
        }
    }
    Ok(inner)
}

/// Installs what a witness says about maps and runs its packet through both; the number of
/// instructions.
pub fn replay(twin: &mut Twin, witness: &Value) -> Result<usize, String> {
    let packet = bytes(&witness["packet"]);
    let layouts = twin.lifted.layout.maps.clone();
    for _ in 0..ROUNDS {
        for layout in &layouts {
            // Learns the numbers that stand for the keys that are looked for.
            twin.keys(layout, &packet);
            for entry in entries(witness, &layout.name).filter(|entry| entry["key"].is_string()) {
                if let Some(value) = value(entry, layout.value_size) {
                    twin.install(layout, &Entry { key: bytes(&entry["key"]), value })?;
                }
            }
        }
    }
    for layout in &layouts {
        let Some(map) = twin.loaded.map(&layout.name) else { continue };
        let definition = map.definition().clone();
        if matches!(layout.kind, MapKind::QUEUE | MapKind::STACK) {
            for value in queued(witness, &definition) {
                twin.enqueue(layout, &value)?;
            }
            continue;
        }
        for key in others(witness, &definition) {
            let value = vec![ANY; definition.value_size as usize];
            map.update(&key, &value).map_err(|e| e.to_string())?;
        }
    }
    Ok(twin.compare(&packet)?.costs.len())
}

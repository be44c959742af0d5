//! Converts the map content that users state in `--maps FILE` to the format of a witness, for code
//! that fills the maps before it runs the program.

use serde_json::{Map, Value, json};
use slowpath_bpf::lift::{EntryKeys, EntryValue, MapContent, MapEntry};
use slowpath_bpf::{MapDef, MapKind, Object, SlotRef};
use slowpath_codes as codes;
use std::collections::{BTreeMap, BTreeSet};

use super::bytes::digits;
use super::{Filler, inner_map, read_for};
use crate::Error;

/// Returns the map content that the text of `--maps FILE` states, as a witness that contains only
/// `maps`. Only the object can define some content, such as the entries of program arrays. The
/// result leaves out such content if text and object agree on it.
///
/// # Errors
/// If the text cannot be read, or contradicts the object about content that only the object can
/// define.
pub fn initial_maps(text: &str, object: &Object) -> Result<Value, Error> {
    Ok(json!({ "maps": initial_entries(text, object, Filler::Loader)? }))
}

/// Returns the map content that the text of `--maps FILE` states, for code that runs a program
/// itself and fills all its maps. Unlike [`initial_maps`], the result includes content that only
/// the object can define.
///
/// In entries of program arrays, `program` names the program. In entries of maps of maps, `map`
/// names the inner map, which can be a map of the object. Entries of bloom filters have only
/// values. Program arrays and maps of maps that the text does not name get their content from the
/// object.
///
/// # Errors
/// If the text cannot be read, or states content that cannot be filled in.
pub fn runner_maps(text: &str, object: &Object) -> Result<Value, Error> {
    let mut maps = initial_entries(text, object, Filler::Runner)?;
    for map in &object.maps {
        if maps.contains_key(&map.name) {
            continue;
        }
        let slots = object_slots(map, object);
        if map.kind == MapKind::PROG_ARRAY || (map.kind.holds_maps() && !slots.is_empty()) {
            maps.insert(map.name.clone(), slot_entries(map, &slots));
        }
    }
    Ok(json!({ "maps": maps }))
}

fn initial_entries(
    text: &str,
    object: &Object,
    filler: Filler,
) -> Result<Map<String, Value>, Error> {
    let contents = read_for(text, object, filler)?;
    let mut maps = Map::new();
    for (name, content) in &contents {
        let fail = |what: String| Error::OptionFile {
            code: codes::MAPS_DO_NOT_FIT,
            option: "--maps",
            line: None,
            what: format!("map {name}: {what}"),
        };
        let entries = match object.maps.iter().find(|map| map.name == *name) {
            Some(map) if filler == Filler::Runner && has_slots(map) => {
                check_others(map, content, filler).map_err(fail)?;
                maps.insert(name.clone(), slot_entries(map, &stated_slots(content)));
                continue;
            }
            Some(map) => stated_entries(map, content, object, filler).map_err(fail)?,
            None => Some(inner_entries(name, content, &contents, object, filler).map_err(fail)?),
        };
        if let Some(entries) = entries {
            maps.insert(name.clone(), entries.into());
        }
    }
    Ok(maps)
}

/// Returns true if the map is a program array or a map of maps, whose slots refer to programs or to
/// other maps.
fn has_slots(map: &MapDef) -> bool {
    map.kind == MapKind::PROG_ARRAY || map.kind.holds_maps()
}

/// Converts the slots of a program array or a map of maps, given by key, to entries in JSON.
fn slot_entries(map: &MapDef, slots: &Slots<'_>) -> Value {
    let what = if map.kind.holds_maps() { "map" } else { "program" };
    let held = slots.iter().filter_map(|(key, name)| name.map(|name| (key, name)));
    held.map(|(key, name)| json!({ "key": digits(key), what: name })).collect()
}

/// Returns the entries that `--maps FILE` states for a map. Returns `None` if the entries need not
/// be written into the map, because the object defines the same content.
fn stated_entries(
    map: &MapDef,
    content: &MapContent,
    object: &Object,
    filler: Filler,
) -> Result<Option<Vec<Value>>, String> {
    if map.read_only {
        let stated = content.entries.first().and_then(|entry| bytes(entry, map.value_size));
        let stated = stated.unwrap_or_else(|| vec![0; map.value_size as usize]);
        return match map.initial.as_deref() {
            Some(initial) if initial == stated => Ok(None),
            _ => Err("the map is read-only with the content of the object; leave it out".into()),
        };
    }
    if map.kind == MapKind::PROG_ARRAY || !map.slots.is_empty() {
        return match differing_slot(map, content, object) {
            None => Ok(None),
            Some(key) => Err(format!(
                "key {key} differs from the object, which alone can fill this {}; set it there \
                 (`.values`), or leave the map out",
                map.kind
            )),
        };
    }
    check_others(map, content, filler)?;
    let mut entries = Vec::with_capacity(content.entries.len());
    for entry in &content.entries {
        entries.push(match &entry.value {
            EntryValue::Map(held) if !held.contains('#') => {
                return Err(format!(
                    "key {} holds {held}, which only the object can put there; name the map {}#1, \
                     and give its content in {}.inner",
                    digits(&entry.key),
                    map.name,
                    map.name
                ));
            }
            EntryValue::Map(held) => json!({ "key": digits(&entry.key), "map": held }),
            _ => element(entry, map.value_size),
        });
    }
    // `--maps` replaces the initial value from the object. It states no value, so the value is
    // zero.
    if map.initial.is_some() && content.entries.is_empty() {
        let zero = digits(&vec![0; map.value_size as usize]);
        entries.push(json!({ "key": digits(&vec![0; map.key_size as usize]), "value": zero }));
    }
    if content.others > 0 {
        entries.push(json!({ "others": content.others }));
    }
    Ok(Some(entries))
}

/// Returns the entries of the inner maps of a map of maps.
fn inner_entries(
    name: &str,
    content: &MapContent,
    contents: &BTreeMap<String, MapContent>,
    object: &Object,
    filler: Filler,
) -> Result<Vec<Value>, String> {
    let outer = name.strip_suffix(".inner").unwrap_or(name);
    let size = inner_map(object, name).map_or(0, |inner| inner.value_size);
    let by_object = object.maps.iter().find(|map| map.name == outer && filler == Filler::Runner);
    let slots = match (contents.get(outer), by_object) {
        (Some(outer), _) => stated_slots(outer),
        (None, Some(outer)) => object_slots(outer, object),
        (None, None) => Slots::new(),
    };
    let held: BTreeSet<&str> = slots.values().flatten().copied().collect();
    let check_map = |map: &String| {
        if !held.contains(map.as_str()) {
            return Err(format!("no entry of {outer} holds {map}; put it there under a key"));
        }
        if filler == Filler::Runner && contents.contains_key(map) {
            return Err(format!(
                "the content of {map} is also given under its own name; leave one \
                out"
            ));
        }
        Ok(())
    };
    let mut entries = Vec::with_capacity(content.entries.len());
    for entry in &content.entries {
        if let EntryValue::Inner { map, .. } = &entry.value {
            check_map(map)?;
            let mut element = element(entry, size);
            element["map"] = map.as_str().into();
            entries.push(element);
        }
    }
    for (map, whole) in &content.inner {
        check_map(map)?;
        let mut properties = json!({ "map": map, "others": whole.others });
        if let Some(size) = whole.max_entries {
            if filler == Filler::Runner && !map.contains('#') {
                return Err(format!(
                    "the object defines the size of {map}; leave `max_entries` out"
                ));
            }
            properties["max_entries"] = size.into();
        }
        entries.push(properties);
    }
    Ok(entries)
}

/// Slots of a program array or a map of maps: for each key, the name of the program or map in the
/// slot. The name is `None` if the slot holds an index to which the object has no program or map.
type Slots<'a> = BTreeMap<Vec<u8>, Option<&'a str>>;

fn object_slots<'a>(map: &MapDef, object: &'a Object) -> Slots<'a> {
    let name = |target: &SlotRef| match *target {
        SlotRef::Program(number) => object.programs.get(number).map(|p| p.name.as_str()),
        SlotRef::Map(number) => object.maps.get(number).map(|map| map.name.as_str()),
    };
    // libbpf uses the slot number as the key, also in hash tables of maps.
    let key = |slot: u32| {
        let mut key = slot.to_le_bytes().to_vec();
        key.resize(map.key_size as usize, 0);
        key
    };
    map.slots.iter().map(|(slot, target)| (key(*slot), name(target))).collect()
}

/// Returns the slots of a program array or a map of maps that `--maps FILE` states.
fn stated_slots(content: &MapContent) -> Slots<'_> {
    content.entries.iter().map(|entry| (entry.key.clone(), named_target(entry))).collect()
}

/// Compares the slots of a program array or a map of maps in the object and in `--maps FILE`.
/// Returns a key for which they differ, or `None` if all are equal.
fn differing_slot(map: &MapDef, content: &MapContent, object: &Object) -> Option<String> {
    let (defined, stated) = (object_slots(map, object), stated_slots(content));
    let mut keys = defined.keys().chain(stated.keys());
    keys.find(|&key| defined.get(key) != stated.get(key)).map(|key| digits(key))
}

/// Returns the name of the program or map that a map entry refers to. Returns `None` if the entry
/// has an ordinary value.
fn named_target(entry: &MapEntry) -> Option<&str> {
    match &entry.value {
        EntryValue::Program(name) | EntryValue::Map(name) => Some(name.as_str()),
        EntryValue::Bytes(_) | EntryValue::Inner { .. } => None,
    }
}

/// Checks the number `others` of a map in `--maps FILE`: the number of further elements with
/// arbitrary keys. Returns an error if the filler cannot generate elements for a map of this kind.
fn check_others(map: &MapDef, content: &MapContent, filler: Filler) -> Result<(), String> {
    if content.others > 0 && !has_others(map.kind, filler) {
        return Err(format!("`others` is not enough to fill a {}; give its entries", map.kind));
    }
    Ok(())
}

/// Returns true if the filler can generate elements with arbitrary unused keys in a map of this
/// kind.
fn has_others(kind: MapKind, filler: Filler) -> bool {
    filler.keys(kind) == EntryKeys::Order
        || (filler.keys(kind) == EntryKeys::Keys && kind != MapKind::LPM_TRIE && !kind.holds_maps())
}

fn element(entry: &MapEntry, size: u32) -> Value {
    let value = bytes(entry, size).unwrap_or_default();
    match entry.key.is_empty() {
        true => json!({ "value": digits(&value) }),
        false => json!({ "key": digits(&entry.key), "value": digits(&value) }),
    }
}

/// Returns the complete value of a map entry. Bytes that are not stated are zero. Returns `None` if
/// the entry refers to a program or a map.
fn bytes(entry: &MapEntry, size: u32) -> Option<Vec<u8>> {
    match &entry.value {
        EntryValue::Bytes(value) | EntryValue::Inner { value, .. } => {
            let mut value = value.clone();
            value.resize(size as usize, 0);
            Some(value)
        }
        EntryValue::Program(_) | EntryValue::Map(_) => None,
    }
}

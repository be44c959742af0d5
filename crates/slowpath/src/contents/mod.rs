//! Reads map content from `--maps FILE`, which is TOML or JSON, and checks it against the object.
//!
//! `docs/reference/maps.md` documents the format. The front end applies the content to a program.

mod bytes;
mod initial;
#[cfg(test)]
mod tests;
mod unique_keys;

pub(crate) use bytes::{WHOLE, digits};
pub use initial::{initial_maps, runner_maps};

use crate::Error;
use serde_json::{Map, Value};
use slowpath_bpf::lift::{EntryKeys, EntryValue, InnerContent, MapContent, MapEntry, entry_keys};
use slowpath_bpf::{MapDef, MapKind, Object};
use slowpath_codes as codes;
use std::collections::{BTreeMap, BTreeSet};
use unique_keys::Unique;

/// Returns the map content that the text of `--maps FILE` states for an object, by map name.
///
/// # Errors
/// If the text cannot be read, names maps that do not exist, or does not fit the maps.
pub fn map_contents(text: &str, object: &Object) -> Result<BTreeMap<String, MapContent>, Error> {
    read_for(text, object, Filler::Loader)
}

/// The code that fills the maps before a run.
#[derive(Clone, Copy, PartialEq)]
enum Filler {
    /// A loader, which fills maps from user space after the object is loaded. It cannot change
    /// content that only the object can define. Analyses assume a loader.
    Loader,
    /// Code that runs a program itself and can fill all its maps.
    Runner,
}

impl Filler {
    /// Returns the property by which an entry of a map of this kind is identified: its key, its
    /// index, or its position in the list of entries.
    fn keys(self, kind: MapKind) -> EntryKeys {
        match (self, kind) {
            (Filler::Runner, MapKind::BLOOM_FILTER) => EntryKeys::Order,
            _ => entry_keys(kind),
        }
    }
}

/// Parses the content that users state in `--maps FILE` and that `filler` gives to the maps of
/// `object`. The result is sorted by map name.
fn read_for(
    text: &str,
    object: &Object,
    filler: Filler,
) -> Result<BTreeMap<String, MapContent>, Error> {
    let fail = |code, line, what| Error::OptionFile { code, option: "--maps", line, what };
    let document =
        parse(text).map_err(|(line, what)| fail(codes::MAPS_FILE_INVALID, line, what))?;
    let mut contents = BTreeMap::new();
    for (name, entries) in &document {
        let fail = |what: String| fail(codes::MAPS_DO_NOT_FIT, None, format!("map {name}: {what}"));
        if let Some(inner) = inner_map(object, name) {
            contents
                .insert(name.clone(), content(entries, inner, object, filler, true).map_err(fail)?);
            continue;
        }
        let Some(map) = object.maps.iter().find(|map| map.name == *name) else {
            let known: Vec<&str> = object.maps.iter().map(|map| map.name.as_str()).collect();
            let known = if known.is_empty() { "none".to_owned() } else { known.join(", ") };
            return Err(fail(format!("unknown map; the object has {known}")));
        };
        contents.insert(name.clone(), content(entries, map, object, filler, false).map_err(fail)?);
    }
    Ok(contents)
}

/// Returns the definition of the inner maps of a map of maps, if `name` has the form `OUTER.inner`.
fn inner_map<'a>(object: &'a Object, name: &str) -> Option<&'a MapDef> {
    let outer = name.strip_suffix(".inner")?;
    object.maps.iter().find(|map| map.name == outer)?.inner.as_deref()
}

/// Parses TOML or JSON text as a table of maps. An error consists of the line number, `None` if it
/// is not known, and a description.
fn parse(text: &str) -> Result<Map<String, Value>, (Option<usize>, String)> {
    let value: Value = if text.trim_start().starts_with('{') {
        let Unique(value) =
            serde_json::from_str(text).map_err(|e| (Some(e.line()), format!("not JSON: {e}")))?;
        value
    } else {
        let line =
            |at: usize| 1 + text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count();
        toml::from_str(text).map_err(|error: toml::de::Error| {
            let at = line(error.span().map_or(0, |span| span.start));
            let message = error.message().lines().next().unwrap_or_default();
            (Some(at), format!("neither TOML nor JSON: {message}"))
        })?
    };
    match value {
        Value::Object(maps) => Ok(maps),
        _ => Err((None, "must be a table with maps by name".into())),
    }
}

fn content(
    entries: &Value,
    map: &MapDef,
    object: &Object,
    filler: Filler,
    inner: bool,
) -> Result<MapContent, String> {
    let keys = filler.keys(map.kind);
    if keys == EntryKeys::None {
        return Err(format!("a {} has no entries with keys", map.kind));
    }
    let Some(list) = entries.as_array() else {
        return Err("must be a list of entries { key = .., value = .. }".into());
    };
    let mut seen = BTreeSet::new();
    let (mut found, mut others) = (Vec::with_capacity(list.len()), 0u64);
    let mut whole_maps = BTreeMap::new();
    for (index, value) in list.iter().enumerate() {
        let fail = |what: String| format!("entry {}: {what}", index + 1);
        if value.get("value").is_some_and(Value::is_null) {
            continue; // witnesses mark keys without an entry this way
        }
        let has = |name: &str| value.get(name).is_some();
        // Only runners know the values of queues inside maps of maps.
        let of_queue = filler == Filler::Runner && has("value");
        if inner && has("map") && !has("key") && !of_queue {
            let (name, content) = inner_content(value, object).map_err(fail)?;
            if whole_maps.insert(name, content).is_some() {
                return Err(fail("another entry is for the same map; remove one".into()));
            }
            continue;
        }
        if let Some(more) = value.get("others") {
            let more = more.as_u64().filter(|_| value.as_object().is_some_and(|v| v.len() == 1));
            let more = more.ok_or_else(|| {
                fail(
                    "`others` must be a number, without other keys in \
                 its entry"
                        .into(),
                )
            })?;
            others = others.saturating_add(more);
            continue;
        }
        let entry = entry(value, map, object, keys, inner).map_err(fail)?;
        let inner_map = match &entry.value {
            EntryValue::Inner { map, .. } => Some(map.clone()),
            _ => None,
        };
        if !seen.insert((inner_map, entry.key.clone())) && keys != EntryKeys::Order {
            return Err(fail("another entry has the same key; remove one".into()));
        }
        found.push(entry);
    }
    let count = others.saturating_add(found.len() as u64);
    // A bloom filter takes more values than its limit, which is only the expected number.
    let most = if map.kind == MapKind::BLOOM_FILTER { 0 } else { map.max_entries };
    if count > u64::from(most) && most > 0 && !inner {
        return Err(format!("{count} entries exceed its {}", map.max_entries));
    }
    Ok(MapContent { entries: found, others, inner: whole_maps })
}

/// Parses an entry without `key` in a map of maps: it describes an inner map as a whole. Returns
/// the name of the inner map and its content.
fn inner_content(value: &Value, object: &Object) -> Result<(String, InnerContent), String> {
    let mut content = InnerContent::default();
    let mut name = None;
    for (key, value) in value.as_object().into_iter().flatten() {
        let number = || value.as_u64().ok_or_else(|| format!("`{key}` is a number"));
        match key.as_str() {
            "map" => name = Some(named(value, "map", |name| is_map(object, name))?),
            "others" => content.others = number()?,
            "max_entries" => {
                let entries = u32::try_from(number()?).ok().filter(|&entries| entries > 0);
                let entries = entries.ok_or("`max_entries` is from 1 to 4294967295")?;
                content.max_entries = Some(entries);
            }
            other => {
                return Err(format!(
                    "unknown key `{other}`; an entry without `key` has `map`, `others` and \
                     `max_entries`"
                ));
            }
        }
    }
    Ok((name.unwrap_or_default(), content))
}

/// Returns true if an entry of a map of maps can refer to a map with this name: a map of the
/// object, or an additional inner map, which is called `OUTER#N`.
fn is_map(object: &Object, name: &str) -> bool {
    name.contains('#') || object.maps.iter().any(|map| map.name == name)
}

fn entry(
    value: &Value,
    map: &MapDef,
    object: &Object,
    keys: EntryKeys,
    inner: bool,
) -> Result<MapEntry, String> {
    let Some(table) = value.as_object() else {
        return Err("must be a table { key = .., value = .. }".into());
    };
    let holds = match map.kind {
        MapKind::PROG_ARRAY => "program",
        kind if kind.holds_maps() => "map",
        _ => "value",
    };
    let queue = keys == EntryKeys::Order;
    let known = |key: &str| (key == "key" && !queue) || key == holds || (inner && key == "map");
    if let Some(other) = table.keys().find(|key| !known(key.as_str())) {
        let of = match (inner, queue) {
            (false, true) => "",
            (true, true) => "`map` and ",
            (true, false) => "`map`, `key` and ",
            (false, false) => "`key` and ",
        };
        return Err(format!("unknown key `{other}`; entries of this map have {of}`{holds}`"));
    }
    let field = |name: &str| table.get(name).ok_or_else(|| format!("`{name}` is missing"));
    let key = if queue {
        Vec::new()
    } else {
        bytes::read(field("key")?, map.key_size).map_err(|why| format!("`key` {why}"))?
    };
    check_index(&key, map)?;
    check_prefix(&key, map)?;
    let value = field(holds)?;
    let map_of_object = |name: &str| is_map(object, name);
    let value = match holds {
        "program" => EntryValue::Program(named(value, "program", |name| {
            object.programs.iter().any(|program| program.name == name)
        })?),
        "map" => EntryValue::Map(named(value, "map", map_of_object)?),
        _ => {
            let value = bytes::read(value, map.value_size);
            let value = value.map_err(|why| format!("`value` {why}"))?;
            if inner {
                let map = named(field("map")?, "map", map_of_object)?;
                EntryValue::Inner { map, value }
            } else {
                EntryValue::Bytes(value)
            }
        }
    };
    Ok(MapEntry { key, value })
}

/// Checks that a key is a valid index, if the map is an array.
fn check_index(key: &[u8], map: &MapDef) -> Result<(), String> {
    let index = key
        .iter()
        .rev()
        .try_fold(0u64, |value, &byte| (value < 1 << 56).then_some(value << 8 | u64::from(byte)));
    let in_range = index.is_some_and(|index| index < u64::from(map.max_entries));
    if entry_keys(map.kind) == EntryKeys::Indices && map.max_entries > 0 && !in_range {
        return Err(format!("`key` must be below {}, the number of elements", map.max_entries));
    }
    Ok(())
}

/// Checks that a key is valid, if the map is a longest-prefix-match trie. The key begins with the
/// length of its prefix in bits. The kernel compares this length with the size of the rest
/// (`trie_update_elem`).
fn check_prefix(key: &[u8], map: &MapDef) -> Result<(), String> {
    let Some((length, rest)) = key.split_first_chunk::<4>() else { return Ok(()) };
    let (length, most) = (u32::from_le_bytes(*length), 8 * rest.len());
    if map.kind == MapKind::LPM_TRIE && length as usize > most {
        return Err(format!("`key` has a prefix of {length} bits, and its keys have {most}"));
    }
    Ok(())
}

fn named(value: &Value, what: &str, exists: impl Fn(&str) -> bool) -> Result<String, String> {
    match value.as_str() {
        Some(name) if exists(name) => Ok(name.to_owned()),
        Some(name) => Err(format!("`{what}`: the object has no {what} {name:?}")),
        None => Err(format!("`{what}` must be the name of a {what}")),
    }
}

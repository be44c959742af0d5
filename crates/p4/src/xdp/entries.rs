//! Entries of tables as writes to maps, and the files that list entries.
//!
//! A file has one entry on a line: the table, its keys, and the action. `#` starts a comment.
//!
//! ```text
//! ipv4_lpm 10.0.0.0/8 -> forward(port=2, mac=00:11:22:33:44:55)
//! acl 10.0.0.1 &&& 0xffffffff, 80..90, * priority 5 -> drop()
//! acl hdr.tcp.dst=22 priority 9 -> drop()
//! ipv4_lpm default -> drop()
//! known_types 0x0800
//! ```
//!
//! - A table has its name, with the names of controls around it where tables share a name. The
//!   last line adds a member to a value set, which has no action.
//! - Keys stand in the order of the table, or have names. A key without a line's value matches all.
//! - A value is a number (`80`, `0x50`, `0b101`, `-1`), `true`, `false`, an IPv4, IPv6 or MAC
//!   address. A key is a value, `value/length`, `value &&& mask`, `low..high` or `*`.
//! - Among entries that match a packet, the one with the highest priority wins, then the first one
//!   in the file. Priorities have no effect if all keys are exact, or all but one with a prefix.

use std::collections::{BTreeMap, HashMap};
use std::net::{Ipv4Addr, Ipv6Addr};

use num_bigint::{BigInt, Sign};
use serde::Serialize;
use slowpath_codes as codes;
use thiserror::Error;

pub use super::entry::{ActionCall, Entry, KeyValue, Setting};
use super::layout::{
    ActionLayout, KeyLayout, Layout, MatchKind, Number, ObjectLayout, TableLayout, TableMaps,
};

/// A write to a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Name of the map.
    pub map: String,
    /// Key in the map.
    pub key: Vec<u8>,
    /// Value.
    pub value: Vec<u8>,
}

/// A fault in an entry.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[error("line {line}: {message}")]
pub struct EntryError {
    /// Code of the cause.
    pub code: codes::Code,
    /// Line of the file; 0 for an entry of the program.
    pub line: u32,
    /// One line: the fault, and what to do.
    pub message: String,
}

type Result<T> = std::result::Result<T, EntryError>;

/// An entry of one table, with numbers for all keys.
struct Row<'a> {
    line: u32,
    keys: Vec<KeyValue>,
    priority: Option<u32>,
    action: &'a ActionLayout,
    args: Vec<BigInt>,
}

/// Returns the writes for the initial entries of a program, and for further ones.
///
/// The result sets all elements of tables whose entries have an order: with other entries, call it
/// again with all of them.
///
/// # Errors
///
/// The first entry that does not fit its table.
pub fn updates(layout: &Layout, entries: &[Entry]) -> Result<Vec<Update>> {
    let mut rows: Vec<Vec<Row>> = layout.tables.iter().map(|_| Vec::new()).collect();
    let mut writes = Vec::new();
    for (at, table) in layout.tables.iter().enumerate() {
        for entry in &table.initial {
            add(layout, at, entry, &mut rows[at], &mut writes)?;
        }
    }
    for entry in entries {
        match find(layout, entry)? {
            Found::Table(at) => add(layout, at, entry, &mut rows[at], &mut writes)?,
            Found::ValueSet(set) => writes.push(member(set, entry)?),
        }
    }
    for (table, rows) in layout.tables.iter().zip(rows) {
        table_writes(table, rows, &mut writes)?;
    }
    Ok(writes)
}

/// An element of a map, in hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Key in the map.
    pub key: String,
    /// Value.
    pub value: String,
}

/// Returns the content of the maps of all tables that entries name, as users state map content.
///
/// A table that the entries name has no other entries, and the default action of the program unless
/// an entry sets it.
///
/// # Errors
///
/// As [`updates`].
pub fn map_content(layout: &Layout, entries: &[Entry]) -> Result<BTreeMap<String, Vec<Element>>> {
    let hex = |bytes: &[u8]| bytes.iter().map(|byte| format!("{byte:02x}")).collect::<String>();
    let mut maps: BTreeMap<String, Vec<Element>> = BTreeMap::new();
    for entry in entries {
        let table = match find(layout, entry)? {
            Found::Table(at) => &layout.tables[at],
            Found::ValueSet(set) => {
                maps.entry(set.map.clone()).or_default();
                continue;
            }
        };
        if !matches!(table.maps, TableMaps::None) {
            maps.entry(table.map.clone()).or_default();
        }
        if matches!(table.maps, TableMaps::TupleSpace { .. }) {
            maps.entry(format!("{}_masks", table.map)).or_default();
        }
        if table.has_default_map {
            maps.entry(format!("{}_default", table.map)).or_default();
        }
    }
    // Other tables may have any entries, also in place of those in the program.
    for write in updates(layout, entries)? {
        if let Some(elements) = maps.get_mut(&write.map) {
            elements.push(Element { key: hex(&write.key), value: hex(&write.value) });
        }
    }
    Ok(maps)
}

enum Found<'a> {
    Table(usize),
    ValueSet(&'a ObjectLayout),
}

fn fault<T>(line: u32, message: String) -> Result<T> {
    Err(EntryError { code: codes::P4_ENTRY, line, message })
}

/// Returns true if a name is a path, or its last parts.
fn names(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the place of the one path that a name means: the whole path, or else its end.
fn one<'a>(
    paths: impl Iterator<Item = &'a str> + Clone,
    name: &str,
) -> std::result::Result<usize, String> {
    if let Some(at) = paths.clone().position(|path| path == name) {
        return Ok(at);
    }
    let found: Vec<_> = paths.clone().enumerate().filter(|(_, path)| names(path, name)).collect();
    match found[..] {
        [(at, _)] => Ok(at),
        [] => {
            let all: Vec<_> = paths.collect();
            let all = if all.is_empty() { "none".to_owned() } else { all.join(", ") };
            Err(format!("is unknown; known are: {all}"))
        }
        _ => {
            let found: Vec<_> = found.iter().map(|one| one.1).collect();
            Err(format!("has several meanings: {}", found.join(", ")))
        }
    }
}

fn find<'a>(layout: &'a Layout, entry: &Entry) -> Result<Found<'a>> {
    if let Setting::Member(_) = entry.setting {
        let sets: Vec<_> = layout.objects.iter().filter(|one| one.kind == "value_set").collect();
        return match one(sets.iter().map(|one| &*one.name), &entry.table) {
            Ok(at) => Ok(Found::ValueSet(sets[at])),
            Err(why) => fault(entry.line, format!("value set '{}' {why}", entry.table)),
        };
    }
    match one(layout.tables.iter().map(|one| &*one.name), &entry.table) {
        Ok(at) => Ok(Found::Table(at)),
        Err(why) => fault(entry.line, format!("table '{}' {why}", entry.table)),
    }
}

fn add<'a>(
    layout: &'a Layout,
    at: usize,
    entry: &Entry,
    rows: &mut Vec<Row<'a>>,
    writes: &mut Vec<Update>,
) -> Result<()> {
    let table = &layout.tables[at];
    let (line, name) = (entry.line, &table.name);
    match &entry.setting {
        Setting::Entry { keys, priority, action } => {
            if table.maps == TableMaps::None {
                return fault(
                    line,
                    format!(
                        "table '{name}' has constant entries or no keys; entries cannot be added"
                    ),
                );
            }
            let keys = ordered_keys(table, line, keys)?;
            let (action, args) = action_of(table, line, action, false)?;
            rows.push(Row { line, keys, priority: *priority, action, args });
        }
        Setting::Default(action) => {
            if !table.has_default_map {
                return fault(line, format!("the default action of table '{name}' is constant"));
            }
            let (action, args) = action_of(table, line, action, true)?;
            let value = action_value(table, action, &args, 0);
            writes.push(Update { map: format!("{}_default", table.map), key: vec![0; 4], value });
        }
        Setting::Member(_) => {}
    }
    Ok(())
}

/// Returns the keys of an entry in the order of the table.
fn ordered_keys(
    table: &TableLayout,
    line: u32,
    keys: &[(Option<String>, KeyValue)],
) -> Result<Vec<KeyValue>> {
    let of = format!("table '{}'", table.name);
    let numbers: Vec<&Number> = table.keys.iter().map(|key| &key.number).collect();
    let values = ordered(&of, line, "key", &numbers, keys)?;
    let mut found = Vec::new();
    for (key, value) in table.keys.iter().zip(values) {
        let value = value.cloned().unwrap_or(KeyValue::Any);
        found.push(checked_key(&of, line, key, value)?);
    }
    Ok(found)
}

/// Returns values in the order of the numbers that they set.
fn ordered<'v, T>(
    of: &str,
    line: u32,
    what: &str,
    numbers: &[&Number],
    values: &'v [(Option<String>, T)],
) -> Result<Vec<Option<&'v T>>> {
    let mut found = vec![None; numbers.len()];
    let are_named = values.iter().any(|(name, _)| name.is_some());
    if !are_named && values.len() != numbers.len() {
        let all: Vec<_> = numbers.iter().map(|one| &*one.name).collect();
        return fault(
            line,
            format!(
                "{of} takes {} {what}s ({}), the entry has {}",
                numbers.len(),
                all.join(", "),
                values.len()
            ),
        );
    }
    for (at, (name, value)) in values.iter().enumerate() {
        let at = match name {
            Some(name) => match one(numbers.iter().map(|one| &*one.name), name) {
                Ok(at) => at,
                Err(why) => return fault(line, format!("{of}: {what} '{name}' {why}")),
            },
            None if are_named => {
                return fault(line, format!("{of}: give all {what}s names, or none"));
            }
            None => at,
        };
        if found[at].replace(value).is_some() {
            return fault(line, format!("{of}: {what} '{}' is given twice", numbers[at].name));
        }
    }
    Ok(found)
}

fn all_ones(width: u32) -> BigInt {
    (BigInt::from(1) << width) - 1
}

fn prefix_mask(width: u32, length: u32) -> BigInt {
    all_ones(width) ^ all_ones(width - length.min(width))
}

/// Returns a value of a number's width; negative values are two's complements.
fn sized(of: &str, line: u32, number: &Number, value: &BigInt) -> Result<BigInt> {
    let width = number.width;
    let lowest = if width == 0 { BigInt::ZERO } else { -(BigInt::from(1) << (width - 1)) };
    if *value < lowest || *value > all_ones(width) {
        return fault(
            line,
            format!("{of}: {value} for '{}' does not fit {width} bits", number.name),
        );
    }
    Ok(value & all_ones(width))
}

/// Checks a key against its kind, and returns it with numbers of its width: `Exact` for an exact
/// key, `Prefix` for a prefix, `Range` for a range, `Mask` for all others.
fn checked_key(of: &str, line: u32, key: &KeyLayout, value: KeyValue) -> Result<KeyValue> {
    let number = &key.number;
    let (width, ones) = (number.width, all_ones(number.width));
    let size = |value: &BigInt| sized(of, line, number, value);
    let wrong = |kind: &str, forms: &str| {
        fault(line, format!("{of}: the {kind} key '{}' takes {forms}", number.name))
    };
    let length = |length: u32| {
        if length > width {
            return fault(
                line,
                format!("{of}: prefix length {length} for '{}' exceeds {width} bits", number.name),
            );
        }
        Ok(length)
    };
    Ok(match (key.kind, value) {
        (MatchKind::Exact, KeyValue::Exact(value)) => KeyValue::Exact(size(&value)?),
        (MatchKind::Exact, _) => return wrong("exact", "one value"),
        (MatchKind::Lpm, KeyValue::Exact(value)) => KeyValue::Prefix(size(&value)?, width),
        (MatchKind::Lpm, KeyValue::Prefix(value, bits)) => {
            let mask = prefix_mask(width, length(bits)?);
            KeyValue::Prefix(size(&value)? & mask, bits)
        }
        (MatchKind::Lpm, KeyValue::Any) => KeyValue::Prefix(BigInt::ZERO, 0),
        (MatchKind::Lpm, KeyValue::Mask(value, mask)) => {
            let mask = size(&mask)?;
            match (0..=width).find(|bits| prefix_mask(width, *bits) == mask) {
                Some(bits) => KeyValue::Prefix(size(&value)? & mask, bits),
                None => return wrong("lpm", "value/length; the mask is not a prefix"),
            }
        }
        (MatchKind::Lpm, _) => return wrong("lpm", "value/length, a value or *"),
        (MatchKind::Range, KeyValue::Exact(value)) => {
            let value = size(&value)?;
            KeyValue::Range(value.clone(), value)
        }
        (MatchKind::Range, KeyValue::Range(low, high)) => {
            let (low, high) = (size(&low)?, size(&high)?);
            if low > high {
                return fault(
                    line,
                    format!("{of}: range {low}..{high} for '{}' is empty", number.name),
                );
            }
            KeyValue::Range(low, high)
        }
        (MatchKind::Range, KeyValue::Any) => KeyValue::Range(BigInt::ZERO, ones),
        (MatchKind::Range, _) => return wrong("range", "low..high, a value or *"),
        (MatchKind::Ternary | MatchKind::Optional, KeyValue::Exact(value)) => {
            KeyValue::Mask(size(&value)?, ones)
        }
        (MatchKind::Ternary | MatchKind::Optional, KeyValue::Any) => {
            KeyValue::Mask(BigInt::ZERO, BigInt::ZERO)
        }
        (MatchKind::Optional, _) => return wrong("optional", "a value or *"),
        (MatchKind::Ternary, KeyValue::Prefix(value, bits)) => {
            let mask = prefix_mask(width, length(bits)?);
            KeyValue::Mask(size(&value)? & &mask, mask)
        }
        (MatchKind::Ternary, KeyValue::Mask(value, mask)) => {
            let mask = size(&mask)?;
            KeyValue::Mask(size(&value)? & &mask, mask)
        }
        (MatchKind::Ternary, KeyValue::Range(..)) => {
            return wrong("ternary", "value &&& mask, value/length, a value or *");
        }
    })
}

fn action_of<'a>(
    table: &'a TableLayout,
    line: u32,
    call: &ActionCall,
    as_default: bool,
) -> Result<(&'a ActionLayout, Vec<BigInt>)> {
    let of = format!("table '{}'", table.name);
    let allowed: Vec<_> = table
        .actions
        .iter()
        .filter(|one| if as_default { one.as_default } else { one.in_entries })
        .collect();
    let action = match one(allowed.iter().map(|one| &*one.name), &call.name) {
        Ok(at) => allowed[at],
        Err(why) => return fault(line, format!("{of}: action '{}' {why}", call.name)),
    };
    let of = format!("{of}: action '{}'", action.name);
    let numbers: Vec<&Number> = action.params.iter().collect();
    let values = ordered(&of, line, "parameter", &numbers, &call.args)?;
    let mut args = Vec::new();
    for (number, value) in numbers.iter().zip(values) {
        let Some(value) = value else {
            return fault(line, format!("{of}: parameter '{}' has no value", number.name));
        };
        args.push(sized(&of, line, number, value)?);
    }
    Ok((action, args))
}

/// Writes a number in little-endian order.
fn put(bytes: &mut [u8], number: &Number, value: &BigInt) {
    let digits = value.to_bytes_le().1;
    let at = number.offset as usize;
    let count = digits.len().min(number.size as usize);
    bytes[at..at + count].copy_from_slice(&digits[..count]);
}

fn action_value(table: &TableLayout, action: &ActionLayout, args: &[BigInt], rank: u32) -> Vec<u8> {
    let mut value = vec![0; table.value_size as usize];
    value[..4].copy_from_slice(&action.id.to_le_bytes());
    if let Some(at) = table.priority {
        value[at as usize..at as usize + 4].copy_from_slice(&rank.to_le_bytes());
    }
    for (number, arg) in action.params.iter().zip(args) {
        put(&mut value, number, arg);
    }
    value
}

fn member(set: &ObjectLayout, entry: &Entry) -> Result<Update> {
    let Setting::Member(keys) = &entry.setting else {
        return fault(entry.line, format!("'{}' is a value set, without actions", set.name));
    };
    let of = format!("value set '{}'", set.name);
    let numbers: Vec<&Number> = set.numbers.iter().collect();
    let mut key = vec![0; set.element as usize];
    for (number, value) in numbers.iter().zip(ordered(&of, entry.line, "key", &numbers, keys)?) {
        match value {
            Some(KeyValue::Exact(value)) => {
                put(&mut key, number, &sized(&of, entry.line, number, value)?)
            }
            _ => return fault(entry.line, format!("{of}: '{}' takes one value", number.name)),
        }
    }
    Ok(Update { map: set.map.clone(), key, value: vec![1, 0, 0, 0] })
}

/// Returns the two numbers of a key: value and mask, or lowest and highest value.
fn pair(key: &KeyLayout, value: &KeyValue) -> (BigInt, BigInt) {
    let width = key.number.width;
    match value {
        KeyValue::Exact(value) => (value.clone(), all_ones(width)),
        KeyValue::Prefix(value, length) => (value.clone(), prefix_mask(width, *length)),
        KeyValue::Mask(first, second) | KeyValue::Range(first, second) => {
            (first.clone(), second.clone())
        }
        KeyValue::Any => (BigInt::ZERO, BigInt::ZERO),
    }
}

fn table_writes(table: &TableLayout, mut rows: Vec<Row>, writes: &mut Vec<Update>) -> Result<()> {
    // The best entry stands first; sorting keeps the order of equal priorities.
    rows.sort_by_key(|row| std::cmp::Reverse(row.priority.unwrap_or(0)));
    if let Some(row) = rows.get(table.size as usize) {
        return fault(
            row.line,
            format!("table '{}' has room for {} entries", table.name, table.size),
        );
    }
    let mut seen: HashMap<Vec<u8>, u32> = HashMap::new();
    let mut masks: Vec<Vec<u8>> = Vec::new();
    let count = rows.len() as u32;
    for (at, row) in rows.iter().enumerate() {
        let at = at as u32;
        let pairs: Vec<_> =
            table.keys.iter().zip(&row.keys).map(|(key, value)| pair(key, value)).collect();
        let value = action_value(table, row.action, &row.args, count - at);
        let mut key = vec![0; table.key_size as usize];
        match table.maps {
            TableMaps::None => continue,
            TableMaps::Hash => {
                for (one, (value, _)) in table.keys.iter().zip(&pairs) {
                    put(&mut key, &one.number, value);
                }
            }
            TableMaps::Trie => trie_key(table, row, &mut key),
            TableMaps::TupleSpace { masks: most } => {
                let mut mask = vec![0; table.key_size as usize];
                mask[..4].copy_from_slice(&1u32.to_le_bytes());
                for (one, (value, ones)) in table.keys.iter().zip(&pairs) {
                    put(&mut key, &one.number, value);
                    put(&mut mask, &one.number, ones);
                }
                let tuple = match masks.iter().position(|known| *known == mask) {
                    Some(tuple) => tuple as u32,
                    None => {
                        let tuple = masks.len() as u32;
                        if tuple >= most {
                            return fault(
                                row.line,
                                format!(
                                    "table '{}' has room for {most} combinations of masks",
                                    table.name
                                ),
                            );
                        }
                        writes.push(Update {
                            map: format!("{}_masks", table.map),
                            key: tuple.to_le_bytes().to_vec(),
                            value: mask.clone(),
                        });
                        masks.push(mask);
                        tuple
                    }
                };
                key[..4].copy_from_slice(&tuple.to_le_bytes());
                // An entry with the same keys and a lower priority never matches.
                if seen.insert(key.clone(), row.line).is_some() {
                    continue;
                }
            }
            TableMaps::Scan { second, value: value_at, element } => {
                let mut bytes = vec![0; element as usize];
                bytes[..4].copy_from_slice(&1u32.to_le_bytes());
                for (one, (first, last)) in table.keys.iter().zip(&pairs) {
                    put(&mut bytes, &one.number, first);
                    let later = Number { offset: one.number.offset + second, ..one.number.clone() };
                    put(&mut bytes, &later, last);
                }
                bytes[value_at as usize..value_at as usize + value.len()].copy_from_slice(&value);
                let key = at.to_le_bytes().to_vec();
                writes.push(Update { map: table.map.clone(), key, value: bytes });
                continue;
            }
        }
        if matches!(table.maps, TableMaps::Hash | TableMaps::Trie)
            && let Some(line) = seen.insert(key.clone(), row.line)
        {
            return fault(
                row.line.max(line),
                format!("table '{}' has two entries with the same keys", table.name),
            );
        }
        writes.push(Update { map: table.map.clone(), key, value });
    }
    Ok(())
}

/// Writes a key of an LPM trie: the length of the prefix, then all keys left-aligned in bytes.
fn trie_key(table: &TableLayout, row: &Row, key: &mut [u8]) {
    let mut length = 0;
    for (one, value) in table.keys.iter().zip(&row.keys) {
        let Number { width, offset, size, .. } = one.number;
        let number = match value {
            KeyValue::Exact(value) => {
                length += size * 8;
                value
            }
            KeyValue::Prefix(value, bits) => {
                length += bits;
                value
            }
            _ => continue,
        };
        let digits = (number << (size * 8 - width)).to_bytes_be().1;
        let end = (offset + size) as usize;
        key[end - digits.len()..end].copy_from_slice(&digits);
    }
    key[..4].copy_from_slice(&length.to_le_bytes());
}

// --- files -------------------------------------------------------------------------------------

/// Reads a file of entries.
///
/// # Errors
///
/// The first line that is not an entry.
pub fn parse(text: &str) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.split('#').next().unwrap_or_default().trim();
        if !text.is_empty() {
            entries.push(parse_line(line, text)?);
        }
    }
    Ok(entries)
}

fn parse_line(line: u32, text: &str) -> Result<Entry> {
    let (left, action) = match text.split_once("->") {
        Some((left, action)) => (left.trim(), Some(parse_action(line, action.trim())?)),
        None => (text, None),
    };
    let (table, keys) = left.split_once(char::is_whitespace).unwrap_or((left, ""));
    let (table, keys) = (table.to_owned(), keys.trim());
    let setting = match action {
        None => Setting::Member(parse_keys(line, keys)?),
        Some(action) if keys == "default" => Setting::Default(action),
        Some(action) => {
            let (keys, priority) = parse_priority(line, keys)?;
            Setting::Entry { keys: parse_keys(line, keys)?, priority, action }
        }
    };
    Ok(Entry { line, table, setting })
}

/// Splits `keys priority number`.
fn parse_priority(line: u32, text: &str) -> Result<(&str, Option<u32>)> {
    let Some((before, number)) = text.rsplit_once(char::is_whitespace) else {
        return Ok((text, None));
    };
    let before = before.trim_end();
    let Some(keys) = before.strip_suffix("priority") else { return Ok((text, None)) };
    if !keys.is_empty() && !keys.ends_with(char::is_whitespace) {
        return Ok((text, None));
    }
    match number.parse() {
        Ok(number) => Ok((keys.trim_end(), Some(number))),
        Err(_) => fault(line, format!("priority '{number}' is not a number up to 4294967295")),
    }
}

fn parse_action(line: u32, text: &str) -> Result<ActionCall> {
    let (name, args) = match text.split_once('(') {
        None => (text, ""),
        Some((name, rest)) => match rest.strip_suffix(')') {
            Some(args) => (name.trim(), args.trim()),
            None => return fault(line, format!("')' is missing at the end of '{text}'")),
        },
    };
    if name.is_empty() {
        return fault(line, "an action is missing after '->'".to_owned());
    }
    let mut found = Vec::new();
    for arg in args.split(',').map(str::trim).filter(|_| !args.is_empty()) {
        let (name, value) = named(arg);
        found.push((name, parse_value(line, value)?));
    }
    Ok(ActionCall { name: name.to_owned(), args: found })
}

/// Splits `name=value`.
fn named(text: &str) -> (Option<String>, &str) {
    match text.split_once('=') {
        Some((name, value)) => (Some(name.trim().to_owned()), value.trim()),
        None => (None, text),
    }
}

fn parse_keys(line: u32, text: &str) -> Result<Vec<(Option<String>, KeyValue)>> {
    let mut keys = Vec::new();
    for key in text.split(',').map(str::trim).filter(|_| !text.is_empty()) {
        let (name, value) = named(key);
        keys.push((name, parse_key(line, value)?));
    }
    Ok(keys)
}

fn parse_key(line: u32, text: &str) -> Result<KeyValue> {
    let value = |text: &str| parse_value(line, text.trim());
    if matches!(text, "*" | "_") {
        return Ok(KeyValue::Any);
    }
    if let Some((first, mask)) = text.split_once("&&&") {
        return Ok(KeyValue::Mask(value(first)?, value(mask)?));
    }
    if let Some((low, high)) = text.split_once("..") {
        return Ok(KeyValue::Range(value(low)?, value(high)?));
    }
    if let Some((first, length)) = text.split_once('/') {
        return match length.trim().parse() {
            Ok(length) => Ok(KeyValue::Prefix(value(first)?, length)),
            Err(_) => fault(line, format!("prefix length '{}' is not a number", length.trim())),
        };
    }
    Ok(KeyValue::Exact(value(text)?))
}

/// Reads a number or an address.
fn parse_value(line: u32, text: &str) -> Result<BigInt> {
    match text {
        "true" => return Ok(1.into()),
        "false" => return Ok(0.into()),
        _ => {}
    }
    if let Ok(address) = text.parse::<Ipv4Addr>() {
        return Ok(u32::from(address).into());
    }
    let parts: Vec<_> = text.split(':').collect();
    if parts.len() == 6 && parts.iter().all(|part| part.len() == 2) {
        let bytes: Option<Vec<u8>> =
            parts.iter().map(|part| u8::from_str_radix(part, 16).ok()).collect();
        if let Some(bytes) = bytes {
            return Ok(BigInt::from_bytes_be(Sign::Plus, &bytes));
        }
    }
    if let Ok(address) = text.parse::<Ipv6Addr>() {
        return Ok(u128::from(address).into());
    }
    let (sign, digits) = match text.strip_prefix('-') {
        Some(digits) => (Sign::Minus, digits),
        None => (Sign::Plus, text),
    };
    let (radix, digits) = match digits.get(..2) {
        Some("0x" | "0X") => (16, &digits[2..]),
        Some("0b" | "0B") => (2, &digits[2..]),
        Some("0o" | "0O") => (8, &digits[2..]),
        _ => (10, digits),
    };
    let is_plain = digits.starts_with(|first: char| first.is_digit(radix));
    match num_bigint::BigUint::parse_bytes(digits.as_bytes(), radix).filter(|_| is_plain) {
        Some(number) => Ok(BigInt::from_biguint(sign, number)),
        None => fault(line, format!("'{text}' is neither a number nor an address")),
    }
}

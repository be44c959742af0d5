//! Converts table entries to map updates, which write them to the maps of a compiled program.

use std::collections::{BTreeMap, HashMap};

use num_bigint::BigInt;
use serde::Serialize;

pub use super::entry::{ActionCall, Entry, EntryError, KeyValue, Setting};
use super::entry::{Result, brief, fault};
pub use super::entry_file::parse;
use super::layout::{
    ActionLayout, KeyLayout, Layout, MatchKind, MembersLayout, Number, ObjectLayout, TableLayout,
    TableMaps,
};

/// A write of one element to a map.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Update {
    /// Name of the map.
    pub map: String,
    /// Key of the element, in the byte layout of the map.
    pub key: Vec<u8>,
    /// Value.
    pub value: Vec<u8>,
}

/// An entry of a table, with all its keys and arguments resolved.
struct Row<'a> {
    line: u32,
    keys: Vec<KeyValue>,
    priority: Option<u32>,
    /// Actions with their arguments. An entry has several actions only if they form a group of an
    /// action selector.
    actions: Vec<(&'a ActionLayout, Vec<BigInt>)>,
}

/// Members and groups of an action profile or selector that entries use, in the order of their
/// indices in the maps.
#[derive(Default)]
struct Pool {
    members: Vec<Vec<u8>>,
    groups: Vec<Vec<u32>>,
}

/// Returns the index of `item` in the list `all`. Appends `item` if the list does not contain it.
fn number_of<T: PartialEq>(all: &mut Vec<T>, item: T) -> u32 {
    let at = all.iter().position(|one| *one == item).unwrap_or(all.len());
    if at == all.len() {
        all.push(item);
    }
    at as u32
}

/// Returns the map writes for the program's initial entries, followed by `entries`.
///
/// For a table whose entries have an order, the result writes all elements of its maps. To change
/// an entry of such a table, call the function again with all entries.
///
/// # Errors
///
/// Returns an error for the first entry that does not fit its table.
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
    let mut pools: BTreeMap<&str, Pool> = BTreeMap::new();
    for (table, rows) in layout.tables.iter().zip(rows) {
        let map = table.members.as_ref().map_or("", |one| &one.map);
        table_writes(table, rows, pools.entry(map).or_default(), &mut writes)?;
    }
    for members in layout.tables.iter().filter_map(|table| table.members.as_ref()) {
        if let Some(pool) = pools.remove(&*members.map) {
            pool_writes(members, &pool, &mut writes);
        }
    }
    Ok(writes)
}

/// An element of a map, as hexadecimal digits.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Element {
    /// Key in the map.
    pub key: String,
    /// Value.
    pub value: String,
}

/// Returns the content of the maps of all tables that entries name, in the format of map content
/// from users.
///
/// A table that the entries name has no other entries. It has the default action of the program
/// unless an entry sets another one.
///
/// # Errors
///
/// Returns an error for the first entry that does not fit its table.
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
        if table.meter.is_some() {
            return fault(
                entry.line,
                format!(
                    "table '{}' has a direct meter in its entries, whose state packets change; leave out its entries",
                    table.name
                ),
            );
        }
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
    for members in layout.tables.iter().filter_map(|table| table.members.as_ref()) {
        // A table without entries here may have any members.
        let mut sharing = layout.tables.iter().filter(|one| one.members.as_ref() == Some(members));
        if sharing.all(|table| maps.contains_key(&table.map)) {
            maps.entry(members.map.clone()).or_default();
            if let Some(groups) = &members.groups {
                maps.entry(groups.map.clone()).or_default();
            }
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

/// An entry of a table, with its keys, action and arguments resolved.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Resolved {
    /// Line in the file of entries; 0 for an entry of the program.
    pub line: u32,
    /// True if the entry sets the default action; it then has no keys.
    pub is_default: bool,
    /// Keys in the order of the table.
    pub keys: Vec<KeyValue>,
    /// Priority; higher numbers win.
    pub priority: Option<u32>,
    /// Index of the action in the list of the table.
    pub action: usize,
    /// Arguments in the order of the parameters.
    pub args: Vec<BigInt>,
}

/// Resolves entries, and returns those of each table in the order of `tables`.
///
/// # Errors
///
/// Returns an error for the first entry that does not fit its table.
pub fn resolve(tables: &[TableLayout], entries: &[Entry]) -> Result<Vec<Vec<Resolved>>> {
    let layout = Layout { tables: tables.to_vec(), ..Layout::default() };
    let mut found: Vec<Vec<Resolved>> = layout.tables.iter().map(|_| Vec::new()).collect();
    for entry in entries {
        let at = match find(&layout, entry)? {
            Found::Table(at) => at,
            Found::ValueSet(_) => continue,
        };
        let table = &layout.tables[at];
        let (mut rows, line) = (Vec::new(), entry.line);
        let is_default = matches!(entry.setting, Setting::Default(_));
        match &entry.setting {
            Setting::Default(action) if table.has_default_map => {
                let actions = vec![action_of(table, line, action, true)?];
                rows.push(Row { line, keys: Vec::new(), priority: None, actions });
            }
            _ => add(&layout, at, entry, &mut rows, &mut Vec::new())?,
        }
        for row in rows {
            // Pipelines have no selectors, so an entry has one action.
            found[at].extend(row.actions.into_iter().map(|(action, args)| Resolved {
                line,
                is_default,
                keys: row.keys.clone(),
                priority: row.priority,
                action: table.actions.iter().position(|one| one == action).unwrap_or(0),
                args,
            }));
        }
    }
    Ok(found)
}

enum Found<'a> {
    Table(usize),
    ValueSet(&'a ObjectLayout),
}

/// Returns true if `name` is the whole path `path`, or consists of its last components.
fn names(path: &str, name: &str) -> bool {
    path.strip_suffix(name).is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
}

/// Returns the index of the path that a name denotes: an equal path, or else the only path that
/// ends with the name. The error lists the known paths, or those that end with the name.
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

/// Returns the names and match kinds of a table's keys.
pub(super) fn key_kinds<'a>(
    layout: &'a Layout,
    line: u32,
    table: &str,
) -> Result<Vec<(&'a str, MatchKind)>> {
    match one(layout.tables.iter().map(|one| &*one.name), table) {
        Ok(at) => {
            let keys = layout.tables[at].keys.iter();
            Ok(keys.map(|key| (&*key.number.name, key.kind)).collect())
        }
        Err(why) => fault(line, format!("table '{}' {why}", brief(table))),
    }
}

fn find<'a>(layout: &'a Layout, entry: &Entry) -> Result<Found<'a>> {
    let table = one(layout.tables.iter().map(|one| &*one.name), &entry.table);
    let Setting::Member(keys) = &entry.setting else {
        return match table {
            Ok(at) => Ok(Found::Table(at)),
            Err(why) => fault(entry.line, format!("table '{}' {why}", brief(&entry.table))),
        };
    };
    let sets: Vec<_> = layout.objects.iter().filter(|one| one.kind == "value_set").collect();
    match (one(sets.iter().map(|one| &*one.name), &entry.table), table) {
        (Ok(at), _) => Ok(Found::ValueSet(sets[at])),
        (Err(_), Ok(at)) => {
            let name = &layout.tables[at].name;
            let lacks = if keys.is_empty() { "no key and no action" } else { "no action" };
            fault(
                entry.line,
                format!(
                    "the entry of table '{name}' has {lacks}; write TABLE KEY, ... -> ACTION(...)"
                ),
            )
        }
        (Err(why), Err(_)) if !sets.is_empty() => {
            fault(entry.line, format!("value set '{}' {why}", brief(&entry.table)))
        }
        (Err(_), Err(why)) => fault(entry.line, format!("table '{}' {why}", brief(&entry.table))),
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
        Setting::Entry { keys, priority, actions } => {
            if table.maps == TableMaps::None {
                return fault(
                    line,
                    format!(
                        "table '{name}' has constant entries or no keys; entries cannot be added"
                    ),
                );
            }
            let keys = ordered_keys(table, line, keys)?;
            let is_group = table.members.as_ref().is_some_and(|one| one.groups.is_some());
            if actions.len() > 1 && !is_group {
                return fault(
                    line,
                    format!("table '{name}' has no selector, so an entry takes one action"),
                );
            }
            let actions = actions.iter().map(|one| action_of(table, line, one, false));
            let actions = actions.collect::<Result<_>>()?;
            rows.push(Row { line, keys, priority: *priority, actions });
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

/// Returns the keys of an entry in the order of the table. A missing key matches every value.
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

/// Brings the keys or arguments of an entry into the order of `numbers`. Values with names are
/// assigned by name, others by position. `what` and `of` describe them in errors.
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
                "{of} takes {} {what}{} ({}), the entry has {}",
                numbers.len(),
                if numbers.len() == 1 { "" } else { "s" },
                all.join(", "),
                values.len()
            ),
        );
    }
    for (at, (name, value)) in values.iter().enumerate() {
        let at = match name {
            Some(name) => match one(numbers.iter().map(|one| &*one.name), name) {
                Ok(at) => at,
                Err(why) => return fault(line, format!("{of}: {what} '{}' {why}", brief(name))),
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

/// Checks that a value fits the width of a number, and returns it without sign: a negative value
/// becomes its two's complement.
fn sized(of: &str, line: u32, number: &Number, value: &BigInt) -> Result<BigInt> {
    let width = number.width;
    let lowest = if width == 0 { BigInt::ZERO } else { -(BigInt::from(1) << (width - 1)) };
    if *value < lowest || *value > all_ones(width) {
        return fault(
            line,
            format!("{of}: {} for '{}' does not fit {width} bits", brief(value), number.name),
        );
    }
    Ok(value & all_ones(width))
}

/// Checks a key of an entry against its match kind, and reduces it to its width. Returns `Exact`
/// for exact keys, `Prefix` for LPM keys, `Range` for ranges and `Mask` for others.
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
    // Control planes may write the names of controls before the name of an action.
    let control = table.name.rsplit_once('.').map_or("", |one| one.0);
    let inner = call.name.strip_prefix(control).and_then(|rest| rest.strip_prefix('.'));
    let name = inner.unwrap_or(&call.name);
    let action = match one(allowed.iter().map(|one| &*one.name), name) {
        Ok(at) => allowed[at],
        Err(why) => return fault(line, format!("{of}: action '{}' {why}", brief(&call.name))),
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

/// Writes a number at its offset, in little-endian order.
fn put(bytes: &mut [u8], number: &Number, value: &BigInt) {
    let digits = value.to_bytes_le().1;
    let at = number.offset as usize;
    let count = digits.len().min(number.size as usize);
    bytes[at..at + count].copy_from_slice(&digits[..count]);
}

/// Returns the bytes of an action with its arguments, as in the map value of an entry, of a default
/// action, or of a member of an action profile.
fn action_value(table: &TableLayout, action: &ActionLayout, args: &[BigInt], rank: u32) -> Vec<u8> {
    let size = table.members.as_ref().map_or(table.value_size, |one| one.value_size);
    let mut value = vec![0; size as usize];
    value[..4].copy_from_slice(&action.id.to_le_bytes());
    if let (Some(at), None) = (table.priority, &table.members) {
        value[at as usize..at as usize + 4].copy_from_slice(&rank.to_le_bytes());
    }
    for (number, arg) in action.params.iter().zip(args) {
        put(&mut value, number, arg);
    }
    value
}

/// Returns the bytes of an entry's map value: an action with its arguments, or the number of a
/// member or group of an action profile, which is added to `pool`.
fn entry_value(table: &TableLayout, row: &Row, rank: u32, pool: &mut Pool) -> Result<Vec<u8>> {
    let values = row.actions.iter().map(|(action, args)| action_value(table, action, args, rank));
    let Some(layout) = &table.members else { return Ok(values.flatten().collect()) };
    let members: Vec<u32> = values.map(|value| number_of(&mut pool.members, value)).collect();
    let full = |what: &str, room: u32| {
        fault(row.line, format!("'{}' has room for {room} {what}", layout.name))
    };
    if pool.members.len() > layout.size as usize {
        return full("members", layout.size);
    }
    let number = match &layout.groups {
        None => members[0],
        Some(groups) if members.len() > groups.most as usize => {
            return full("members of a group", groups.most);
        }
        Some(groups) => {
            let number = number_of(&mut pool.groups, members);
            if number >= groups.size {
                return full("groups", groups.size);
            }
            number
        }
    };
    let mut value = vec![0; table.value_size as usize];
    value[..4].copy_from_slice(&number.to_le_bytes());
    if let Some(at) = table.priority {
        value[at as usize..at as usize + 4].copy_from_slice(&rank.to_le_bytes());
    }
    Ok(value)
}

fn pool_writes(layout: &MembersLayout, pool: &Pool, writes: &mut Vec<Update>) {
    for (at, value) in (0u32..).zip(&pool.members) {
        let key = at.to_le_bytes().to_vec();
        writes.push(Update { map: layout.map.clone(), key, value: value.clone() });
    }
    for (groups, (at, members)) in
        layout.groups.iter().flat_map(|one| std::iter::repeat(one).zip((0u32..).zip(&pool.groups)))
    {
        let mut value = (members.len() as u32).to_le_bytes().to_vec();
        value.extend(members.iter().flat_map(|one| one.to_le_bytes()));
        value.resize(4 + 4 * groups.most as usize, 0);
        writes.push(Update { map: groups.map.clone(), key: at.to_le_bytes().to_vec(), value });
    }
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

/// Returns the two numbers that a table with masks or ranges stores for a key of an entry: value
/// and mask, or lowest and highest value.
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

fn table_writes(
    table: &TableLayout,
    mut rows: Vec<Row>,
    pool: &mut Pool,
    writes: &mut Vec<Update>,
) -> Result<()> {
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
        let value = entry_value(table, row, count - at, pool)?;
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

/// Writes the key of an LPM trie element: the prefix length in bits, then all key fields, each
/// left-aligned in its bytes.
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

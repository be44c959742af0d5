//! Describes the tables of a translated pipeline, and writes table entries as the lines that DPDK
//! reads.

use std::collections::HashSet;

use num_bigint::BigInt;
use num_traits::ToPrimitive;

use crate::xdp::entries::{ActionCall, Entry, EntryError, KeyValue, Resolved, Setting, resolve};
use crate::xdp::layout::{Layout as ControlPlane, MatchKind, TableLayout};

/// Largest number of lines for one entry. A range in an entry becomes several lines.
const MOST_LINES: usize = 4096;

/// A field of a table's key in the pipeline, which holds some bits of a key field of the P4 table.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOfKey {
    /// Index of the key field in the P4 table.
    pub key: usize,
    /// Lowest bit of the P4 key field that this field holds.
    pub low: u32,
    /// Number of bits of the P4 key field that this field holds.
    pub bits: u32,
    /// Width of this field in bits. Bits that hold no bit of the key are 0.
    pub whole: u32,
}

/// A field of an action's data in the pipeline, which holds bits of a parameter in the P4 program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FieldOfParam {
    /// Name of the field.
    pub name: String,
    /// Index of the parameter.
    pub param: usize,
    /// Lowest bit of the parameter that the field holds.
    pub low: u32,
    /// Number of bits of the parameter that the field holds.
    pub bits: u32,
}

/// An action in the pipeline, with the fields of its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwxAction {
    /// Name of the action in the pipeline.
    pub name: String,
    /// Fields of the action's data.
    pub fields: Vec<FieldOfParam>,
}

/// A table of the pipeline, and the P4 table that it implements.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwxTable {
    /// Names, keys and actions in the P4 program. The field `map` is the name of the table in the
    /// pipeline.
    pub table: TableLayout,
    /// Fields of the key in the pipeline.
    pub keys: Vec<FieldOfKey>,
    /// Actions in the pipeline, in the order of the P4 table.
    pub actions: Vec<SwxAction>,
    /// Number of entries that the table of the pipeline can hold.
    pub room: u32,
    /// True if the table implements a value set. Its members are entries with its only action.
    pub is_set: bool,
}

/// An array of registers or meters in the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ObjectLayout {
    /// Control-plane name of the P4 object.
    pub path: String,
    /// Name of the array in the pipeline.
    pub array: String,
}

/// Correspondence between the names in a P4 program and in its pipeline.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Layout {
    /// Tables, including those of value sets.
    pub tables: Vec<SwxTable>,
    /// Arrays of registers, counters and meters.
    pub objects: Vec<ObjectLayout>,
    /// Actions, as pairs of control-plane name and name in the pipeline.
    pub actions: Vec<(String, String)>,
}

/// An entry for a table of the pipeline.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SwxEntry {
    /// Name of the table in the pipeline.
    pub table: String,
    /// True if the entry sets the default action.
    pub is_default: bool,
    /// Text of the entry in DPDK's format: `match … action …`.
    pub text: String,
}

impl Layout {
    /// Returns the tables in the form that readers of entry files expect.
    pub fn control_plane(&self) -> ControlPlane {
        let tables = self.tables.iter().map(|one| one.table.clone()).collect();
        ControlPlane { tables, ..ControlPlane::default() }
    }

    /// Converts a member of a value set to an entry of the table that implements it. Other entries
    /// stay as they are.
    fn as_entry(&self, entry: &Entry) -> Entry {
        let mut sets = self.tables.iter().filter(|one| {
            let rest = one.table.name.strip_suffix(&entry.table);
            one.is_set && rest.is_some_and(|rest| rest.is_empty() || rest.ends_with('.'))
        });
        match (&entry.setting, sets.next(), sets.next()) {
            (Setting::Member(keys), Some(set), None) => Entry {
                line: entry.line,
                table: set.table.name.clone(),
                setting: Setting::Entry {
                    keys: keys.clone(),
                    priority: None,
                    actions: vec![ActionCall { name: "NoAction".to_owned(), args: Vec::new() }],
                },
            },
            _ => entry.clone(),
        }
    }
}

/// Entries of one table, in the pipeline's format, with their count.
pub(super) struct Filled {
    entries: Vec<SwxEntry>,
    /// Number of entries as stated in the program and its entry files, without the default entry.
    pub of_program: usize,
    /// Number of entries in the pipeline, where a range in an entry can become several.
    pub count: u32,
    /// Line of the last entry in its file.
    line: u32,
}

fn fault(line: u32, message: String) -> EntryError {
    EntryError { code: slowpath_codes::P4_ENTRY, line, message }
}

/// Returns the entries of the program, followed by `entries`, as the lines that DPDK reads.
///
/// # Errors
///
/// Returns an error for the first entry that does not fit its table.
pub fn lines(layout: &Layout, entries: &[Entry]) -> Result<Vec<SwxEntry>, EntryError> {
    let mut found = Vec::new();
    for (table, filled) in layout.tables.iter().zip(filled(layout, entries)?) {
        if filled.count > table.room {
            let message = format!(
                "table '{}' has room for {} entries of DPDK and needs {}; raise its size",
                table.table.name, table.room, filled.count
            );
            return Err(fault(filled.line, message));
        }
        found.extend(filled.entries);
    }
    Ok(found)
}

/// Returns the entries for each table of the pipeline, in the order of the layout.
pub(super) fn filled(layout: &Layout, entries: &[Entry]) -> Result<Vec<Filled>, EntryError> {
    let tables = layout.control_plane().tables;
    let initial = layout.tables.iter().flat_map(|one| one.table.initial.iter().cloned());
    let all: Vec<Entry> =
        initial.chain(entries.iter().map(|entry| layout.as_entry(entry))).collect();
    let mut all_filled = Vec::new();
    for (table, rows) in layout.tables.iter().zip(resolve(&tables, &all)?) {
        let mut rows = rows;
        let has_prefix_only = table
            .table
            .keys
            .iter()
            .all(|key| matches!(key.kind, MatchKind::Exact | MatchKind::Lpm))
            && table.table.keys.iter().filter(|key| key.kind == MatchKind::Lpm).count() <= 1;
        match has_prefix_only {
            true => rows.sort_by_key(|row| std::cmp::Reverse(prefix_of(row))),
            false => rows.sort_by_key(|row| std::cmp::Reverse(row.priority.unwrap_or(0))),
        }
        let TableLayout { name, .. } = &table.table;
        let line = rows.iter().map(|row| row.line).max().unwrap_or_default();
        let of_program = rows.iter().filter(|row| !row.is_default).count();
        // DPDK stores one entry per key, so a later entry would replace one of higher priority.
        let mut known: HashSet<String> = HashSet::new();
        let mut found = Vec::new();
        for (at, row) in rows.iter().enumerate() {
            let mut made = Vec::new();
            add(table, row, at, &mut made)?;
            for one in made {
                let matched = one.text.split(" priority ").next().unwrap_or_default();
                let key = matched.split(" action ").next().unwrap_or_default().to_owned();
                if one.is_default || known.insert(key) {
                    found.push(one);
                } else if has_prefix_only {
                    let message = format!("table '{name}' has two entries with the same keys");
                    return Err(fault(row.line, message));
                }
            }
        }
        let count = u32::try_from(known.len()).unwrap_or(u32::MAX);
        all_filled.push(Filled { entries: found, of_program, count, line });
    }
    Ok(all_filled)
}

fn prefix_of(row: &Resolved) -> u32 {
    row.keys
        .iter()
        .find_map(|key| match key {
            KeyValue::Prefix(_, bits) => Some(*bits),
            _ => None,
        })
        .unwrap_or(0)
}

fn add(
    table: &SwxTable,
    row: &Resolved,
    priority: usize,
    found: &mut Vec<SwxEntry>,
) -> Result<(), EntryError> {
    let action = &table.actions[row.action];
    let mut call = format!("action {}", action.name);
    for field in &action.fields {
        let value = bits(&row.args[field.param], field.low, field.bits);
        call += &format!(" {} {value:#x}", field.name);
    }
    let name = &table.table.map;
    let entry = |text, is_default| SwxEntry { table: name.clone(), is_default, text };
    if row.is_default {
        found.push(entry(call, true));
        return Ok(());
    }
    // Values and masks of each key. A range makes several.
    let mut all: Vec<Vec<(BigInt, BigInt)>> = vec![Vec::new()];
    for (key, value) in table.table.keys.iter().zip(&row.keys) {
        let pairs = pairs(value, key.number.width);
        let mut next = Vec::new();
        for before in &all {
            for pair in &pairs {
                next.push([&before[..], std::slice::from_ref(pair)].concat());
            }
        }
        all = next;
        if all.len() > MOST_LINES {
            let message = format!(
                "the ranges for table '{}' make more than {MOST_LINES} entries",
                table.table.name
            );
            return Err(fault(row.line, message));
        }
    }
    let is_exact = table.table.keys.iter().all(|key| key.kind == MatchKind::Exact);
    for pairs in all {
        let mut text = "match".to_owned();
        for field in &table.keys {
            let (value, mask) = &pairs[field.key];
            let (value, mask) =
                (bits(value, field.low, field.bits), bits(mask, field.low, field.bits));
            // DPDK takes prefixes from the highest bit of the field only.
            let mask = mask | (ones(field.whole) & !ones(field.bits));
            text += &format!(" {value:#x}");
            if !is_exact && table.table.keys[field.key].kind != MatchKind::Exact {
                text += &format!("/{mask:#x}");
            }
        }
        if !is_exact {
            text += &format!(" priority {priority}");
        }
        found.push(entry(format!("{text} {call}"), false));
    }
    Ok(())
}

fn ones(width: u32) -> u64 {
    if width == 0 { 0 } else { u64::MAX >> (64 - width.min(64)) }
}

fn bits(number: &BigInt, low: u32, width: u32) -> u64 {
    let part: BigInt = (number >> low) & BigInt::from(ones(width));
    part.to_u64().unwrap_or(0)
}

/// Returns pairs of value and mask that together match the same numbers as the key `value` of an
/// entry. A range can need several pairs.
fn pairs(value: &KeyValue, width: u32) -> Vec<(BigInt, BigInt)> {
    let all = (BigInt::from(1) << width) - 1;
    match value {
        KeyValue::Exact(value) => vec![(value.clone(), all)],
        KeyValue::Prefix(value, length) => {
            let rest = (BigInt::from(1) << (width - length.min(&width))) - 1;
            vec![(value.clone(), all - rest)]
        }
        KeyValue::Mask(value, mask) => vec![(value.clone(), mask.clone())],
        KeyValue::Any => vec![(BigInt::ZERO, BigInt::ZERO)],
        KeyValue::Range(low, high) => {
            let (mut at, mut found) = (low.clone(), Vec::new());
            while at <= *high {
                // The largest aligned block of numbers that starts at `at`.
                let mut size = 0;
                while size < width
                    && !at.bit(size.into())
                    && &at + (BigInt::from(1) << (size + 1)) - 1 <= *high
                {
                    size += 1;
                }
                let block = BigInt::from(1) << size;
                found.push((at.clone(), &all - (&block - 1)));
                at += block;
            }
            found
        }
    }
}

//! Reads the table `[interpreter]` of a target that counts the instructions of pipelines. The table
//! contains the measurements for time estimates.

use super::models;
use super::problem::Problems;
use super::table::{Table, as_table};
use super::timing::{optional_thousandths, read_error, thousandths};
use crate::interpreter::{Interpreter, PartTiming};
use std::collections::BTreeMap;

/// Reads the table `[interpreter]`. Returns `None` if it is absent or invalid.
pub(super) fn read(root: &mut Table<'_>, problems: &mut Problems<'_>) -> Option<Interpreter> {
    let mut table = root.optional_table("interpreter", problems)?;
    let mut text = |key| table.string(key, problems).map(str::to_owned);
    let (machine, software, date) = (text("machine"), text("software"), text("date"));
    let data = text("data_sha256");
    let empty = thousandths(&mut table, "empty_ns", problems);
    let unknown = thousandths(&mut table, "unknown_ns", problems);
    let parts = table.table("part", problems).map(|parts| read_parts(&parts, problems));
    let error = table
        .table("error", problems)
        .and_then(|error| read_error(error, "cold_offset_ns", problems));
    let models = table.optional_table("model", problems).map(|table| models::read(table, problems));
    table.finish(problems);
    Some(Interpreter {
        machine: machine?,
        software: software?,
        date: date?,
        data: data?,
        empty: empty?,
        unknown: unknown?,
        parts: parts?,
        error: error?,
        models: models.unwrap_or_default(),
    })
}

fn read_parts(table: &Table<'_>, problems: &mut Problems<'_>) -> BTreeMap<String, PartTiming> {
    let mut parts = BTreeMap::new();
    for (name, value) in table.entries() {
        let Some(mut part) = as_table(table.key(name), value, problems) else { continue };
        let picoseconds = thousandths(&mut part, "ns", problems);
        let byte_picoseconds = optional_thousandths(&mut part, "byte_ns", problems).unwrap_or(0);
        part.finish(problems);
        if let Some(picoseconds) = picoseconds {
            parts.insert(name.to_owned(), PartTiming { picoseconds, byte_picoseconds });
        }
    }
    parts
}

#[cfg(test)]
mod tests;

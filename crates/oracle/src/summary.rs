//! Summarises the records of all tests as a table.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use crate::names::NAMES;
use crate::records::{Record, read};
use crate::{Oracle, REQUIRE, Required};

/// All records about one oracle.
#[derive(Default)]
struct OracleRecords {
    counts: BTreeMap<String, usize>,
    reasons: BTreeSet<String>,
}

/// Summarises the records in a folder as a table.
///
/// # Errors
///
/// If a required oracle is missing, or nothing was compared with it: the error has the table and
/// names these oracles. Also if the folder cannot be read.
pub fn summary(folder: &Path, required: &Required) -> Result<String, String> {
    let mut all: BTreeMap<Oracle, OracleRecords> = BTreeMap::new();
    for record in read(folder)? {
        match record {
            Record::Compared { oracle, count, what } => {
                *all.entry(oracle).or_default().counts.entry(what).or_default() += count;
            }
            Record::Missing { oracle, reason } => {
                all.entry(oracle).or_default().reasons.insert(reason);
            }
        }
    }
    let mut rows = Vec::new();
    let mut faults = String::new();
    for (oracle, name) in NAMES {
        let records = all.remove(&oracle).unwrap_or_default();
        if required.contains(oracle) && (records.counts.is_empty() || !records.reasons.is_empty()) {
            faults += &format!("error: {REQUIRE} has {name}, ");
            faults += match records.reasons.first() {
                None => "and nothing was compared with it\n",
                Some(_) => "and tests did without it\n",
            };
        }
        rows.extend(rows_of(name, &records));
    }
    let table = aligned(&rows);
    if faults.is_empty() { Ok(table) } else { Err(table + &faults) }
}

/// Returns the table rows of one oracle. Their columns are the oracle's name, the number of
/// compared items, and the noun for these items.
fn rows_of(name: &str, records: &OracleRecords) -> Vec<[String; 3]> {
    let mut largest: Vec<_> = records.counts.iter().collect();
    largest.sort_by_key(|&(_, count)| std::cmp::Reverse(count));
    let mut cells: Vec<(String, String)> =
        largest.into_iter().map(|(what, count)| (grouped(*count), what.clone())).collect();
    let missing = |reason: &String| ("-".to_owned(), format!("not there: {reason}"));
    cells.extend(records.reasons.iter().map(missing));
    if cells.is_empty() {
        cells.push(("-".to_owned(), "not asked".to_owned()));
    }
    let named = |(row, (count, what))| [if row == 0 { name } else { "" }.to_owned(), count, what];
    cells.into_iter().enumerate().map(named).collect()
}

/// Formats a number with commas between thousands.
fn grouped(number: usize) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

fn aligned(rows: &[[String; 3]]) -> String {
    let heading = ["oracle", "compared", ""].map(str::to_owned);
    let rows = || std::iter::once(&heading).chain(rows);
    let width = |column: usize| rows().map(|row| row[column].len()).max().unwrap_or(0);
    let (names, counts) = (width(0), width(1));
    let line = |[name, count, what]: &[String; 3]| {
        format!("{name:names$}  {count:>counts$}  {what}").trim_end().to_owned() + "\n"
    };
    rows().map(line).collect()
}

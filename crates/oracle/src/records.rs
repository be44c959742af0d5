//! Writes and reads records of tests. Each test program writes one file, with a line of
//! tab-separated fields for each record.

use std::fs::{self, OpenOptions};
use std::io::Write;
use std::path::Path;

use crate::Oracle;

/// Name of the environment variable that names the folder for records. If it is not set, tests only
/// print their records.
pub const FOLDER: &str = "SLOWPATH_ORACLES";

/// A record of one test about its use of one oracle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Record {
    /// The test compared this number of items with the oracle.
    Compared { oracle: Oracle, count: usize, what: String },
    /// The oracle was not available.
    Missing { oracle: Oracle, reason: String },
}

impl Record {
    fn line(&self) -> String {
        match self {
            Record::Compared { oracle, count, what } => {
                format!("{oracle}\tcompared\t{count}\t{}\n", words(what))
            }
            Record::Missing { oracle, reason } => format!("{oracle}\tmissing\t{}\n", words(reason)),
        }
    }

    fn parse(line: &str) -> Option<Record> {
        let fields: Vec<&str> = line.split('\t').collect();
        let oracle = Oracle::named(fields.first()?)?;
        match fields[1..] {
            ["compared", count, what] => {
                let count = count.parse().ok().filter(|&count| count > 0)?;
                Some(Record::Compared { oracle, count, what: what.to_owned() })
            }
            ["missing", reason] => Some(Record::Missing { oracle, reason: reason.to_owned() }),
            _ => None,
        }
    }
}

/// Replaces all white space, including line breaks, by single spaces.
fn words(text: &str) -> String {
    text.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Prints a record, and appends it to the file of this test program.
pub fn write(record: &Record) {
    eprint!("oracle: {}", record.line());
    let Some(folder) = std::env::var_os(FOLDER) else { return };
    let program = std::env::current_exe().expect("a test program has a path");
    let name = program.file_name().expect("a test program is a file");
    let file = Path::new(&folder).join(name).with_extension("tsv");
    let written = OpenOptions::new()
        .create(true)
        .append(true)
        .open(&file)
        // A single write, so that lines of several threads do not mix.
        .and_then(|mut open| open.write_all(record.line().as_bytes()));
    written.unwrap_or_else(|fault| panic!("{}: {fault}", file.display()));
}

/// Reads all records of a folder.
///
/// # Errors
///
/// If the folder or a file cannot be read, or a line is not a record.
pub fn read(folder: &Path) -> Result<Vec<Record>, String> {
    let located = |path: &Path, fault: std::io::Error| format!("{}: {fault}", path.display());
    let mut records = Vec::new();
    for entry in fs::read_dir(folder).map_err(|fault| located(folder, fault))? {
        let file = entry.map_err(|fault| located(folder, fault))?.path();
        let text = fs::read_to_string(&file).map_err(|fault| located(&file, fault))?;
        for line in text.lines() {
            let record = Record::parse(line);
            records.push(record.ok_or_else(|| {
                format!("{}: {line:?} is not what tests report about oracles", file.display())
            })?);
        }
    }
    Ok(records)
}

//! Looks up the source lines of instructions in the records of the section `.BTF.ext`.
//!
//! A record applies to its instruction and the following ones, up to the next record. DWARF is not
//! supported.

use std::collections::HashMap;
use std::sync::Arc;

use crate::Btf;
use crate::btf::{BtfExt, LineRecord, StringId};
use crate::error::printable;

/// Source position of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LineInfo {
    /// Path of the source file, as it was given to the compiler.
    pub file: Arc<str>,
    /// Line number, from 1.
    pub line: u32,
    /// Column, from 1; 0 if unknown.
    pub column: u32,
    /// Text of the line; empty if the object does not contain it.
    pub text: Arc<str>,
}

/// Line records of one section of the object, from `.BTF.ext`.
pub(crate) struct Lines<'a> {
    btf: &'a Btf,
    records: &'a [LineRecord],
    strings: HashMap<u32, Arc<str>>,
}

impl<'a> Lines<'a> {
    pub fn new(btf: &'a Btf, ext: &'a BtfExt, section: &str) -> Self {
        let found = ext.lines.iter().find(|(name, _)| name == section);
        let records = found.map_or(&[][..], |(_, records)| records);
        Lines { btf, records, strings: HashMap::new() }
    }

    /// Returns the source lines of `len` instruction slots, from slot `first` of the section on.
    /// `None` stands for a slot without a known line.
    pub fn of_function(&mut self, first: usize, len: usize) -> Vec<Option<LineInfo>> {
        let byte = |slot: usize| slot as u64 * 8;
        let start = self.records.partition_point(|r| u64::from(r.offset) < byte(first));
        let mut records = self.records[start..].iter().peekable();
        let mut current = None;
        let mut lines = Vec::with_capacity(len);
        for slot in first..first + len {
            while let Some(record) = records.next_if(|r| u64::from(r.offset) <= byte(slot)) {
                current = (record.line != 0).then(|| LineInfo {
                    file: self.string(record.file),
                    line: record.line,
                    column: record.column,
                    text: self.string(record.text),
                });
            }
            lines.push(current.clone());
        }
        lines
    }

    fn string(&mut self, id: StringId) -> Arc<str> {
        let btf = self.btf;
        let text = || printable(btf.string(id).trim_end().replace('\t', "    ").as_bytes());
        self.strings.entry(id.0).or_insert_with(|| text().into()).clone()
    }
}

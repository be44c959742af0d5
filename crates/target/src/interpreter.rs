//! Defines the times that an interpreter of packet pipelines needs for its instructions and lookups,
//! from measurements of whole paths. `decode` reads them.
//!
//! The interpreter of DPDK's software switch runs one instruction after the other. The time of a
//! path is the sum of the times of its parts, so a price for each part is enough.

use crate::Fitted;
use crate::timing::ErrorTiming;
use std::collections::BTreeMap;

/// Largest number of key bytes that affects the estimate of a lookup. No measured pipeline has
/// longer keys in exact tables.
pub const LONGEST_KEY: u32 = 64;

/// Time of an instruction or a lookup, in picoseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PartTiming {
    /// Time in picoseconds of the instruction or lookup, without the time for key bytes.
    pub picoseconds: u64,
    /// Additional time in picoseconds for each byte of a lookup's key.
    pub byte_picoseconds: u64,
}

/// The measurements of an interpreter from which time estimates are computed.
#[derive(Clone, Debug, PartialEq)]
pub struct Interpreter {
    /// Name of the machine that was measured.
    pub machine: String,
    /// Name and release of the interpreter.
    pub software: String,
    /// Date of the measurement.
    pub date: String,
    /// SHA-256 hash of the measured data.
    pub data: String,
    /// Time to receive and send a packet without any other instruction, in picoseconds.
    pub empty: u64,
    /// Time of an instruction or lookup that has no entry in `parts`, in picoseconds.
    pub unknown: u64,
    /// Times of instructions and lookups by name.
    pub parts: BTreeMap<String, PartTiming>,
    /// Interval around an estimate that contains most measured times. `cold_offset` is in
    /// picoseconds.
    pub error: ErrorTiming,
    /// Models of the time of lookups as a function of the number of entries, each under the name of
    /// its experiment.
    pub models: BTreeMap<String, Fitted>,
}

impl Interpreter {
    /// Returns the time of an instruction or lookup in picoseconds; `None` if it was not measured.
    /// Of the `key_bytes` bytes of the key, at most [`LONGEST_KEY`] affect the time.
    pub fn picoseconds(&self, part: &str, key_bytes: u32) -> Option<u64> {
        let part = self.parts.get(part)?;
        let bytes = u64::from(key_bytes.min(LONGEST_KEY));
        Some(part.picoseconds.saturating_add(part.byte_picoseconds.saturating_mul(bytes)))
    }

    /// Returns the model of a lookup's time as a function of the number of entries; `None` if no
    /// model covers it.
    pub fn by_entries(&self, part: &str) -> Option<&Fitted> {
        let fits =
            |model: &&Fitted| model.parameter == "entries" && model.calls.iter().any(|c| c == part);
        self.models.values().find(fits)
    }

    /// Returns the additional time of a lookup in a table with `entries` entries, compared with a
    /// table with few entries, in picoseconds. Returns `None` if no model covers the lookup.
    pub fn growth(&self, part: &str, entries: u64) -> Option<u64> {
        let nanoseconds = self.by_entries(part)?.growth_beyond(entries.max(1) as f64)?;
        Some((nanoseconds * 1000.0).round() as u64)
    }
}

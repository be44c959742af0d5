//! Reads the published result files (Krude et al., CoNEXT 2021): a summary of all programs, and the
//! satisfiable paths of each.

use flate2::read::GzDecoder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The published file `summary.json`, which lists all programs.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Summary {
    /// Programs by name.
    pub programs: BTreeMap<String, ProgramInfo>,
}

/// Published data about a program in `summary.json`.
#[derive(Debug, Deserialize)]
pub struct ProgramInfo {
    /// Number of cores that ran the program.
    pub cores: u32,
}

impl Summary {
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = open(path)?;
        serde_json::from_reader(BufReader::new(file)).map_err(|e| located(path, &e))
    }
}

/// A satisfiable path of a program, with its published cost and witness packet.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// The path, as the number of the first instruction of each block. `->` stands before a block
    /// that is reached by a taken branch, `--` before others.
    pub path: String,
    /// Predicted cycles on a core, including the overhead of each packet.
    pub cycles: u64,
    /// Predicted cycles of the DRAM engine for one packet.
    pub dram_cycles: f64,
    /// Witness packet in hexadecimal; `--` stands for a byte with any value.
    pub packet: String,
    /// Map bytes that the path needs, by their offset in map memory.
    pub map: BTreeMap<String, u8>,
    /// Measured cycles per packet, as cores × clock / measured packet rate; `None` if not measured.
    pub measured_cycles: Option<f64>,
}

impl Record {
    /// Reads a gzip file with one JSON object per line.
    pub fn read(path: &Path) -> Result<Vec<Self>, String> {
        let lines = BufReader::new(GzDecoder::new(open(path)?)).lines();
        let mut records = Vec::new();
        for line in lines {
            let line = line.map_err(|e| located(path, &e))?;
            records.push(serde_json::from_str(&line).map_err(|e| located(path, &e))?);
        }
        Ok(records)
    }
}

fn open(path: &Path) -> Result<File, String> {
    File::open(path).map_err(|e| located(path, &e))
}

fn located(path: &Path, error: &dyn std::fmt::Display) -> String {
    format!("{}: {error}", path.display())
}

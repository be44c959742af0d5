//! Readers of the published files.

use flate2::read::GzDecoder;
use serde::Deserialize;
use std::collections::BTreeMap;
use std::fs::File;
use std::io::{BufRead, BufReader};
use std::path::Path;

/// The file `summary.json`.
#[derive(Debug, Deserialize)]
#[serde(transparent)]
pub struct Summary {
    /// Programs by name.
    pub programs: BTreeMap<String, ProgramInfo>,
}

/// Data of the summary about a program.
#[derive(Debug, Deserialize)]
pub struct ProgramInfo {
    /// Number of cores that ran the program.
    pub cores: u32,
}

impl Summary {
    /// Reads the file.
    pub fn read(path: &Path) -> Result<Self, String> {
        let file = open(path)?;
        serde_json::from_reader(BufReader::new(file)).map_err(|e| located(path, &e))
    }
}

/// One satisfiable path.
#[derive(Debug, Deserialize)]
pub struct Record {
    /// Block starts; `->` for taken branches, `--` for the others.
    pub path: String,
    /// Cycles on a core, including the overhead.
    pub cycles: u64,
    /// Cycles of the DRAM engine.
    pub dram_cycles: f64,
    /// Packet in hexadecimal, `--` for any byte.
    pub packet: String,
    /// Map bytes by offset.
    pub map: BTreeMap<String, u8>,
    /// Measured cycles: cores × clock / measured packet rate.
    pub measured_cycles: Option<f64>,
}

impl Record {
    /// Reads a file with one JSON object per line.
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

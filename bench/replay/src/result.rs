//! What there is to replay: the manifest of a survey, and what `slowpath bound` said about its
//! programs (`docs/json.md`).

use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// A program of the manifest.
#[derive(Debug, Deserialize)]
pub struct Entry {
    pub project: String,
    pub object: String,
    pub section: String,
    pub program: String,
}

/// What was said about a program.
#[derive(Debug)]
pub enum Surveyed {
    /// There is no guarantee.
    Refused,
    /// So many instructions at most, if that was reached, without a packet that takes them.
    Bound(Option<u64>),
    /// A guarantee with a witness.
    Guarantee(Guarantee),
}

/// A guarantee with a witness.
#[derive(Debug)]
pub struct Guarantee {
    /// Instructions at most.
    pub instructions: u64,
    /// Where it depends on something, on what.
    pub assumptions: Vec<String>,
    pub witness: Value,
}

impl Surveyed {
    /// No packet takes more instructions.
    pub fn most(&self) -> Option<u64> {
        match self {
            Surveyed::Refused => None,
            Surveyed::Bound(most) => *most,
            Surveyed::Guarantee(guarantee) => Some(guarantee.instructions),
        }
    }
}

pub fn manifest(file: &Path) -> Result<Vec<Entry>, String> {
    let faulty = |why: &dyn std::fmt::Display| format!("{}: {why}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| faulty(&e))?;
    serde_json::from_str(&text).map_err(|e| faulty(&e))
}

/// Reads a result. Where nothing was kept the program was refused before there was one.
pub fn read(file: &Path) -> Surveyed {
    let text = std::fs::read_to_string(file).unwrap_or_default();
    let all: Value = serde_json::from_str(&text).unwrap_or_default();
    let result = &all["results"][0];
    let guarantee = &result["guarantee"];
    let Some(instructions) = guarantee["counts"]["instructions"].as_u64() else {
        let error = result["error"].as_str().unwrap_or("no result");
        let too_early = error.starts_with("deadline while");
        return if too_early { Surveyed::Bound(None) } else { Surveyed::Refused };
    };
    let witness = &result["paths"][0]["witness"];
    if guarantee["verdict"] == "bound" || witness.is_null() {
        return Surveyed::Bound(Some(instructions));
    }
    let assumptions = result["assumptions"].as_array().into_iter().flatten();
    let assumptions = assumptions.filter_map(|text| text.as_str().map(str::to_owned)).collect();
    Surveyed::Guarantee(Guarantee { instructions, assumptions, witness: witness.clone() })
}

//! Inputs of the replay: the manifest of a survey, and the results of `slowpath bound` for its
//! programs (`docs/reference/json.md`).

use serde::Deserialize;
use serde_json::Value;
use std::path::Path;

/// A program of a BPF object, as listed in the manifest of the survey.
#[derive(Debug, Deserialize)]
pub struct Entry {
    pub project: String,
    pub object: String,
    pub section: String,
    pub program: String,
}

/// Result of `slowpath bound` for a program of the survey.
#[derive(Debug)]
pub enum Surveyed {
    /// slowpath refused to analyse the program, so it has no guarantee.
    Refused,
    /// An upper bound of the number of instructions, without a witness packet. `None` if the
    /// analysis ended before it had a bound.
    Bound(Option<u64>),
    /// A guarantee with a witness packet that reaches it.
    Guarantee(Guarantee),
}

/// A guaranteed number of instructions, with the witness that reaches it.
#[derive(Debug)]
pub struct Guarantee {
    /// Largest number of instructions that any packet executes.
    pub instructions: u64,
    /// Assumptions of the guarantee; empty if it is unconditional.
    pub assumptions: Vec<String>,
    pub witness: Value,
}

impl Surveyed {
    /// Returns the largest number of instructions of any packet, if known.
    pub fn max_instructions(&self) -> Option<u64> {
        match self {
            Surveyed::Refused => None,
            Surveyed::Bound(max) => *max,
            Surveyed::Guarantee(guarantee) => Some(guarantee.instructions),
        }
    }
}

pub fn manifest(file: &Path) -> Result<Vec<Entry>, String> {
    let faulty = |error: &dyn std::fmt::Display| format!("{}: {error}", file.display());
    let text = std::fs::read_to_string(file).map_err(|e| faulty(&e))?;
    serde_json::from_str(&text).map_err(|e| faulty(&e))
}

/// Reads the JSON result of `slowpath bound` for a program. If the file is missing, the program was
/// refused before the analysis.
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

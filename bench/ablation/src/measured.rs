//! All runs of one program: medians, and agreement of the variants.

use crate::program::Program;
use crate::run::{End, Run};
use crate::variant::Variant;
use std::time::Duration;

/// The runs of one variant.
#[derive(Debug)]
pub struct Row {
    /// The variant's name.
    pub variant: &'static str,
    /// Runs of the variant; inexact ones are not repeated. Empty if the variant does not apply.
    pub runs: Vec<Run>,
}

impl Row {
    /// Returns the median of the seconds, if the variant applies.
    pub fn seconds(&self) -> Option<f64> {
        let mut seconds: Vec<f64> = self.runs.iter().map(|run| run.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied()
    }

    /// Returns the result in words.
    pub fn result(&self) -> &str {
        match self.runs.last().map(|run| &run.end) {
            None => "does not apply",
            Some(End::Exact(_)) => "exact",
            Some(End::Stopped { why, .. }) => why,
        }
    }
}

/// Searches a program with all variants in turns.
///
/// # Errors
/// If unrolling, execution or the solver fails, preceded by the variant's name.
pub fn measure(
    program: &Program,
    variants: &[Variant],
    deadline: Duration,
    repeat: usize,
) -> Result<Vec<Row>, String> {
    let row = |variant: &Variant| Row { variant: variant.name, runs: Vec::new() };
    let mut rows: Vec<Row> = variants.iter().map(row).collect();
    for turn in 0..repeat {
        for (variant, row) in variants.iter().zip(&mut rows) {
            if turn > 0 && !row.runs.last().is_some_and(Run::is_exact) {
                continue;
            }
            let run = Run::of(program, variant, deadline);
            row.runs.extend(run.map_err(|error| format!("{}: {error}", variant.name))?);
        }
    }
    Ok(rows)
}

/// Returns the contradictions between results. All variants that completed must agree on the
/// slowness of the slowest path, and no bound of the others may be below it.
pub fn contradictions(rows: &[Row]) -> Vec<String> {
    let runs = || rows.iter().flat_map(|row| row.runs.iter().map(|run| (row.variant, &run.end)));
    let exact = runs().find_map(|(variant, end)| match end {
        End::Exact(slowest) => Some((variant, *slowest)),
        End::Stopped { .. } => None,
    });
    let Some((first, slowest)) = exact else { return Vec::new() };
    let seconds = |slowness: &Option<slowpath_target::Slowness>| {
        slowness.map_or_else(|| "no path".to_owned(), |slowness| slowness.as_f64().to_string())
    };
    let mut found = Vec::new();
    for (variant, end) in runs() {
        let (what, value) = match end {
            End::Exact(other) if *other != slowest => ("slowest path", *other),
            End::Stopped { bound: Some(bound), .. } if Some(*bound) < slowest => {
                ("bound", Some(*bound))
            }
            _ => continue,
        };
        let (here, there) = (seconds(&value), seconds(&slowest));
        found.push(format!("{variant}: {what} {here}, but {there} with {first}"));
    }
    found.dedup();
    found
}

#[cfg(test)]
mod tests;

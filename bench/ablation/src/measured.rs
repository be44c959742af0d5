//! Searches one program with every variant, and checks that the results agree.

use crate::program::Program;
use crate::run::{End, Run};
use crate::variant::Variant;
use std::time::Duration;

/// All searches of one program with one variant.
#[derive(Debug)]
pub struct Row {
    pub variant: &'static str,
    /// Results of repeated searches. A search that does not find the slowest path is not repeated.
    /// Empty if the variant does not apply to the program.
    pub runs: Vec<Run>,
}

impl Row {
    /// Returns the median duration of the searches in seconds; `None` if the variant does not
    /// apply.
    pub fn seconds(&self) -> Option<f64> {
        let mut seconds: Vec<f64> = self.runs.iter().map(|run| run.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied()
    }

    /// Describes how the last search ended: `exact`, or the reason why it stopped early. Returns
    /// `does not apply` if there was no search.
    pub fn result(&self) -> &str {
        match self.runs.last().map(|run| &run.end) {
            None => "does not apply",
            Some(End::Exact(_)) => "exact",
            Some(End::Stopped { why, .. }) => why,
        }
    }
}

/// Searches a program with each variant in turn, `repeat` times.
///
/// # Errors
/// If unrolling, symbolic execution or the solver fails. The message begins with the variant's
/// name.
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

/// Returns descriptions of contradictions between results. All variants that found the slowest path
/// must agree on its slowness. The upper bounds of all other variants must not be below this
/// slowness.
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

//! All runs of one program: medians, and whether the variants agree.

use crate::program::Program;
use crate::run::{End, Run};
use crate::variant::Variant;
use std::time::Duration;

/// The runs of one variant.
#[derive(Debug)]
pub struct Row {
    /// The variant's name.
    pub variant: &'static str,
    /// Its runs; those that are not exact are not repeated. None where it does not apply.
    pub runs: Vec<Run>,
}

impl Row {
    /// The median of the seconds, if it applies.
    pub fn seconds(&self) -> Option<f64> {
        let mut seconds: Vec<f64> = self.runs.iter().map(|run| run.seconds).collect();
        seconds.sort_by(f64::total_cmp);
        seconds.get(seconds.len() / 2).copied()
    }

    /// How it ended, in words.
    pub fn result(&self) -> &str {
        match self.runs.last().map(|run| &run.end) {
            None => "does not apply",
            Some(End::Exact(_)) => "exact",
            Some(End::Stopped { why, .. }) => why,
        }
    }
}

/// Searches a program by all variants, which take turns.
///
/// # Errors
/// What unrolling, execution or the solver cannot do, behind the variant's name.
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

/// What the results contradict each other in: the slowness of the slowest path of those that found
/// it, which no bound of the others may be below.
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

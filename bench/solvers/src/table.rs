//! Formats the results of the benchmark as tables of text or Markdown.

use crate::contestants::CONTESTANTS;
use crate::record::Recording;

/// One row of the table: the results of all solvers for one set of recordings.
pub struct Row {
    cells: Vec<String>,
}

impl Row {
    /// Creates a row: counts, the median seconds of each solver, and their ratios to the first
    /// solver.
    pub fn new(name: &str, recordings: &[Recording], seconds: Vec<Vec<f64>>) -> Self {
        let sum = |count: fn(&Recording) -> usize| recordings.iter().map(count).sum::<usize>();
        let counts = [sum(Recording::questions), sum(Recording::clauses), sum(|r| r.learnt)];
        let mut cells = vec![name.to_owned()];
        cells.extend(counts.map(|count| count.to_string()));
        let medians: Vec<f64> = seconds.into_iter().map(median).collect();
        cells.extend(medians.iter().map(|seconds| format!("{seconds:.3}")));
        cells.extend(medians[1..].iter().map(|seconds| format!("{:.1}", seconds / medians[0])));
        Row { cells }
    }
}

fn median(mut values: Vec<f64>) -> f64 {
    values.sort_by(f64::total_cmp);
    values[values.len() / 2]
}

fn heading() -> Vec<String> {
    let mut cells = ["questions of", "questions", "clauses", "learnt"].map(str::to_owned).to_vec();
    cells.extend(CONTESTANTS.iter().map(|one| one.name.to_owned()));
    cells.extend(CONTESTANTS[1..].iter().map(|one| format!("{} / slowpath", one.name)));
    cells
}

/// Formats an aligned table.
pub fn text(rows: &[Row]) -> String {
    let all: Vec<Vec<String>> =
        std::iter::once(heading()).chain(rows.iter().map(|row| row.cells.clone())).collect();
    let width = |column: usize| all.iter().map(|cells| cells[column].len()).max().unwrap_or(0);
    let line = |cells: &Vec<String>| {
        let cells = cells.iter().enumerate().map(|(column, cell)| match column {
            0 => format!("{cell:0$}", width(0)),
            _ => format!("{cell:>0$}", width(column)),
        });
        cells.collect::<Vec<_>>().join("  ")
    };
    all.iter().map(line).collect::<Vec<_>>().join("\n")
}

pub fn markdown(rows: &[Row]) -> String {
    let line = |cells: &[String]| format!("| {} |", cells.join(" | "));
    let heading = heading();
    let rule: Vec<String> =
        (0..heading.len()).map(|n| if n == 0 { "---" } else { "---:" }.to_owned()).collect();
    let body = rows.iter().map(|row| line(&row.cells));
    [line(&heading), line(&rule)].into_iter().chain(body).collect::<Vec<_>>().join("\n")
}

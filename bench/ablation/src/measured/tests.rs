//! Tests that variants agree on examples, and that contradictions are detected.
use super::{Row, contradictions, measure};
use crate::program::{Program, Settings};
use crate::run::{End, Run};
use crate::variant::variants;
use slowpath_target::Slowness;
use std::path::{Path, PathBuf};
use std::time::Duration;

fn example(name: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples").join(name)
}

fn one(name: &str, settings: &Settings) -> Program {
    let mut programs = Program::read(&example(name), settings);
    assert_eq!(programs.len(), 1, "{name}");
    programs.remove(0).expect("the example is fine")
}

#[test]
fn all_variants_agree_on_examples() {
    let counted = Settings { target: Some("ebpf".into()), ..Settings::default() };
    let programs = [
        (one("two_protocols.asm", &Settings::default()), 0),
        (one("size_classes.asm", &Settings::default()), 0),
        (one("firewall.bpf.o", &counted), 1),
    ];
    for (program, missing) in programs {
        let rows = measure(&program, &variants(), Duration::from_secs(60), 1).expect("searches");
        let exact = rows.iter().filter(|row| row.runs.iter().all(Run::is_exact)).count();
        assert_eq!(exact, variants().len(), "{}", program.name);
        let empty = rows.iter().filter(|row| row.runs.is_empty()).count();
        assert_eq!(empty, missing, "{}", program.name);
        assert_eq!(contradictions(&rows), Vec::<String>::new(), "{}", program.name);
    }
}

#[test]
fn no_time_is_no_result() {
    let program = one("impossible_pair.asm", &Settings::default());
    let rows = measure(&program, &variants(), Duration::ZERO, 2).expect("searches");
    assert!(rows.iter().all(|row| row.runs.len() == 1 && row.result() == "deadline"));
}

fn row(variant: &'static str, end: End) -> Row {
    let run = Run { seconds: 0.0, candidates: 0, solver_checks: 0, nogoods: 0, end };
    Row { variant, runs: vec![run] }
}

#[test]
fn contradictions_are_found() {
    let slowness = |ticks| Some(Slowness::new(ticks, 1));
    let stopped = |bound| End::Stopped { why: "deadline".into(), bound };
    let exact = |slowest| row("one", End::Exact(slowest));
    let cases = [
        (row("two", End::Exact(slowness(5))), 0),
        (row("two", End::Exact(slowness(6))), 1),
        (row("two", End::Exact(None)), 1),
        (row("two", stopped(slowness(4))), 1),
        (row("two", stopped(slowness(5))), 0),
        (row("two", stopped(None)), 0),
    ];
    for (other, expected) in cases {
        let text = format!("{other:?}");
        assert_eq!(contradictions(&[exact(slowness(5)), other]).len(), expected, "{text}");
    }
}

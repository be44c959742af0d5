//! Tests that an analysis can be stopped at any time. Its result is then valid, and the bound in it
//! is correct.

use crate::common;

use slowpath::{Analysis, Event, Limits, Options, Poll, ProgramFile, ProgramRequest, Stop};
use std::time::Duration;

/// Returns the result of an analysis that is stopped after it has polled the stop condition `polls`
/// times.
fn result(name: &str, target: &str, polls: u64) -> serde_json::Value {
    let options = Options { target: target.into(), paths: Some(1), ..Options::default() };
    let object = ProgramFile::read(&common::example(name)).expect("a program");
    let request = ProgramRequest { options, ..ProgramRequest::of(name, object) };
    let stop = Stop::new(Limits { polls: Some(polls), ..Limits::default() });
    let analysis = Analysis::start_until(request, stop);
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Poll::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).expect("the result is JSON");
            }
            Poll::Event(Event::Intermediate(text)) => {
                let so_far: serde_json::Value = serde_json::from_str(&text).expect("JSON");
                assert!(so_far["guarantee"].is_object(), "{name}: {text}");
            }
            Poll::Event(_) => {}
            other => panic!("{name}, {polls} polls: {other:?}"),
        }
    }
}

/// Returns the bound as a number of which larger is worse: the maximum number of instructions, or
/// the inverse of the guaranteed bit rate.
fn value(bound: &serde_json::Value) -> f64 {
    let count = bound["counts"]["instructions"].as_f64();
    count.unwrap_or_else(|| 1.0 / bound["bitrate_bps"].as_f64().expect("a rate"))
}

#[test]
fn an_analysis_has_a_bound_or_an_error_whenever_it_is_stopped() {
    let cases = [
        ("count_min.8.bpf.o", "agilio-cx-2x40"),
        ("alaw2ulaw.bpf.o", "ebpf"),
        ("two_protocols.asm", "agilio-cx-2x40"),
    ];
    let mut inexact = 0;
    for (name, target) in cases {
        let exact = result(name, target, u64::MAX);
        assert_eq!(exact["guarantee"]["exact"], true, "{name}: {exact}");
        let exact = value(&exact["guarantee"]);
        let (mut errors, mut polls, mut last) = (0, 1, f64::INFINITY);
        loop {
            let stopped = result(name, target, polls);
            if let Some(error) = stopped["error"].as_str() {
                assert!(error.starts_with("interrupted while "), "{name}, {polls}: {error}");
                assert!(error.ends_with(": there is no bound yet"), "{name}, {polls}: {error}");
                // An error without a bound can occur only before unrolling, while the program is
                // being translated.
                assert!(!error.contains("unrolling"), "{name}, {polls}: {error}");
                assert!(stopped["guarantee"].is_null(), "{name}, {polls}: {stopped}");
                errors += 1;
            } else {
                let guarantee = &stopped["guarantee"];
                assert!(value(guarantee) >= exact, "{name}, {polls}: {guarantee}");
                // Once the program is unrolled, bounds improve with time.
                if !stopped["profile"].is_null() {
                    assert!(value(guarantee) <= last, "{name}, {polls}: {guarantee} after {last}");
                    last = value(guarantee);
                }
                if guarantee["exact"] == true && guarantee["stopped"].is_null() {
                    break;
                }
                // The guarantee can be found while the search with interference by other cores is
                // unfinished.
                if guarantee["verdict"] != "conditional" {
                    assert_eq!(guarantee["stopped"], "interrupted", "{name}, {polls}");
                }
                inexact += 1;
            }
            polls += 1 + polls / 4;
        }
        // Lifting a listing does not poll, so a bound exists whenever the analysis is stopped.
        assert_eq!(errors == 0, name.ends_with(".asm"), "{name}: {errors}");
    }
    assert!(inexact > 0, "never with a bound that is not exact");
}

#[test]
fn an_analysis_has_a_bound_for_any_number_of_cpus_whenever_it_is_stopped() {
    let name = "../crates/slowpath/tests/objects/read_twice.bpf.o";
    let exact = result(name, "ebpf", u64::MAX);
    let most = value(&exact["interleaved"]);
    assert!(most > value(&exact["guarantee"]), "{exact}");
    let (mut interrupted, mut polls) = (0, 1);
    loop {
        let stopped = result(name, "ebpf", polls);
        if stopped["error"].is_null() {
            let conditional = stopped["assumptions"].to_string().contains("no other CPU");
            let bound = if conditional { &stopped["interleaved"] } else { &stopped["guarantee"] };
            assert!(bound.is_object(), "{polls}: {stopped}");
            assert!(value(bound) >= most, "{polls}: {stopped}");
            interrupted += usize::from(bound["stopped"] == "interrupted");
            if stopped["guarantee"]["stopped"].is_null() && bound == &exact["interleaved"] {
                break;
            }
        }
        polls += 1 + polls / 4;
    }
    assert!(interrupted > 0, "never stopped with a bound");
}

#[test]
fn an_analysis_has_an_estimate_or_a_note_whenever_it_is_stopped() {
    let (mut missing, mut interrupted, mut polls) = (0, 0, 1);
    loop {
        let stopped = result("path_explosion.bpf.o", "linux-xdp", polls);
        let (estimate, notes) = (&stopped["estimate"], stopped["notes"].to_string());
        let noted = notes.contains("estimates: none, because the search ended ")
            && notes.contains(": interrupted");
        if stopped["error"].is_null() {
            assert_eq!(estimate.is_null(), noted, "{polls}: {stopped}");
            missing += usize::from(noted);
            interrupted += usize::from(estimate["stopped"] == "interrupted");
            if !noted && estimate["stopped"].is_null() {
                break;
            }
        }
        polls += 1 + polls / 4;
    }
    assert!(missing > 0 && interrupted > 0, "{missing}, {interrupted}");
}

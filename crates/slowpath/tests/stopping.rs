//! Stopped analyses: whenever an analysis is stopped, its result so far is valid and has a correct
//! bound.

use slowpath::{Analysis, Event, Limits, Options, Poll, ProgramFile, ProgramRequest, Stop};
use std::path::Path;
use std::time::Duration;

/// Returns the result of an analysis that polls at most `looks` times before it is stopped.
fn result(name: &str, target: &str, looks: u64) -> serde_json::Value {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let data = std::fs::read(folder.join(name)).expect("the example exists");
    let options = Options { target: target.into(), paths: Some(1), ..Options::default() };
    let object = ProgramFile::read(&data).expect("a program");
    let request = ProgramRequest { options, ..ProgramRequest::of(name, object) };
    let stop = Stop::new(Limits { polls: Some(looks), ..Limits::default() });
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
            other => panic!("{name}, {looks} looks: {other:?}"),
        }
    }
}

/// Returns the inverse of the guaranteed bit rate, or the maximum count; larger is worse.
fn value(bound: &serde_json::Value) -> f64 {
    let count = bound["counts"]["instructions"].as_f64();
    // Inverts the rate, so that larger values are worse, as for counts.
    count.unwrap_or_else(|| 1.0 / bound["bitrate_bps"].as_f64().expect("a rate"))
}

#[test]
fn stopped_at_any_time_there_is_a_bound_or_an_error_that_says_where() {
    let cases = [
        ("count_min.8.bpf.o", "agilio-cx-2x40"),
        ("alaw2ulaw.bpf.o", "ebpf"),
        ("two_protocols.asm", "agilio-cx-2x40"),
    ];
    let mut with = 0;
    for (name, target) in cases {
        let exact = result(name, target, u64::MAX);
        assert_eq!(exact["guarantee"]["exact"], true, "{name}: {exact}");
        let exact = value(&exact["guarantee"]);
        let (mut without, mut looks, mut last) = (0, 1, f64::INFINITY);
        loop {
            let stopped = result(name, target, looks);
            if let Some(error) = stopped["error"].as_str() {
                assert!(error.starts_with("interrupted while "), "{name}, {looks}: {error}");
                assert!(error.ends_with(": there is no bound yet"), "{name}, {looks}: {error}");
                // An error without a bound can occur only before unrolling, while the program is
                // being translated.
                assert!(!error.contains("unrolling"), "{name}, {looks}: {error}");
                assert!(stopped["guarantee"].is_null(), "{name}, {looks}: {stopped}");
                without += 1;
            } else {
                let guarantee = &stopped["guarantee"];
                assert!(value(guarantee) >= exact, "{name}, {looks}: {guarantee}");
                // Once the program is unrolled, bounds improve with time.
                if !stopped["profile"].is_null() {
                    assert!(value(guarantee) <= last, "{name}, {looks}: {guarantee} after {last}");
                    last = value(guarantee);
                }
                if guarantee["exact"] == true && guarantee["stopped"].is_null() {
                    break;
                }
                // The guarantee can be found while the search with interference by other cores is
                // unfinished.
                if guarantee["verdict"] != "conditional" {
                    assert_eq!(guarantee["stopped"], "interrupted", "{name}, {looks}");
                }
                with += 1;
            }
            looks += 1 + looks / 4;
        }
        // Lifting a listing does not poll, so a bound exists whenever the analysis is stopped.
        assert_eq!(without == 0, name.ends_with(".asm"), "{name}: {without}");
    }
    assert!(with > 0, "never with a bound that is not exact");
}

#[test]
fn stopped_at_any_time_there_is_a_bound_for_any_number_of_cpus() {
    let name = "../crates/slowpath/tests/objects/read_twice.bpf.o";
    let exact = result(name, "ebpf", u64::MAX);
    let most = value(&exact["interleaved"]);
    assert!(most > value(&exact["guarantee"]), "{exact}");
    let (mut among_others, mut looks) = (0, 1);
    loop {
        let stopped = result(name, "ebpf", looks);
        if stopped["error"].is_null() {
            let conditional = stopped["assumptions"].to_string().contains("no other CPU");
            let bound = if conditional { &stopped["interleaved"] } else { &stopped["guarantee"] };
            assert!(bound.is_object(), "{looks}: {stopped}");
            assert!(value(bound) >= most, "{looks}: {stopped}");
            among_others += usize::from(bound["stopped"] == "interrupted");
            if stopped["guarantee"]["stopped"].is_null() && bound == &exact["interleaved"] {
                break;
            }
        }
        looks += 1 + looks / 4;
    }
    assert!(among_others > 0, "never stopped with a bound");
}

#[test]
fn stopped_at_any_time_there_is_an_estimate_or_a_note_that_says_why_not() {
    let (mut without, mut cut, mut looks) = (0, 0, 1);
    loop {
        let stopped = result("path_explosion.bpf.o", "linux-xdp", looks);
        let (estimate, notes) = (&stopped["estimate"], stopped["notes"].to_string());
        let said = notes.contains("estimates: there is none; ") && notes.contains(": interrupted");
        if stopped["error"].is_null() {
            assert_eq!(estimate.is_null(), said, "{looks}: {stopped}");
            without += usize::from(said);
            cut += usize::from(estimate["stopped"] == "interrupted");
            if !said && estimate["stopped"].is_null() {
                break;
            }
        }
        looks += 1 + looks / 4;
    }
    assert!(without > 0 && cut > 0, "{without}, {cut}");
}

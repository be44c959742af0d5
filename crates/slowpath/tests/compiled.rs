//! Tests that an object for the SmartNIC and its compiled listing have the same guarantee.

use crate::common;

use common::{analyse, example, examples, options};
use serde_json::Value;
use slowpath::{Options, ProgramFile, ProgramRequest};

/// Compiles the first program of an object to a listing for the SmartNIC. Returns the error if this
/// fails.
fn listing(data: &[u8], options: &Options) -> Result<String, String> {
    let object = ProgramFile::read(data).expect("an object");
    let request =
        ProgramRequest { options: options.clone(), ..ProgramRequest::of("example.bpf.o", object) };
    let text =
        slowpath::compile(&request, &slowpath::Stop::never()).map_err(|error| error.to_string())?;
    let shown: Value = serde_json::from_str(&text).expect("JSON");
    Ok(shown["listing"].as_str().expect("a listing").to_owned())
}

#[test]
fn objects_and_their_listings_have_the_same_guarantee() {
    let mut compared = 0;
    for name in examples(".bpf.o") {
        let data = example(&name);
        // Limit for the loops of the A-law transcoders: a voice packet has 160 samples.
        let options = Options { unroll: vec!["160".into()], ..options() };
        let (object, _) = analyse(&data, options.clone());
        match listing(&data, &options) {
            Err(error) => assert_eq!(object["error"], error, "{name}"),
            Ok(listing) => {
                let (compiled, _) = analyse(listing.as_bytes(), options);
                assert!(object["guarantee"]["bitrate_bps"].is_number(), "{name}: {object}");
                assert_eq!(object["guarantee"], compiled["guarantee"], "{name}");
                assert_eq!(object["paths"][0]["cost"], compiled["paths"][0]["cost"], "{name}");
                compared += 1;
            }
        }
    }
    assert!(compared >= 6, "{compared} examples run on the card");
}

#[test]
fn refusals_name_the_source_line_and_a_way_out() {
    let (result, _) = analyse(&example("firewall.bpf.o"), options());
    let error = result["error"].as_str().expect("the card has no hash maps");
    for part in ["instruction 85 (./firewall.bpf.c:74)", "type hash", "--target ebpf"] {
        assert!(error.contains(part), "{part}: {error}");
    }
}

#[test]
fn deviations_of_the_card_are_notes_and_not_conditions() {
    use slowpath_generate::{Features, Programs};
    let features = Features { helpers: false, calls: false, loops: false, ..Features::default() };
    let programs = Programs::new(features, 8);
    let found = (0..400).find_map(|seed| {
        let data = programs.from_seed(seed).object();
        let (result, _) = analyse(&data, options());
        let notes = result["notes"].as_array()?;
        let notes = notes.iter().filter_map(Value::as_str);
        let note = notes.map(str::to_owned).find(|sentence| sentence.contains("on the card"))?;
        assert_eq!(result["guarantee"]["verdict"], "exact", "{note}");
        Some(note)
    });
    assert!(found.is_some(), "one in twenty programs shifts by what may be zero, or the like");
}

#[test]
fn another_core_may_change_a_map_between_two_reads() {
    let result = |program| common::of_object("read_twice.bpf.o", program, options());
    let twice = result(0);
    assert_eq!(twice["guarantee"]["verdict"], "conditional", "{twice}");
    let condition = "no other core changes limits meanwhile";
    assert_eq!(twice["assumptions"], serde_json::json!([condition]), "{twice}");
    // Interference by other cores makes it slower, but the interpreter cannot replay such a run.
    let rate = |bound: &str| twice[bound]["bitrate_bps"].as_f64();
    assert_eq!(twice["interleaved"]["verdict"], "bound", "{twice}");
    assert!(rate("interleaved") < rate("guarantee"), "{twice}");
    let once = result(1);
    assert_eq!(once["guarantee"]["verdict"], "exact", "{once}");
    assert_eq!(once["assumptions"], serde_json::json!([]), "{once}");
}

#[test]
fn stand_ins_replace_all_that_the_card_refuses() {
    let on_card = Options { map_abi: Some("call".into()), ..options() };
    let mut replaced = 0;
    for name in examples(".bpf.o") {
        let object = ProgramFile::read(&example(&name)).expect("an object");
        let request =
            ProgramRequest { options: on_card.clone(), ..ProgramRequest::of(&*name, object) };
        let stop = slowpath::Stop::never();
        let plain = slowpath::compile(&request, &stop);
        let done = slowpath::compile_with_stand_ins(&request, &[], true, &stop);
        let done = match (plain, done) {
            (Ok(plain), Ok(done)) => {
                assert_eq!(plain, done.compiled, "{name}");
                assert!(done.stand_ins.is_empty(), "{name}");
                continue;
            }
            (Err(error), Ok(done)) => {
                let reasons: Vec<&str> =
                    done.stand_ins.iter().map(|one| one.reason.as_str()).collect();
                for refusal in error.refusals().iter().filter(|one| one.instruction.is_some()) {
                    assert!(reasons.contains(&refusal.reason.as_str()), "{name}: {refusal:?}");
                }
                done
            }
            // `insights` exchanges map types that the card lacks first. Here, addresses of such maps
            // have stand-ins, and no call knows its map.
            (Err(_), Err(error)) if error.to_string().contains("the map of the call") => {
                continue;
            }
            (_, Err(error)) => panic!("{name}: {error}"),
        };
        let shown: Value = serde_json::from_str(&done.compiled).expect("JSON");
        assert!(!shown["instructions"].as_array().expect("instructions").is_empty(), "{name}");
        replaced += done.stand_ins.len();
    }
    assert!(replaced > 40, "{replaced} instructions of examples are replaced");
}

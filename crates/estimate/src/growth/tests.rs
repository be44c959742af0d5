use super::*;
use slowpath_target::Target;

/// Returns a timing in which the time of look-ups in hash maps grows with the number of entries, as
/// the given line segments describe.
fn with_segments(segments: &str) -> Timing {
    let text = Target::builtin_text("linux-xdp").unwrap();
    let text = text.split("[timing.model").next().unwrap().to_owned()
        + "[timing.model.m]\ndescription = \"d\"\nparameter = \"entries\"\n\
           calls = [\"map_lookup_elem.hash\", \"map_update_elem.hash\"]\nsmape = 0\n\
           data_sha256 = \"0\"\nsegments = "
        + segments
        + "\n";
    Target::parse(&text, "x.toml").unwrap().timing.unwrap()
}

/// Returns a timing in which look-ups in hash maps take 10 ns more for every 100 entries, up to
/// 1,000 entries.
fn timing() -> Timing {
    with_segments("[{ from = 0, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]")
}

fn call(name: &str, room: Option<u32>) -> Call {
    Call { name: name.to_owned(), bytes: 8, zero: Some(true), capacity: room }
}

#[test]
fn calls_grow_as_the_model_says() {
    let timing = timing();
    let clock = timing.clock_hz;
    let at = |name, room, entries| call(name, room).growth(&timing, entries);
    let known = |ns: u64, outside| Growth::Known { cycles: ns * clock / 1_000_000, outside };
    assert_eq!(at("map_lookup_elem.hash", None, 1), Growth::None);
    assert_eq!(at("map_lookup_elem.hash", None, 101), known(10, None));
    assert_eq!(at("map_update_elem.hash", None, 101), known(10, None));
    assert_eq!(at("map_update_elem.hash.new", None, 101), known(10, None));
    assert_eq!(at("map_update_elem.hashes", None, 101), Growth::Unknown);
    assert_eq!(at("map_lookup_elem.hash", Some(101), 5000), known(10, None));
    let Growth::Known { cycles, outside } = at("map_lookup_elem.hash", None, 5000) else {
        panic!("there is a model");
    };
    assert_eq!(outside, Some((0, 1000)));
    assert_eq!(cycles, timing.cycles(99.9));
}

#[test]
fn what_no_model_says_is_not_taken_for_nothing() {
    let timing = timing();
    assert_eq!(call("map_lookup_elem.lpm_trie", None).growth(&timing, 9), Growth::Unknown);
    assert_eq!(call("map_lookup_elem.lpm_trie", Some(1)).growth(&timing, 9), Growth::None);
    assert_eq!(call("ktime_get_ns", None).growth(&timing, 9), Growth::None);
}

#[test]
fn a_model_that_was_not_measured_with_one_entry_says_so() {
    let timing = with_segments(
        "[{ from = 100, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]",
    );
    let growth = call("map_lookup_elem.hash", None).growth(&timing, 200);
    assert_eq!(growth, Growth::Known { cycles: timing.cycles(10.0), outside: Some((100, 1000)) });
}

#[test]
fn a_model_without_a_value_is_not_taken_for_nothing() {
    // A model that is the inverse of a negative polynomial has no value, whatever its limits are.
    for limits in ["", ", at_least = 9", ", at_most = 9"] {
        let timing = with_segments(&format!(
            "[{{ from = 1, to = 1000, template = \"inverse-polynomial-0\", parameters = [-1]\
             {limits} }}]"
        ));
        let growth = call("map_lookup_elem.hash", None).growth(&timing, 200);
        assert_eq!(growth, Growth::Unknown, "{limits}");
    }
}

#[test]
fn what_a_model_says_far_away_does_not_overflow() {
    let timing = with_segments(
        "[{ from = 1, to = 1000, template = \"polynomial-5\", extrapolates = true, \
         parameters = [0, 0, 0, 0, 0, 1e9] }]",
    );
    let call = "{\"steps\":[[\"call\",[],0,false,null,0]],\
                \"calls\":[[\"map_lookup_elem.hash\",4294967295,null]]}";
    let path = crate::Path::from_json(call).unwrap();
    for entries in [1, 1_000_000, u64::from(u32::MAX), u64::MAX] {
        let flow = path.time(&timing, entries);
        assert!(flow.iteration > flow.empty);
        let price = crate::picoseconds("call.map_lookup_elem.hash", &timing, entries);
        assert!(price < u64::MAX / 1_000_000, "many of them can be added up");
    }
}

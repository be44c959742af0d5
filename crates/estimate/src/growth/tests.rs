use super::*;
use slowpath_target::Target;

/// Returns a timing in which the time of look-ups in hash maps grows with the number of entries, as
/// the line segments in `segments` (TOML) describe.
fn with_segments(segments: &str) -> Timing {
    with_segments_on("linux-xdp-zen4", segments)
}

fn with_segments_on(target: &str, segments: &str) -> Timing {
    Target::parse(&text_with_segments(target, segments), "x.toml").unwrap().timing.unwrap()
}

fn text_with_segments(target: &str, segments: &str) -> String {
    let text = Target::builtin_text(target).unwrap();
    text.split("[timing.model").next().unwrap().to_owned()
        + "[timing.model.m]\ndescription = \"d\"\nparameter = \"entries\"\n\
           calls = [\"map_lookup_elem.hash\", \"map_update_elem.hash\"]\nsmape = 0\n\
           data_sha256 = \"0\"\nsegments = "
        + segments
        + "\n"
}

/// Returns the timing of a core on which look-ups in hash maps take 10 ns more for every 100
/// entries, up to 1,000 entries.
fn timing() -> Timing {
    with_segments("[{ from = 0, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]")
}

fn call(name: &str, entries: Option<u32>) -> Call {
    let room = entries.map(|entries| Room { map: 0, entries, element_bytes: 64 });
    Call { name: name.to_owned(), bytes: 8, zero: Some(true), room }
}

/// Returns the additional time of a call if the map of this call is the only one that the path
/// accesses.
fn alone(call: &Call, timing: &Timing, occupancy: Occupancy) -> Growth {
    let number = match occupancy {
        Occupancy::Entries(number) => call.room.map_or(number, |r| number.min(r.entries.into())),
        _ => call.room.map_or(1, |room| room.entries.into()),
    };
    let bytes = call.room.map_or(64, |room| u64::from(room.element_bytes));
    call.growth(timing, occupancy, number.saturating_mul(bytes))
}

fn entries(number: u64) -> Occupancy {
    Occupancy::Entries(number)
}

#[test]
fn calls_grow_as_the_model_says() {
    let timing = timing();
    let clock = timing.clock_hz;
    let at = |name, room, number| alone(&call(name, room), &timing, entries(number));
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
    assert_eq!(cycles, timing.cycles(99.9 * 5000_f64.ln() / 1000_f64.ln()));
}

#[test]
fn full_maps_have_as_many_entries_as_fit() {
    let timing = timing();
    let full = |room| alone(&call("map_lookup_elem.hash", room), &timing, Occupancy::Full);
    let of = |number| alone(&call("map_lookup_elem.hash", None), &timing, entries(number));
    assert_eq!(full(Some(101)), of(101));
    assert_eq!(full(None), Growth::Unknown, "the path does not show the map");
    let few = alone(&call("map_lookup_elem.hash", Some(101)), &timing, Occupancy::Few);
    assert_eq!(few, Growth::None);
    assert_eq!(alone(&call("ktime_get_ns", None), &timing, Occupancy::Full), Growth::None);
}

#[test]
fn larger_elements_exceed_the_caches_earlier() {
    let timing = with_segments(
        "[{ from = 0, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]\n\
         entry_bytes = 64",
    );
    let of = |element_bytes, number| {
        let room = Some(Room { map: 0, entries: 1000, element_bytes });
        alone(&Call { room, ..call("map_lookup_elem.hash", None) }, &timing, entries(number))
    };
    assert_eq!(of(128, 100), of(64, 200));
    let Growth::Known { outside, .. } = of(128, 600) else { panic!("there is a model") };
    assert_eq!(outside, Some((0, 500)), "in elements of this size");
}

#[test]
fn evicting_maps_grow_like_hash_maps_beyond_their_own_measurements() {
    let text = "[{ from = 0, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]\n\
                [timing.model.n]\ndescription = \"d\"\nparameter = \"entries\"\n\
                calls = [\"map_lookup_elem.lru_hash\"]\nsmape = 0\ndata_sha256 = \"0\"\n\
                segments = [{ from = 0, to = 100, template = \"polynomial-1\", \
                parameters = [5, 0.2] }]";
    let timing = with_segments(text);
    let at = |name, number| alone(&call(name, None), &timing, entries(number));
    assert_ne!(at("map_lookup_elem.lru_hash", 50), at("map_lookup_elem.hash", 50));
    assert_eq!(at("map_lookup_elem.lru_hash", 500), at("map_lookup_elem.hash", 500));
}

#[test]
fn maps_of_a_path_share_the_caches() {
    let timing = with_segments(
        "[{ from = 0, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]\n\
         entry_bytes = 64",
    );
    let path = |rooms: &str| {
        let calls = r#"["map_lookup_elem.hash",8,false],["map_lookup_elem.hash",8,false]"#;
        let steps = r#"["call",[],0,false,null,0],["call",[],0,false,null,1]"#;
        let text = format!(r#"{{"steps":[{steps}],"calls":[{calls}],"rooms":[{rooms}]}}"#);
        crate::Path::from_json(&text).unwrap()
    };
    let (one, two) = (path("[0,100,64],[0,100,64]"), path("[0,100,64],[1,100,64]"));
    assert_eq!(one.footprint(Occupancy::Full), 6400);
    assert_eq!(two.footprint(Occupancy::Full), 12_800);
    assert_eq!(two.footprint(entries(10)), 1280);
    let time = |path: &crate::Path| path.time(&timing, Occupancy::Full).iteration;
    assert!(time(&two) > time(&one));
}

#[test]
fn misses_of_independent_array_accesses_overlap() {
    let timing = with_segments_on(
        "linux-xdp-zen3", // has a pipeline, so that instructions retire in order
        "[{ from = 0, to = 1, template = \"polynomial-0\", parameters = [0] }]\n\
         [timing.model.n]\ndescription = \"d\"\nparameter = \"entries\"\n\
         calls = [\"map_lookup_elem.array\"]\nsmape = 0\ndata_sha256 = \"0\"\n\
         segments = [{ from = 1, to = 1000, template = \"polynomial-1\", \
         parameters = [0, 1] }]",
    );
    // Two look-ups, each with a load from its element, into registers that nothing reads.
    let path = |reads: &str| {
        let calls = r#"["map_lookup_elem.array",4,false],["map_lookup_elem.array",4,false]"#;
        let steps = r#"["call",[],0,false,null,0],["load",[0],1,false,null,null],
                       ["call",[],0,false,null,1],["load",[0],2,false,null,null]"#;
        let rooms = "[0,1000,64],[0,1000,64]";
        let text = format!(
            r#"{{"steps":[{steps}],"calls":[{calls}],"rooms":[{rooms}],"reads":[{reads}]}}"#
        );
        crate::Path::from_json(&text).unwrap()
    };
    let cold = |reads| path(reads).time(&timing, Occupancy::Full).iteration;
    let (serial, one, both) = (cold(""), cold("[1,0]"), cold("[1,0],[3,1]"));
    assert!(one < serial, "a call takes the misses if the path shows no access");
    assert!(both < one, "{serial} {one} {both}");
    assert!(crate::Path::from_json(r#"{"steps":[],"calls":[],"reads":[[0,0]]}"#).is_err());
}

#[test]
fn a_class_grows_with_the_largest_map_of_its_type() {
    let timing = timing();
    let maps = crate::code::with_maps(&[("hash", 101, 64), ("hash", 201, 64), ("array", 999, 64)]);
    let ten_ns = timing.cycles(10.0);
    assert_eq!(largest("map_lookup_elem.hash", &timing, &maps, Occupancy::Full), 2 * ten_ns);
    assert_eq!(largest("map_lookup_elem.hash", &timing, &maps, entries(101)), ten_ns);
    assert_eq!(largest("map_lookup_elem.hash", &timing, &maps, Occupancy::Few), 0);
}

#[test]
fn what_no_model_says_is_not_taken_for_nothing() {
    let timing = timing();
    let at = |name, room| alone(&call(name, room), &timing, entries(9));
    assert_eq!(at("map_lookup_elem.lpm_trie", None), Growth::Unknown);
    assert_eq!(at("map_lookup_elem.lpm_trie", Some(1)), Growth::None);
    assert_eq!(at("ktime_get_ns", None), Growth::None);
}

#[test]
fn a_model_that_was_not_measured_with_one_entry_says_so() {
    let timing = with_segments(
        "[{ from = 100, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]",
    );
    let growth = alone(&call("map_lookup_elem.hash", None), &timing, entries(200));
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
        let growth = alone(&call("map_lookup_elem.hash", None), &timing, entries(200));
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
    let maps = crate::code::with_maps(&[("hash", u32::MAX, u32::MAX)]);
    for occupancy in [1, 1_000_000, u64::from(u32::MAX), u64::MAX].map(entries) {
        let flow = path.time(&timing, occupancy);
        assert!(flow.iteration > flow.empty);
        assert_eq!(
            path.warm_and_cold(&timing, occupancy),
            (path.time(&timing, Occupancy::Few), flow)
        );
        let price = crate::picoseconds("call.map_lookup_elem.hash", &timing, &maps, occupancy);
        assert!(price < u64::MAX / 1_000_000, "many of them can be added up");
    }
}

#[test]
fn look_ups_in_tries_grow_whether_they_find_something_or_not() {
    let model = "[{ from = 0, to = 1000, template = \"polynomial-1\", parameters = [5, 0.1] }]";
    let found = text_with_segments("linux-xdp-zen4", model)
        .replace("calls = [\"map_lookup_elem.hash\"", "calls = [\"map_lookup_elem.lpm_trie\"");
    let flat = "[timing.model.n]\ndescription = \"d\"\nparameter = \"entries\"\n\
                calls = [\"map_lookup_elem.lpm_trie\"]\nfound = false\nsmape = 0\n\
                data_sha256 = \"0\"\nsegments = \
                [{ from = 0, to = 1000, template = \"polynomial-0\", parameters = [5] }]\n";
    let timing = Target::parse(&(found + flat), "x.toml").unwrap().timing.unwrap();
    let growth = |zero| {
        let call = Call { zero: Some(zero), ..call("map_lookup_elem.lpm_trie", None) };
        alone(&call, &timing, entries(101))
    };
    assert!(growth(false).cycles() > 0);
    assert_eq!(growth(true), growth(false));
}

#[test]
fn tables_grow_with_their_memory() {
    let model = "[{ from = 0, to = 100000, template = \"polynomial-1\", parameters = [5, 0.001] }]\n\
                 entry_bytes = 8";
    let text = text_with_segments("linux-xdp-zen4", model)
        .replace("calls = [\"map_lookup_elem.hash\"", "calls = [\"map_lookup_elem.array\"");
    let timing = Target::parse(&text, "x.toml").unwrap().timing.unwrap();
    let room = Room { map: 0, entries: 1, element_bytes: 80_000 };
    let growth = |occupancy| room.growth(&timing, occupancy, 80_000);
    assert_eq!(growth(Occupancy::Few), Growth::None);
    assert_eq!(growth(Occupancy::Full), growth(entries(1)));
    let Growth::Known { cycles, outside } = growth(Occupancy::Full) else { panic!("has a model") };
    assert_eq!(outside, None);
    assert!(cycles.abs_diff(timing.cycles(9.999)) <= 1, "{cycles}");
    let word = Room { element_bytes: 8, ..room };
    assert_eq!(word.growth(&timing, Occupancy::Full, 8), Growth::None);
}

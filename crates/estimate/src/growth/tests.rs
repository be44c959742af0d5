use super::*;
use slowpath_target::Target;

/// Look-ups in hash maps take 10 ns more for each 100 entries, up to 1,000.
fn timing() -> Timing {
    let text = Target::builtin_text("linux-xdp").unwrap();
    let text = text.split("[timing.model").next().unwrap().to_owned()
        + "[timing.model.m]\ndescription = \"d\"\nparameter = \"entries\"\n\
           calls = [\"map_lookup_elem.hash\", \"map_update_elem.hash\"]\nsmape = 0\n\
           data_sha256 = \"0\"\nsegments = [{ from = 0, to = 1000, template = \"polynomial-1\", \
           parameters = [5, 0.1] }]\n";
    Target::parse(&text, "x.toml").unwrap().timing.unwrap()
}

fn call(name: &str, room: Option<u32>) -> Call {
    Call { name: name.to_owned(), bytes: 8, zero: Some(true), room }
}

#[test]
fn calls_grow_as_the_model_says() {
    let timing = timing();
    let clock = timing.clock_hz;
    let at = |name, room, entries| call(name, room).growth(&timing, entries);
    let known = |ns: u64, beyond| Growth::Known { cycles: ns * clock / 1_000_000, beyond };
    assert_eq!(at("map_lookup_elem.hash", None, 1), Growth::None);
    assert_eq!(at("map_lookup_elem.hash", None, 101), known(10, None));
    assert_eq!(at("map_update_elem.hash", None, 101), known(10, None));
    assert_eq!(at("map_update_elem.hash.new", None, 101), known(10, None));
    assert_eq!(at("map_update_elem.hashes", None, 101), Growth::Unknown);
    assert_eq!(at("map_lookup_elem.hash", Some(101), 5000), known(10, None));
    let Growth::Known { cycles, beyond } = at("map_lookup_elem.hash", None, 5000) else {
        panic!("there is a model");
    };
    assert_eq!(beyond, Some(1000));
    assert_eq!(cycles, timing.cycles(99.9));
}

#[test]
fn what_no_model_says_is_not_taken_for_nothing() {
    let timing = timing();
    assert_eq!(call("map_lookup_elem.lpm_trie", None).growth(&timing, 9), Growth::Unknown);
    assert_eq!(call("map_lookup_elem.lpm_trie", Some(1)).growth(&timing, 9), Growth::None);
    assert_eq!(call("ktime_get_ns", None).growth(&timing, 9), Growth::None);
}

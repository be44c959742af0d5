//! Tests that programs compiled for the card have the same effects on packets, maps and results as
//! the BPF programs. The tests use random programs, the examples and the published programs.

use crate::differential;
use crate::listings;

use std::path::Path;

use differential::{Pair, Start};
use proptest::prelude::*;
use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use slowpath_generate::{Features, programs};
use slowpath_oracle::{Oracle, random_cases};

/// Number of random programs that are compiled and compared.
const PROGRAMS: u32 = 1200;
/// Number of packets for each random program.
const PACKETS: usize = 8;

/// Returns the initial state of a run, derived from a seed: a packet, map contents and random
/// numbers. `map` has the number of elements and the value size of the program's map.
fn start(seed: u64, map: Option<(u64, u64)>) -> Start {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = move || {
        // xorshift64*, Vigna 2016.
        state ^= state >> 12;
        state ^= state << 25;
        state ^= state >> 27;
        state.wrapping_mul(0x2545_f491_4f6c_dd1d)
    };
    let length = match next() % 4 {
        0 => 60,
        1 => 60 + next() % 8,
        2 => 60 + next() % 200,
        _ => 60 + next() % 1441,
    };
    let style = next() % 3;
    let mut byte = move || match style {
        0 => next() as u8,
        // Many zeros and ones, so that conditions on them hold.
        1 => [0, 0, 1, 0xff, 0x80, 0x7f][(next() % 6) as usize],
        _ => (next() % 8) as u8,
    };
    let packet = (0..length).map(|_| byte()).collect();
    let mut elements = std::collections::BTreeMap::new();
    if let Some((entries, size)) = map {
        for index in 0..entries {
            for offset in 0..size {
                elements.insert((index, offset), byte());
            }
        }
    }
    let random = (0..16).map(|_| u64::from(byte()) * 0x0101_0101).collect();
    Start { packet, elements, fill: byte(), random }
}

fn compare(pair: &Pair, start: &Start) -> Result<(), TestCaseError> {
    let (bpf, card) = pair.run(start).map_err(TestCaseError::fail)?;
    prop_assert_eq!(&bpf, &card, "packet {:x?}\n{}", &start.packet, &pair.compiled.listing);
    Ok(())
}

#[test]
fn random_programs_do_the_same() {
    let cases = random_cases(PROGRAMS);
    let config = Config { cases, failure_persistence: None, ..Config::default() };
    let rng = TestRng::from_seed(RngAlgorithm::ChaCha, &[7; 32]);
    let mut runner = TestRunner::new_with_rng(config, rng);
    // The firmware masks indices instead of checking them, so look-ups always succeed.
    let features = Features { random: true, missing_elements: false, ..Features::default() };
    let refused = std::cell::RefCell::new(std::collections::BTreeMap::<String, usize>::new());
    let compared = std::cell::Cell::new(0usize);
    let programs_compared = std::cell::Cell::new(0usize);
    let outcome = runner.run(&(programs(features, 10), any::<u64>()), |(program, seed)| {
        let pair = match Pair::new(&program.object()) {
            Ok(pair) => pair,
            Err(why) if why.contains("compiles wrongly") => {
                *refused.borrow_mut().entry("a division".to_owned()).or_insert(0) += 1;
                return Ok(());
            }
            Err(why) => return Err(TestCaseError::fail(format!("{why}\n{program}"))),
        };
        // The compiler repeats the driver's bugs and reports them; such programs are skipped. A
        // result above XDP_TX makes no difference here, because only the firmware treats it
        // differently.
        let mut deviations = pair.compiled.deviations.iter();
        if let Some(sentence) = deviations.find(|sentence| !sentence.contains("a result above")) {
            let what = sentence.split(": ").last().unwrap_or_default();
            *refused.borrow_mut().entry(what.to_owned()).or_insert(0) += 1;
            return Ok(());
        }
        programs_compared.set(programs_compared.get() + 1);
        let map = program.map().map(|map| (1 << map.log_entries, 4 * u64::from(map.words)));
        for packet in 0..PACKETS as u64 {
            compare(&pair, &start(seed.wrapping_add(packet), map))
                .map_err(|e| TestCaseError::fail(format!("{e}\n{program}")))?;
            compared.set(compared.get() + 1);
        }
        Ok(())
    });
    let (all, packets) = (programs_compared.get(), compared.get());
    eprintln!(
        "{all} programs, {packets} packets; with other results by intent {:?}",
        refused.borrow()
    );
    if let Err(error) = outcome {
        panic!("{error}");
    }
    assert!(5 * all >= 4 * cases as usize, "{all} of {cases} programs");
}

#[test]
fn examples_do_the_same() {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples");
    let mut compiled = 0;
    for entry in std::fs::read_dir(folder).expect("the examples exist") {
        let path = entry.expect("an entry").path();
        if !path.to_string_lossy().ends_with(".bpf.o") {
            continue;
        }
        let data = std::fs::read(&path).expect("the example");
        match Pair::new(&data) {
            Err(why) => eprintln!("{}: {why}", path.display()),
            Ok(pair) => {
                compiled += 1;
                same_on(&pair, &path, 300);
            }
        }
    }
    assert!(compiled >= 5, "{compiled} examples run on the card");
}

#[test]
fn published_programs_do_the_same() {
    for (path, data) in listings::published_pairs() {
        let pair = Pair::new(&data).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
        same_on(&pair, &path, 300);
        Oracle::Objects.compared(300, "packets through objects and their listings");
    }
}

fn same_on(pair: &Pair, path: &Path, packets: u64) {
    for seed in 0..packets {
        let same = compare(pair, &start(seed, None));
        same.unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    }
}

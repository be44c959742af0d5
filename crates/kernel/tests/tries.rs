//! Tests updates and deletions in longest-prefix-match tries, in the kernel and in the concrete
//! interpreter. The kernel's result must be among those that the interpreter allows.

use crate::support;

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use slowpath_replay::Entry;
use support::pin::pin_here;
use support::replay_pair::ReplayPair;
use support::{kernel, object, path};

/// Number of random packets that each program processes.
const PACKETS: usize = 250;

/// Returns a random packet of eight words, most of which are small.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    let word = |rng: &mut StdRng| match rng.random_bool(0.1) {
        true => rng.random(),
        false => rng.random_range(0..1024u64),
    };
    (0..8).flat_map(|_| word(rng).to_le_bytes()).collect()
}

/// Returns a random trie key: a prefix length and an address, as the test programs read them from
/// packets.
fn key(rng: &mut StdRng) -> Vec<u8> {
    let length = rng.random_range(0..32u32);
    let address = [rng.random_range(0..4u8), rng.random_range(0..4u8)];
    [&length.to_le_bytes()[..], &address, &[0; 6]].concat()
}

/// Runs each packet on a new trie, in kernel and interpreter, and compares the results. Returns the
/// set of results that the kernel gave for operations on the trie.
fn compare(kernel: &Kernel, file: &str, number: usize) -> Result<BTreeSet<u64>, String> {
    let object = object(&path(file));
    let lifted = ReplayPair::lifted(kernel, &object, number)?;
    let mut rng = StdRng::seed_from_u64(number as u64);
    let mut results = BTreeSet::new();
    for _ in 0..PACKETS {
        let mut replay_pair = ReplayPair::of(kernel, &object, number, lifted.clone())?;
        let layouts = replay_pair.lifted.layout.maps.clone();
        let routes = layouts.iter().find(|layout| layout.name == "routes");
        let routes = routes.ok_or("no trie")?;
        for _ in 0..rng.random_range(0..9) {
            let value = rng.random::<u64>().to_le_bytes().to_vec();
            // Ignores errors: the trie can be full.
            let _: Result<(), String> =
                replay_pair.install(routes, &Entry { key: key(&mut rng), value });
        }
        replay_pair.compare(&packet(&mut rng))?;
        let out = replay_pair.loaded().map("out").ok_or("no results")?;
        let words = out.lookup(&[0; 4]).map_err(|e| e.to_string())?.unwrap_or_default();
        results.extend(words.as_chunks::<8>().0.iter().take(4).map(|w| u64::from_le_bytes(*w)));
    }
    Ok(results)
}

#[test]
fn changes_of_tries_are_allowed() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let object = object(&path("tests/objects/tries.bpf.o"));
    /// Error numbers that updates and deletions in tries must return at least once: `-EINVAL`,
    /// `-ENOENT`, `-EEXIST` and `-ENOSPC`.
    const ERRORS: [i64; 4] = [-22, -2, -17, -28];
    let mut seen = BTreeSet::new();
    for (number, program) in object.programs.iter().enumerate() {
        let results = compare(&kernel, "tests/objects/tries.bpf.o", number);
        seen.extend(results.unwrap_or_else(|fault| panic!("{}: {fault}", program.name)));
        Oracle::Kernel.compared(PACKETS, "packets through changes of tries");
    }
    let missing: Vec<i64> = ERRORS.into_iter().filter(|&e| !seen.contains(&(e as u64))).collect();
    assert!(missing.is_empty(), "results that never came: {missing:?}");
}

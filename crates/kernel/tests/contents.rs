//! Tests lifting (the translation of programs for the analysis) with given map content. The lifted
//! program must have the same results as the kernel with the same content in its maps.

use crate::support;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::StdRng;
use slowpath_bpf::lift::{EntryValue, LiftOptions, MapContent, MapEntry, Receive, lift};
use slowpath_bpf::{MapKind, Object};
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use slowpath_replay::Entry;
use support::pin::pin_here;
use support::random::{fill, mutated};
use support::replay_pair::ReplayPair;
use support::{kernel, object, packets, path};

/// Number of packets for each random map content. Before each packet, the maps are filled again.
const PACKETS: usize = 60;
/// Number of random map contents for each program.
const CONTENTS: u64 = 4;

/// Example programs. Together, they have maps of all types whose content can be given to the
/// lifter.
const EXAMPLES: [&str; 6] =
    ["dns_cache", "firewall", "flow_monitor", "ipv6_lb", "quic_lb", "tunnel"];

/// Converts installed map elements to map content for the lifter. If several entries have the same
/// key, the last one counts.
fn map_contents(installed: &[(String, Entry)]) -> BTreeMap<String, MapContent> {
    let mut maps: BTreeMap<String, BTreeMap<Vec<u8>, Vec<u8>>> = BTreeMap::new();
    for (map, entry) in installed {
        maps.entry(map.clone()).or_default().insert(entry.key.clone(), entry.value.clone());
    }
    let content = |entries: BTreeMap<Vec<u8>, Vec<u8>>| {
        let entry = |(key, value)| MapEntry { key, value: EntryValue::Bytes(value) };
        MapContent { entries: entries.into_iter().map(entry).collect(), ..MapContent::default() }
    };
    maps.into_iter().map(|(map, entries)| (map, content(entries))).collect()
}

/// Fills the maps of a program with random content, and compares the results of some packets.
fn check(kernel: &Kernel, object: &Object, seed: u64) -> Result<(), String> {
    let seeds = packets();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut filled = ReplayPair::new(kernel, object, 0)?;
    fill(&mut filled, &mut rng, &seeds)?;
    let mut installed = filled.installed.clone();
    // The kernel treats keys that agree up to their prefix length as one entry.
    let trie = |name: &String| {
        let mut maps = object.maps.iter();
        maps.any(|map| map.name == *name && map.kind == MapKind::LPM_TRIE)
    };
    for (_, entry) in installed.iter_mut().filter(|(name, _)| trie(name)) {
        entry.key = slowpath_replay::clear_after_prefix(&entry.key);
    }
    let linked = object.link(0, kernel.types()).map_err(|e| e.to_string())?;
    let options = LiftOptions {
        receive: Receive::TEST_RUN,
        contents: map_contents(&installed),
        ..LiftOptions::default()
    };
    let lifted = lift(object, &linked, &options).map_err(|e| e.to_string())?;
    for round in 0..PACKETS {
        let packet = mutated(&mut rng, &seeds);
        let mut replay_pair = ReplayPair::of(kernel, object, 0, lifted.clone())?;
        for (map, entry) in &installed {
            let map = replay_pair.loaded().map(map).ok_or("a map is gone")?;
            map.update(&entry.key, &entry.value).map_err(|e| e.to_string())?;
        }
        replay_pair.compare(&packet).map_err(|fault| format!("packet {round}: {fault}"))?;
    }
    Ok(())
}

#[test]
fn programs_lifted_with_map_content_match_the_kernel() {
    let Some(kernel) = kernel() else { return };
    pin_here();
    let (mut faults, mut compared) = (Vec::new(), 0);
    for name in EXAMPLES {
        let object = object(&path(&format!("../../examples/{name}.bpf.o")));
        for seed in 0..CONTENTS {
            match check(&kernel, &object, seed) {
                Ok(()) => compared += PACKETS,
                Err(fault) => faults.push(format!("{name}, content {seed}: {fault}")),
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(compared, "packets on told map content");
}

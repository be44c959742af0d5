//! Map content that the lifter is told: the lifted program does with it what the kernel does with
//! the same content in its maps.

use crate::support;

use std::collections::BTreeMap;

use rand::SeedableRng;
use rand::rngs::StdRng;
use slowpath_bpf::lift::{EntryValue, LiftOptions, MapContent, MapEntry, Receive, lift};
use slowpath_bpf::{MapKind, Object};
use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use slowpath_replay::Entry;
use support::pin::pin;
use support::random::{fill, mutated};
use support::twin::Twin;
use support::{kernel, object, packets, path};

/// Packets for each content; every one meets the maps as they were filled.
const PACKETS: usize = 60;
/// Contents for each program.
const CONTENTS: u64 = 4;

/// Examples with maps of every type whose content can be told.
const EXAMPLES: [&str; 6] =
    ["dns_cache", "firewall", "flow_monitor", "ipv6_lb", "quic_lb", "tunnel"];

/// What was installed, as the lifter is told it: a later entry replaces one with the same key.
fn told(installed: &[(String, Entry)]) -> BTreeMap<String, MapContent> {
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

/// Fills the maps of a program in some way and compares some packets.
fn check(kernel: &Kernel, object: &Object, seed: u64) -> Result<(), String> {
    let seeds = packets();
    let mut rng = StdRng::seed_from_u64(seed);
    let mut filled = Twin::new(kernel, object, 0)?;
    fill(&mut filled, &mut rng, &seeds)?;
    let mut installed = filled.installed.clone();
    // Prefixes that are the same up to their length are one entry in the kernel.
    let trie = |name: &String| {
        let mut maps = object.maps.iter();
        maps.any(|map| map.name == *name && map.kind == MapKind::LPM_TRIE)
    };
    for (_, entry) in installed.iter_mut().filter(|(name, _)| trie(name)) {
        entry.key = slowpath_replay::cut(&entry.key);
    }
    let linked = object.link(0, kernel.types()).map_err(|e| e.to_string())?;
    let options = LiftOptions {
        receive: Receive::TEST_RUN,
        contents: told(&installed),
        ..LiftOptions::default()
    };
    let lifted = lift(object, &linked, &options).map_err(|e| e.to_string())?;
    for round in 0..PACKETS {
        let packet = mutated(&mut rng, &seeds);
        let mut twin = Twin::of(kernel, object, 0, lifted.clone())?;
        for (map, entry) in &installed {
            let map = twin.loaded().map(map).ok_or("a map is gone")?;
            map.update(&entry.key, &entry.value).map_err(|e| e.to_string())?;
        }
        twin.compare(&packet).map_err(|fault| format!("packet {round}: {fault}"))?;
    }
    Ok(())
}

#[test]
fn told_content_is_what_the_kernel_has() {
    let Some(kernel) = kernel() else { return };
    pin(0);
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

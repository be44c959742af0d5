//! Tests that results of map calls are consistent with earlier calls. The programs of
//! `crates/slowpath/tests/objects/consistent.bpf.c` contain a slow path and run in the kernel. If
//! slowpath reports the slow path, the program must take it with the maps of the witness. If
//! slowpath excludes the slow path, no map content may lead to it.

use crate::support;

use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use slowpath::{Analysis, Event, Options, Poll, ProgramFile, ProgramRequest};
use slowpath_bpf::MapKind;
use slowpath_kernel::witness::install;
use slowpath_kernel::{Kernel, LoadedProgram};
use slowpath_oracle::{Oracle, random_cases};
use support::pin::each_on_every_cpu;
use support::{DROP, kernel, load, object, path};

const PACKET: [u8; 60] = [0; 60];
/// Minimum number of memory accesses on a path that counts as slow.
const SLOW: u64 = 120;
/// Number of random map contents for each program whose slow path slowpath excluded.
const CONTENTS: u64 = 20;
/// Maximum number of times that a program is loaded until its maps have the order of elements that
/// a witness needs. The order varies because every map has its own random seed.
const LOADS: usize = 200;

fn file() -> std::path::PathBuf {
    path("../slowpath/tests/objects/consistent.bpf.o")
}

fn analyse(program: usize) -> Value {
    let options = Options {
        target: "ebpf".into(),
        metric: Some("memory-accesses".into()),
        paths: Some(1),
        ..Options::default()
    };
    let data = std::fs::read(file()).expect("the object is there");
    let request = ProgramRequest {
        program,
        options,
        ..ProgramRequest::of("", ProgramFile::read(&data).expect("an object"))
    };
    let analysis = Analysis::start(request);
    loop {
        match analysis.next(Duration::from_secs(60)) {
            Poll::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).expect("the result is JSON");
            }
            Poll::Event(_) => {}
            Poll::Pending | Poll::Finished => panic!("the analysis ended without a result"),
        }
    }
}

/// Returns true if the program takes the slow path with the map content of a witness. Loads the
/// program several times, because the path may depend on the order of the map's elements.
fn taken(kernel: &Kernel, name: &str, witness: &Value) -> bool {
    let object = object(&file());
    (0..LOADS).any(|_| {
        let loaded = load(kernel, &object, name);
        let _inner = install(&loaded, witness).unwrap_or_else(|fault| panic!("{name}: {fault}"));
        loaded.run(&PACKET, 1).expect("runs").return_value == DROP
    })
}

/// Fills all maps with random content: the keys that the programs look up, and some other keys.
fn fill(loaded: &LoadedProgram, maps: usize, rng: &mut StdRng) {
    for number in 0..maps {
        let Some(map) = loaded.map_by_number(number) else { continue };
        let definition = map.definition();
        let max = definition.max_entries.min(64);
        let full = rng.random_ratio(1, 3);
        let count = if full { max } else { rng.random_range(0..=max.min(5)) };
        for n in 0..count {
            let key: Vec<u8> = match definition.kind {
                MapKind::HASH | MapKind::LRU_HASH | MapKind::LRU_PERCPU_HASH => {
                    let key = if full { n + rng.random_range(0..2) } else { n % 4 };
                    key.to_le_bytes().to_vec()
                }
                MapKind::LPM_TRIE => {
                    let bits = [8, 16, 24, 30, 31, 32][rng.random_range(0..6usize)];
                    let host = [rng.random_range(0..16u8), 77][usize::from(rng.random_ratio(1, 5))];
                    [u32::to_le_bytes(bits), [10, 0, 0, host]].concat()
                }
                _ => break,
            };
            // Ignores errors: a map can be full.
            let values = vec![3; 8 * map.values_per_key()];
            let _ = map.update(&key, &values[..8]);
        }
    }
}

#[test]
fn slow_ways_are_those_of_the_kernel() {
    let Some(kernel) = kernel() else { return };
    let object = object(&file());
    let contents = random_cases(CONTENTS);
    let check = |number: usize| {
        let name = object.programs[number].name.as_str();
        let (mut faults, mut compared) = (Vec::new(), 0);
        let result = analyse(number);
        let accesses = result["guarantee"]["counts"]["memory accesses"].as_u64();
        let witness = &result["paths"][0]["witness"];
        if accesses < Some(SLOW) {
            let mut rng = StdRng::seed_from_u64(number as u64);
            for content in 0..contents {
                let loaded = load(&kernel, &object, name);
                fill(&loaded, object.maps.len(), &mut rng);
                if loaded.run(&PACKET, 1).expect("runs").return_value == DROP {
                    faults.push(format!("{name}: content {content} leads to the slow way"));
                    break;
                }
            }
            compared += contents as usize;
        } else if result["guarantee"]["verdict"] == "exact" {
            // The kernel's LRU lists, which are not part of a witness, decide which element is
            // evicted.
            let evicts = witness["unknowns"].to_string().contains("evicted since");
            if !evicts && !taken(&kernel, name, witness) {
                faults.push(format!("{name}: not taken with {}", witness["maps"]));
            }
            compared += 1;
        }
        (faults, compared)
    };
    let checked = each_on_every_cpu(object.programs.len(), check);
    let (faults, compared): (Vec<Vec<String>>, Vec<usize>) = checked.into_iter().unzip();
    let faults = faults.concat();
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(compared.iter().sum(), "runs on maps that limit each other");
}

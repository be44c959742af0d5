//! Tests random C programs that clang compiles. For each program, packets must have the same
//! results in the kernel and in slowpath's interpreter. No packet may execute more instructions
//! than the computed bound. If packet and maps alone determine the path of a witness, the kernel
//! must execute exactly the number of instructions that the witness states.

use crate::support;

use std::collections::BTreeSet;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::Object;
use slowpath_generate::c::CPrograms;
use slowpath_kernel::{Kernel, LoadError};
use slowpath_oracle::Oracle;
use support::bounds::bound_holds;
use support::clang::{Clang, clang};
use support::packets;
use support::pin::on_every_cpu;
use support::random::{fill, mutated};
use support::replay_pair::ReplayPair;
use support::sequences::features;
use support::tally::{Class, Tally, setting};
use support::{hex, kernel};

/// Number of programs. The environment variable `SLOWPATH_C_PROGRAMS` overrides it.
const PROGRAMS: u64 = 20;
/// Number of packets for each program. The environment variable `SLOWPATH_C_PACKETS` overrides it.
const PACKETS: u64 = 40;
/// Number of successive packets that run on the same maps before the maps are reset.
const EPOCH: u64 = 20;

/// Returns a random packet. It contains bytes with which the generated programs compare.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    if rng.random_bool(0.2) {
        return mutated(rng, &packets());
    }
    let mut packet: Vec<u8> = (0..rng.random_range(14..160)).map(|_| rng.random()).collect();
    for byte in packet.iter_mut().take(64) {
        match rng.random_range(0..6) {
            0 => {}
            1 => {
                *byte =
                    [0x81, 0x08, 0x86, 0xdd, 0x45, 17, 6, 53, 64, 80, 255][rng.random_range(0..11)]
            }
            _ => *byte = rng.random_range(0..5),
        }
    }
    packet
}

struct Setting<'a> {
    kernel: &'a Kernel,
    clang: &'a Clang,
    packets: u64,
}

/// Checks that packets have the same results in the kernel and in the interpreter. Returns the
/// largest number of instructions that a packet executed.
fn packets_agree(
    setting: &Setting,
    object: &Object,
    seed: u64,
    tally: &mut Tally,
) -> Result<u64, (Class, String)> {
    let refused = |fault| (Class::Refused, fault);
    let lifted = ReplayPair::lifted(setting.kernel, object, 0).map_err(refused)?;
    let mut rng = StdRng::seed_from_u64(seed);
    let seeds = packets();
    let (mut max, mut covered) = (0, BTreeSet::new());
    for epoch in 0..setting.packets.div_ceil(EPOCH) {
        let mut replay_pair =
            ReplayPair::of(setting.kernel, object, 0, lifted.clone()).map_err(refused)?;
        replay_pair.report_path(8);
        if epoch % 2 == 1 {
            // Ignores errors: a map can be full.
            let _: Result<(), String> = fill(&mut replay_pair, &mut rng, &seeds);
        }
        for _ in 0..EPOCH.min(setting.packets) {
            let packet = packet(&mut rng);
            let run = match replay_pair.compare(&packet) {
                Err(_) if replay_pair.undecided => {
                    tally.undecided += 1;
                    break;
                }
                run => run.map_err(|fault| {
                    (Class::Meaning, format!("epoch {epoch}, packet {}: {fault}", hex(&packet)))
                })?,
            };
            covered.extend(run.path.iter().map(|taken| taken.block));
            tally.packets += 1;
            if packet.len() <= 1500 {
                max = max.max(run.costs.len() as u64);
            }
        }
    }
    Ok(max)
}

fn check(
    setting: &Setting,
    text: &str,
    seed: u64,
    tally: &mut Tally,
) -> Result<(), (Class, String)> {
    let data = setting.clang.compile(text).map_err(|fault| (Class::Compiler, fault))?;
    let object = Object::parse(&data).map_err(|e| (Class::Refused, e.to_string()))?;
    tally.programs += 1;
    match setting.kernel.load(&object, 0) {
        Ok(_) => {}
        Err(LoadError::Rejected { reason, .. }) => return Err((Class::Verifier, reason)),
        Err(other) => return Err((Class::Refused, other.to_string())),
    }
    let max = packets_agree(setting, &object, seed, tally)?;
    bound_holds(setting.kernel, data, max, tally)
}

fn worker(setting: &Setting, number: usize, of: usize, seeds: (u64, u64)) -> Tally {
    let programs = CPrograms::new(&features());
    let mut tally = Tally::default();
    for seed in (seeds.0 + number as u64..seeds.0 + seeds.1).step_by(of) {
        let text = programs.from_seed(seed).text();
        if let Err((class, fault)) = check(setting, &text, seed, &mut tally) {
            let own = text.find("\nchar _license").unwrap_or(0);
            let shown = if class == Class::Verifier { "" } else { &text[own..] };
            tally.fault(class, format!("program {seed}: {fault}\n{shown}"));
        }
    }
    tally
}

#[test]
fn kernel_and_engine_agree_on_programs_in_c() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let seeds = (setting("SLOWPATH_FIRST_SEED", 0), setting("SLOWPATH_C_PROGRAMS", PROGRAMS));
    let packets = setting("SLOWPATH_C_PACKETS", PACKETS);
    let setting = Setting { kernel: &kernel, clang: &clang, packets };
    let mut tally = Tally::default();
    for part in on_every_cpu(|number, of| worker(&setting, number, of, seeds)) {
        tally.add(part);
    }
    let rejected = tally.faults.remove(&Class::Verifier).unwrap_or_default();
    tally.report("programs in C");
    eprintln!("{} of them rejected by the verifier", rejected.len());
    assert!(20 * rejected.len() <= tally.programs, "{}", rejected[0]);
    Oracle::Clang.compared(tally.programs, "programs in C");
    tally.assert_no_faults("programs in C");
}

/// C source of a program that inserts 1500 elements into a map for 2100 elements.
const FILLING: &str = r#"
#define SEC(name) __attribute__((section(name), used))
enum { HASH = 1, NOEXIST = 1, XDP_DROP = 1, XDP_PASS = 2 };
static long (*update)(void *map, const void *key, const void *value, unsigned long flags) = (void *)2;

struct {
	int (*type)[HASH];
	int (*max_entries)[2100];
	unsigned *key;
	unsigned *value;
} seen SEC(".maps");

SEC("xdp") int fill(void *ctx)
{
	volatile unsigned added = 0;

	for (unsigned key = 0; key < 1500; key++) {
		unsigned number = key;

		if (!update(&seen, &number, &number, NOEXIST))
			added++;
	}
	return added == 1500 ? XDP_PASS : XDP_DROP;
}
"#;

/// Checks that slowpath lets a long loop insert as many elements into an empty map as the kernel
/// does. An upper bound on free elements that holds only for short loops would exclude this run.
#[test]
fn a_long_loop_fills_an_empty_map() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let object = Object::parse(&clang.compile(FILLING).expect("an object")).expect("a BPF object");
    let lifted = ReplayPair::lifted(&kernel, &object, 0).expect("a program");
    let free = lifted.program.inputs.iter().find(|one| one.name == "free elements of seen");
    assert!(free.is_none_or(|free| free.max >= 1500), "{free:?}");
    let mut replay_pair = ReplayPair::of(&kernel, &object, 0, lifted.clone()).expect("a program");
    let run = replay_pair.compare(&[0; 64]).expect("the same result");
    assert!(run.costs.len() > 1500 * 10, "{} instructions", run.costs.len());
    Oracle::Kernel.compared(1, "loops that fill maps");
    Oracle::Clang.compared(1, "loops that fill maps");
}

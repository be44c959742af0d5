//! Compares two translations of random P4 programs: to C, which runs in the kernel, and to
//! pipelines, which run in DPDK. With the same table entries, both must send the same packets to
//! the same ports.
//!
//! The translations share the parser and the type checker, but neither code generation nor runtime.
//! `p4_expressions.rs` compares computed values with those of the specification.

use crate::support;

use std::collections::BTreeMap;
use std::path::Path;

use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use slowpath_p4::xdp::entries::parse;
use support::clang::{Clang, clang};
use support::dpdk::{self, Pipeline};
use support::p4::{P4, Source};
use support::p4_program::{Random, random};
use support::tally::setting;
use support::{hex, kernel};

/// Number of programs. The environment variable `SLOWPATH_P4_PAIRS` overrides it.
const PROGRAMS: u64 = 16;
/// Number of packets for each program.
const PACKETS: usize = 20;
/// Maximum number of faults that the failure message shows.
const SHOWN: usize = 3;

/// Result of comparing the two translations of a program.
enum Outcome {
    /// All packets have the same result. The fields are the numbers of sent and of dropped packets.
    Equal(usize, usize),
    /// Reason why the program could not be compared: a construct that a translation does not
    /// support, or an exceeded limit.
    Refused(String),
    /// Description of a fault in a translation.
    Fault(String),
}

/// Shortens an error message to its reason: removes the source position, the later lines and all
/// digits.
fn reason(fault: &str) -> String {
    let message = fault.split_once(' ').map_or(fault, |one| one.1);
    message.lines().next().unwrap_or_default().replace(|one: char| one.is_ascii_digit(), "")
}

fn compare(kernel: &Kernel, clang: &Clang, made: &Random) -> Outcome {
    let source = match Source::read(Path::new("random.p4"), &made.text, &[]) {
        Ok(source) => source,
        Err(fault) => return Outcome::Fault(fault),
    };
    let mut pipeline = match source.to_spec() {
        Ok(pipeline) => pipeline,
        Err(fault) => return Outcome::Refused(reason(&fault)),
    };
    let mut program = None;
    for scratch in [false, true] {
        let output = match source.to_c(scratch) {
            Ok(output) => output,
            Err(fault) => return Outcome::Refused(reason(&fault)),
        };
        match P4::made(kernel, clang, output) {
            Ok(made) => program = made,
            Err(fault) => return Outcome::Fault(fault),
        }
        if program.is_some() {
            break;
        }
    }
    let Some(program) = program else { return Outcome::Refused("the stack of 512 bytes".into()) };
    match results(made, &program, &mut pipeline) {
        Ok((sent, dropped)) => Outcome::Equal(sent, dropped),
        Err(fault) => Outcome::Fault(format!("{fault}\n{}", slowpath_swx::print(&pipeline.spec))),
    }
}

fn results(
    made: &Random,
    program: &P4,
    pipeline: &mut slowpath_p4::swx::Output,
) -> Result<(usize, usize), String> {
    let entries = parse(&made.entries).map_err(|e| e.to_string())?;
    program.try_write(&entries)?;
    let lines = pipeline.lines(&entries).map_err(|e| e.to_string())?;
    let mut running = Pipeline::start(&pipeline.spec)?;
    for entry in lines {
        let command = if entry.is_default { "default" } else { "entry" };
        let command = format!("{command} {} {}", entry.table, entry.text);
        match running.ask(&command) {
            answer if answer == "ok" => {}
            answer => return Err(format!("{command}: {answer}")),
        }
    }
    let mut dropped = 0;
    for packet in &made.packets {
        let there = running.ask(&format!("packet 1 {}", hex(packet)));
        let here = match program.run(packet) {
            Some((port, sent)) => format!("{port} {}", hex(&sent)),
            None => "drop".to_owned(),
        };
        dropped += usize::from(here == "drop");
        if here != there {
            return Err(format!("packet {}\nkernel {here}\nSWX    {there}", hex(packet)));
        }
    }
    Ok((made.packets.len() - dropped, dropped))
}

#[test]
fn both_translations_of_random_programs_send_the_same_packets() {
    let (Some(kernel), Some(clang), Some(_)) = (kernel(), clang(), dpdk::driver()) else { return };
    let (programs, first) =
        (setting("SLOWPATH_P4_PAIRS", PROGRAMS), setting("SLOWPATH_P4_SEED", 0));
    let (mut equal, mut sent, mut dropped) = (0, 0, 0);
    let mut refused: BTreeMap<String, u64> = BTreeMap::new();
    let mut faults = Vec::new();
    for seed in first..first + programs {
        let made = random(seed, PACKETS);
        match compare(&kernel, &clang, &made) {
            Outcome::Equal(more, less) => {
                (equal, sent, dropped) = (equal + 1, sent + more, dropped + less);
            }
            Outcome::Refused(reason) => *refused.entry(reason).or_default() += 1,
            Outcome::Fault(fault) => {
                eprintln!("seed {seed}: {}", fault.lines().take(3).collect::<Vec<_>>().join("\n"));
                faults.push(format!("seed {seed}: {fault}\n{}\n{}", made.text, made.entries));
            }
        }
    }
    eprintln!("{programs} programs: {equal} equal; {sent} packets sent, {dropped} dropped");
    for (reason, count) in &refused {
        eprintln!("{count} refused: {reason}");
    }
    faults.truncate(SHOWN);
    assert!(faults.is_empty(), "{}", faults.join("\n\n"));
    // Most programs need to be compared, not refused.
    assert!(equal >= programs / 2, "{equal} of {programs} programs were compared");
    assert!(sent > dropped && dropped > 0, "{sent} packets were sent, {dropped} dropped");
    Oracle::Kernel.compared(sent + dropped, "P4 packets that DPDK also runs");
    Oracle::Dpdk.compared(sent + dropped, "packets of P4 programs");
}

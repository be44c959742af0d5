//! Tests the witness packets of every example in the running kernel, with their map content
//! installed. Each packet must have the same results as in the interpreter, and must take the path
//! for which it was found. The kernel must count the same number of instructions.

use crate::support;

use std::path::Path;
use std::time::Duration;

use serde_json::Value;
use slowpath::{Analysis, Event, Options, Poll, ProgramFile, ProgramRequest};
use slowpath_bpf::insn::{AluOp, Call, Condition, Insn, Register, Source, Width, helper::number};
use slowpath_bpf::{Object, ProgramKind};
use slowpath_kernel::Kernel;
use slowpath_kernel::witness::{answers, bytes, context, install};
use slowpath_oracle::Oracle;
use support::replay_pair::ReplayPair;

use support::{DROP, PASS, assemble, examples, kernel, object};

/// Number of slowest paths whose witnesses are checked for each program.
const PATHS: u64 = 12;

/// Computes the slowest paths of program number `program` of an object file. Returns the result as
/// JSON.
fn analyse(file: &Path, program: usize) -> Value {
    let name = file.display().to_string();
    let data = std::fs::read(file).unwrap_or_else(|e| panic!("{name}: {e}"));
    analyse_content(name, &data, program)
}

/// Like [`analyse`], but takes the content of the file.
fn analyse_content(name: String, data: &[u8], program: usize) -> Value {
    let object = ProgramFile::read(data).unwrap_or_else(|e| panic!("{name}: {e}"));
    let request = ProgramRequest {
        program,
        options: Options {
            target: "ebpf".into(),
            paths: Some(PATHS),
            deadline_seconds: Some(60.0),
            // The kernel delivers packets as its test run does.
            receive: Some("test-run".into()),
            ..Options::default()
        },
        ..ProgramRequest::of(name, object)
    };
    let analysis = Analysis::start(request);
    loop {
        match analysis.next(Duration::from_secs(1)) {
            Poll::Event(Event::Result(report)) => {
                return serde_json::from_str(&report.json).unwrap_or_else(|e| panic!("{e}"));
            }
            Poll::Event(_) | Poll::Pending => {}
            Poll::Finished => panic!("no result"),
        }
    }
}

/// Counts of the witnesses that were compared, and descriptions of the faults.
#[derive(Debug, Default)]
struct Tally {
    replayed: usize,
    /// Number of witnesses for which the kernel executed the stated number of instructions.
    counted: usize,
    /// Number of witnesses whose path depends on something other than packet and maps, such as the
    /// time.
    open: usize,
    faults: Vec<String>,
}

/// Counts the instructions that the kernel executes for a witness packet. Calls whose results a
/// test run cannot reproduce are replaced in the program.
fn count(kernel: &Kernel, object: &Object, program: usize, witness: &Value) -> Result<u64, String> {
    let linked = object.link(program, None).map_err(|e| e.to_string())?;
    let counted = kernel
        .load_counted_with_answers(object, program, &answers(&linked, witness))
        .map_err(|e| e.to_string())?;
    let installed = install(counted.loaded(), witness).map_err(|e| e.to_string())?;
    let run = counted.run(&bytes(&witness["packet"]), &context(witness));
    drop(installed);
    run.map(|(_, count)| count).map_err(|e| e.to_string())
}

fn check(kernel: &Kernel, file: &Path, tally: &mut Tally) {
    let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
    let object = object(file);
    for (number, program) in object.programs.iter().enumerate() {
        if program.kind != ProgramKind::Xdp {
            continue;
        }
        let result = analyse(file, number);
        let paths = result["paths"].as_array().cloned().unwrap_or_default();
        if paths.is_empty() {
            tally.faults.push(format!("{name}: no path: {}", result["error"]));
        }
        for (index, path) in paths.iter().enumerate() {
            let witness = &path["witness"];
            let open = witness["unknowns"].as_array().is_some_and(|open| !open.is_empty());
            let expected = path["cost"]["instructions"].as_u64();
            match count(kernel, &object, number, witness) {
                Ok(count) if Some(count) == expected => tally.counted += 1,
                Ok(count) => tally.faults.push(format!(
                    "{name}, path {index}: the kernel counts {count} instructions, not {expected:?}"
                )),
                Err(fault) => tally.faults.push(format!("{name}, path {index}: {fault}")),
            }
            let replay_pair = ReplayPair::new(kernel, &object, number);
            match replay_pair.and_then(|mut replay_pair| replay_pair.replay(witness)) {
                Ok(step) if Some(step.instructions) == expected => tally.replayed += 1,
                Ok(_) if open => tally.open += 1,
                Ok(step) => tally.faults.push(format!(
                    "{name}, path {index}: {} instructions, not {expected:?}",
                    step.instructions
                )),
                Err(fault) => tally.faults.push(format!("{name}, path {index}: {fault}")),
            }
        }
    }
}

#[test]
fn witnesses_have_the_same_results_in_the_kernel() {
    let Some(kernel) = kernel() else { return };
    let mut tally = Tally::default();
    for file in examples() {
        check(&kernel, &file, &mut tally);
    }
    let Tally { replayed, counted, open, .. } = tally;
    eprintln!("{replayed} witnesses replayed, {counted} counted, {open} depend on what is open");
    assert!(tally.replayed > 10 * tally.open, "most paths are determined by packet and maps");
    assert!(tally.faults.is_empty(), "{}", tally.faults.join("\n"));
    Oracle::Kernel.compared(tally.replayed, "witnesses");
    Oracle::Kernel.compared(tally.counted, "witnesses counted by the kernel");
}

#[test]
fn a_path_for_another_numa_node_is_taken() {
    let Some(kernel) = kernel() else { return };
    let set = |op, dst, src| Insn::Alu { width: Width::W64, op, dst, src };
    let elsewhere = Insn::Branch {
        width: Width::W64,
        cond: Condition::Ne,
        dst: Register::R1,
        src: Source::Imm(717),
        offset: 2,
    };
    let file = assemble::file(&[&[
        Insn::Call(Call::Helper(number("bpf_get_numa_node_id"))),
        set(AluOp::Mov, Register::R1, Source::Reg(Register::R0)),
        set(AluOp::Mov, Register::R0, Source::Imm(PASS as i32)),
        elsewhere,
        set(AluOp::Add, Register::R1, Source::Imm(1)),
        set(AluOp::Mov, Register::R0, Source::Imm(DROP as i32)),
        Insn::Exit,
    ]]);
    let result = analyse_content("numa node".to_owned(), &file, 0);
    let path = &result["paths"][0];
    assert_eq!(path["cost"]["instructions"], 7, "{result}");
    let object = Object::parse(&file).expect("is an object");
    assert_eq!(count(&kernel, &object, 0, &path["witness"]), Ok(7));
    Oracle::Kernel.compared(1, "paths that need another NUMA node");
}

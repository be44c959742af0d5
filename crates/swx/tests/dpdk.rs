//! Random pipelines in DPDK's interpreter and in the one of these tests: the same output packets,
//! and as many instructions.

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::process::Command;

use slowpath_oracle::Oracle;
use slowpath_swx::spec::{Instruction, Op, Operand, Spec};
use slowpath_swx::{parse, print, resolve};

use crate::generate::{Random, pipeline};
use crate::interpreter::{Found, Machine, World};
use crate::translation::default_data;

/// Runs a function with an empty folder of its own.
pub fn in_folder(name: &str, run: impl FnOnce(&Path)) {
    let folder = std::env::temp_dir().join(format!("slowpath-swx-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
    run(&folder);
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");
}

/// Compiles a program that uses DPDK. Records a missing oracle without DPDK.
pub fn compiled(source: &str, folder: &Path) -> Option<PathBuf> {
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "libdpdk"]).output();
    let flags = match flags {
        Ok(output) if output.status.success() => output.stdout,
        _ => {
            Oracle::Dpdk
                .missing("pkg-config finds no libdpdk; apt install libdpdk-dev gcc pkg-config");
            return None;
        }
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let binary = folder.join("program");
    let compiled = Command::new("cc")
        .args(["-march=native", "-o"])
        .args([&binary, &source])
        .args(String::from_utf8_lossy(&flags).split_whitespace())
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "cc compiles {}", source.display());
    Some(binary)
}

/// Type of a packet for which the table `types` has an entry.
const TYPES: [(u64, &str); 2] =
    [(0x800, "first d0 0x1234 d1 0xfedc d2 0x112233445566"), (7, "second")];

/// Tables with the entries above.
struct Tables;

impl World for Tables {
    fn lookup(&mut self, spec: &Spec, table: &str, key: &[u64], _: u32) -> Found {
        let found = spec.tables.iter().find(|one| one.name == table).expect("a table");
        let entry = TYPES.iter().find(|(value, _)| table == "types" && key == [*value]);
        let (hit, action, arguments) = match entry {
            Some((_, entry)) => {
                let words: Vec<&str> = entry.split_whitespace().collect();
                let pairs = words[1..].chunks(2);
                let pairs = pairs.map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
                (true, words[0].to_owned(), pairs.collect())
            }
            None => {
                (false, found.default_action.name.clone(), found.default_action.arguments.clone())
            }
        };
        let called = spec.actions.iter().find(|one| one.name == action).expect("an action");
        let kind = called.data.as_ref();
        let kind = kind.and_then(|kind| spec.structs.iter().find(|one| one.name == *kind));
        let data = kind.map_or_else(Vec::new, |kind| default_data(kind, &arguments));
        Found { hit, action, data, entry: 0 }
    }

    fn value(&mut self, what: &str) -> u64 {
        panic!("{what} is not compared with DPDK")
    }
}

/// Returns which instructions DPDK makes a part of the one before: extractions in sequence, and
/// emissions before `tx`.
fn absorbed(body: &[Instruction]) -> Vec<bool> {
    let used = |one: &Instruction| {
        body.iter().any(|other| match &other.op {
            Op::Jump { target, .. } => one.label.as_ref() == Some(target),
            _ => false,
        })
    };
    let run = |from: usize, fits: &dyn Fn(&Op) -> bool| {
        let rest = body[from..].iter().take(8).enumerate();
        rest.take_while(|(index, one)| fits(&one.op) && (*index == 0 || !used(one))).count()
    };
    let mut parts = vec![false; body.len()];
    let mut at = 0;
    while at < body.len() {
        let extractions = run(at, &|op| matches!(op, Op::Extract { length: None, .. }));
        let emissions = run(at, &|op| matches!(op, Op::Emit { .. }));
        let sends = body.get(at + emissions).is_some_and(|one| {
            matches!(one.op, Op::Transmit { port: Operand::Field(_) }) && !used(one)
        });
        let length = if extractions > 1 {
            extractions
        } else if emissions > 0 && sends {
            emissions + 1
        } else {
            1
        };
        parts[at + 1..at + length].fill(true);
        at += length;
    }
    parts
}

/// Returns the number of instructions that DPDK executes after `rx`. A lookup in an exact table
/// takes three turns.
fn turns(spec: &Spec, machine: &Machine) -> usize {
    let executed = machine.executed.iter().skip(1).map(|(action, at)| {
        let action = spec.actions.iter().find(|one| Some(&one.name) == action.as_ref());
        let body = action.map_or(&spec.apply, |action| &action.instructions);
        match &body[*at].op {
            _ if absorbed(body)[*at] => 0,
            Op::Table { table } if table == "types" => 3,
            _ => 1,
        }
    });
    executed.sum()
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        write!(text, "{byte:02x}").expect("a string takes all text");
        text
    })
}

#[test]
fn dpdk_runs_random_pipelines_like_the_interpreter() {
    in_folder("runs", |folder| {
        let Some(program) = compiled("tests/dpdk_run.c", folder) else { return };
        let mut random = Random(0xd1b5_4a32_d192_ed03);
        let (mut files, mut expected) = (Vec::new(), Vec::new());
        for number in 0..slowpath_oracle::random_cases(40_u32) {
            // DPDK numbers entries in its own way.
            let text = pipeline(&mut random).replace("entryid m.", "mov m.m1 m.");
            let spec = parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            resolve(&spec).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            let file = folder.join(format!("{number}.spec"));
            std::fs::write(&file, print(&spec)).expect("the folder is writable");
            let mut run = String::new();
            for (value, action) in TYPES {
                let entry = format!("entry types match {value:#x} action {action}");
                writeln!(run, "{entry}").expect("a string takes all text");
            }
            let mut registers = None;
            for _ in 0..20 {
                let mut packet: Vec<u8> = (0..100 + random.below(60))
                    .map(|_| if random.below(3) == 0 { 0 } else { random.next() as u8 })
                    .collect();
                let (kind, _) = TYPES[random.below(2)];
                if random.below(3) > 0 {
                    packet[12..14].copy_from_slice(&(kind as u16).to_be_bytes());
                }
                writeln!(run, "{}", hex(&packet)).expect("a string takes all text");
                let mut machine = Machine::new(&spec, packet);
                if let Some(registers) = registers.take() {
                    machine.registers = registers;
                }
                machine.run(&mut Tables);
                let (port, turns) = (u8::from(machine.dropped), turns(&spec, &machine));
                let output = if machine.dropped { vec![] } else { machine.output() };
                expected.push((format!("{port} {turns} {}", hex(&output)), text.clone()));
                registers = Some(machine.registers);
            }
            std::fs::write(format!("{}.run", file.display()), run).expect("the folder is writable");
            files.push(file);
        }
        let output = Command::new(&program).args(&files).output().expect("the program runs");
        assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
        let lines = String::from_utf8(output.stdout).expect("the program prints text");
        let lines: Vec<&str> = lines.lines().collect();
        assert_eq!(lines.len(), expected.len());
        for (line, (expected, text)) in lines.iter().zip(&expected) {
            assert_eq!(line, expected, "{text}");
        }
        Oracle::Dpdk.compared(lines.len(), "packets");
    });
}

//! Random pipelines in DPDK's interpreter and in that of slowpath: the same output packets,
//! and as many instructions.

use std::fmt::Write;
use std::process::Command;

use slowpath_oracle::Oracle;
use slowpath_swx::interpret::{
    Found, Machine, Request, Source, World, default_action, default_data,
};
use slowpath_swx::spec::{DefaultAction, Instruction, Op, Operand, Spec};
use slowpath_swx::{parse, print, resolve};

use crate::driver::{compiled, in_folder};
use crate::generate::{Random, pipeline};

/// Type of a packet for which the table `types` has an entry.
const TYPES: [(u64, &str); 2] =
    [(0x800, "first d0 0x1234 d1 0xfedc d2 0x112233445566"), (7, "second")];

/// Tables with the entries above.
struct Tables<'a>(&'a Spec);

impl World for Tables<'_> {
    fn lookup(&mut self, request: &Request<'_>) -> Found {
        let key: Vec<Option<u64>> = request.key.iter().map(|field| field.number()).collect();
        let entry =
            TYPES.iter().find(|(value, _)| request.table == "types" && key == [Some(*value)]);
        let default = default_action(self.0, request.table).expect("a table");
        let action = entry.map(|(_, entry)| {
            let words: Vec<&str> = entry.split_whitespace().collect();
            let pairs = words[1..].chunks(2);
            let pairs = pairs.map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
            let name = words[0].to_owned();
            DefaultAction { name, arguments: pairs.collect(), ..default.clone() }
        });
        let action = action.as_ref().unwrap_or(default);
        let data = default_data(self.0, action).expect("the arguments are numbers");
        Found { hit: entry.is_some(), action: action.name.clone(), data, entry: 0 }
    }

    fn value(&mut self, source: Source<'_>, _: usize) -> u64 {
        panic!("{source:?} is not compared with DPDK")
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
    let executed = machine.executed().iter().skip(1).map(|(action, at)| {
        let action = spec.actions.iter().find(|one| Some(one.name.as_str()) == *action);
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
                let mut machine = Machine::new(&spec, packet).expect("the structs are declared");
                if let Some(registers) = registers.take() {
                    machine.registers = registers;
                }
                let ended = machine.run(&mut Tables(&spec), 10_000);
                ended.unwrap_or_else(|error| panic!("{error}\n{text}"));
                let (output, turns) = (machine.output(), turns(&spec, &machine));
                let dropped = u8::from(output.is_none());
                let output = hex(output.unwrap_or_default());
                expected.push((format!("{dropped} {turns} {output}"), text.clone()));
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

//! Runs random pipelines in DPDK's interpreter and in slowpath's, and compares the output packets
//! and the numbers of executed instructions.

use std::collections::BTreeMap;
use std::fmt::Write;
use std::process::Command;

use slowpath_oracle::Oracle;
use slowpath_swx::code::Lookup;
use slowpath_swx::interpret::{
    FieldValue, Found, Machine, Request, Source, World, default_action, default_data,
};
use slowpath_swx::spec::{DefaultAction, FieldRef, Instruction, Op, Operand, Spec};
use slowpath_swx::{parse, print, resolve};

use crate::driver::{compiled, in_folder};
use crate::generate::{Random, pipeline};

/// Key values for which the table `types` has entries.
const TYPES: [u16; 2] = [0x800, 7];
/// A key of the table `addresses`.
const ADDRESS: u128 = 0x0102_0304_0506_0708_090a_0b0c_0d0e_0f10;
const FIRST: &str = "first d0 0x1234 d1 0xfedc d2 0x112233445566";
const THIRD: &str = "third number 0x708 address 0x00112233445566778899aabbccddeeff";
const FOURTH: &str = "fourth number 0x102 address 0xf0e0d0c0b0a090807060504030201000";

/// An entry of a test table.
struct Entry {
    table: &'static str,
    /// Value and mask of each field of the key.
    key: Vec<(u128, u128)>,
    /// Priority. Among the entries that match a packet, the one with the smallest number wins.
    priority: u32,
    action: &'static str,
}

/// Mask for key fields that must be equal to the value of the entry in all bits.
const ALL: u128 = u128::MAX;

fn entries() -> Vec<Entry> {
    let exact = |table, key: &[u128], action| {
        let key = key.iter().map(|&value| (value, ALL)).collect();
        Entry { table, key, priority: 0, action }
    };
    let prefix = |odd, value, length: u32, action| {
        let key = vec![(odd, ALL), (value, (0xff_ffff_ffff << (40 - length)) & 0xff_ffff_ffff)];
        Entry { table: "prefixes", key, priority: 40 - length, action }
    };
    let pattern = |key: [(u128, u128); 3], priority, action| Entry {
        table: "patterns",
        key: key.to_vec(),
        priority,
        action,
    };
    vec![
        exact("types", &[TYPES[0].into()], FIRST),
        exact("types", &[TYPES[1].into()], "second"),
        exact("addresses", &[ADDRESS], THIRD),
        exact("addresses", &[0], FOURTH),
        exact("numbers", &[0, 0], FOURTH),
        exact("numbers", &[1, 0], FIRST),
        prefix(1, 0, 0, FIRST),
        prefix(0, 0x40_0000_0000, 2, THIRD),
        prefix(0, 0x40_0000_0003, 40, FIRST),
        prefix(0, 0, 8, THIRD),
        pattern([(0, 3), (0, ALL), (0, 0)], 2, FIRST),
        pattern([(1, 1), (1, ALL), (0, 0x8000_0000)], 1, THIRD),
        pattern([(0, 0xff << 56), (1, ALL), (0, 1)], 0, "second"),
    ]
}

impl Entry {
    /// Returns the entry as text in DPDK's format.
    fn text(&self) -> String {
        let key = self.key.iter().map(|&(value, mask)| match (self.table, mask) {
            ("addresses", _) => format!("{value:#034x}"),
            (_, ALL) => format!("{value:#x}"),
            (_, mask) => format!("{value:#x}/{mask:#x}"),
        });
        let key = key.collect::<Vec<_>>().join(" ");
        let priority = match self.table {
            "patterns" => format!(" priority {}", self.priority),
            _ => String::new(),
        };
        format!("entry {} match {key}{priority} action {}", self.table, self.action)
    }

    fn matches(&self, key: &[FieldValue]) -> bool {
        let fields = key.iter().zip(&self.key);
        fields.map(|(field, (value, mask))| (field.big_endian(), value, mask)).all(
            |(bytes, value, mask)| {
                let number = bytes.iter().fold(0, |sum, &byte| sum << 8 | u128::from(byte));
                number & mask == *value
            },
        )
    }
}

/// Environment for the interpreter, which looks up packets in the entries of the test tables.
struct Tables<'a> {
    spec: &'a Spec,
    entries: &'a [Entry],
    /// Number of hits and of misses of each table, by name.
    results: &'a mut BTreeMap<String, [usize; 2]>,
}

impl World for Tables<'_> {
    fn lookup(&mut self, request: &Request<'_>) -> Found {
        let own = self.entries.iter().filter(|entry| entry.table == request.table);
        let entry = own.filter(|entry| entry.matches(request.key)).min_by_key(|one| one.priority);
        let default = default_action(self.spec, request.table).expect("a table");
        let counts = self.results.entry(request.table.to_owned()).or_default();
        counts[usize::from(entry.is_none())] += 1;
        let action = entry.map(|entry| {
            let words: Vec<&str> = entry.action.split_whitespace().collect();
            let pairs = words[1..].chunks(2);
            let pairs = pairs.map(|pair| (pair[0].to_owned(), pair[1].to_owned()));
            let name = words[0].to_owned();
            DefaultAction { name, arguments: pairs.collect(), ..default.clone() }
        });
        let action = action.as_ref().unwrap_or(default);
        let data = default_data(self.spec, action).expect("the arguments are numbers");
        Found { hit: entry.is_some(), action: action.name.clone(), data, entry: 0 }
    }

    fn value(&mut self, source: Source<'_>, _: usize) -> u64 {
        panic!("{source:?} is not compared with DPDK")
    }
}

/// Returns, for each instruction, true if DPDK executes it together with the instruction before it:
/// consecutive extractions, emissions before `tx`, and copies of action data after `validate`.
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
    let copies = |one: &Instruction| match &one.op {
        Op::Move { to: FieldRef::Header { header, .. }, .. } => header == "tag",
        _ => false,
    };
    let mut parts = body.iter().map(copies).collect::<Vec<_>>();
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

/// Returns the number of instructions that DPDK executes after `rx` in the run of `machine`. A
/// lookup in an exact table counts as three instructions.
fn turns(spec: &Spec, lookups: &[Lookup], machine: &Machine) -> usize {
    let is_exact = |table: &str| lookups.iter().any(|one| one.name == table && one.kind == "exact");
    let executed = machine.executed().iter().skip(1).map(|(action, at)| {
        let action = spec.actions.iter().find(|one| Some(one.name.as_str()) == *action);
        let body = action.map_or(&spec.apply, |action| &action.instructions);
        match &body[*at].op {
            _ if absorbed(body)[*at] => 0,
            // DPDK receives in the turn that sends; the first time is not counted.
            Op::Receive { .. } => 0,
            Op::Table { table } if is_exact(table) => 3,
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
        let (entries, mut results) = (entries(), BTreeMap::new());
        for number in 0..slowpath_oracle::random_cases(40_u32) {
            // DPDK numbers entries in its own way.
            let text = pipeline(&mut random).replace("entryid m.", "mov m.m1 m.");
            let spec = parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            let resolved = resolve(&spec);
            let resolved = resolved.unwrap_or_else(|fault| panic!("{fault}\n{text}"));
            let file = folder.join(format!("{number}.spec"));
            std::fs::write(&file, print(&spec)).expect("the folder is writable");
            let mut run = String::new();
            for entry in &entries {
                writeln!(run, "{}", entry.text()).expect("a string takes all text");
            }
            let mut registers = None;
            for _ in 0..20 {
                let mut packet: Vec<u8> = (0..100 + random.below(60))
                    .map(|_| if random.below(3) == 0 { 0 } else { random.next() as u8 })
                    .collect();
                let kind = TYPES[random.below(2)];
                if random.below(3) > 0 {
                    packet[12..14].copy_from_slice(&kind.to_be_bytes());
                }
                if random.below(3) > 0 {
                    let address = [0, ADDRESS][random.below(2)];
                    packet[25..41].copy_from_slice(&address.to_be_bytes());
                }
                writeln!(run, "{}", hex(&packet)).expect("a string takes all text");
                let mut machine = Machine::new(&spec, packet).expect("the structs are declared");
                if let Some(registers) = registers.take() {
                    machine.registers = registers;
                }
                let (spec, entries, results) = (&spec, &entries, &mut results);
                let ended = machine.run(&mut Tables { spec, entries, results }, 10_000);
                ended.unwrap_or_else(|error| panic!("{error}\n{text}"));
                let (output, turns) = (machine.output(), turns(spec, &resolved.lookups, &machine));
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
        for table in ["types", "addresses", "numbers", "prefixes", "patterns"] {
            let [hits, misses] = results.get(table).copied().unwrap_or_default();
            assert!(hits > 0 && misses > 0, "{table} has {hits} hits, {misses} misses");
        }
        Oracle::Dpdk.compared(lines.len(), "packets");
    });
}

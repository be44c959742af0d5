//! The translation, executed, beside the interpreter: the same instructions and the same memory.

use std::collections::HashMap;

use slowpath_exec::concrete::{Environment, Run, run};
use slowpath_ir::{Op as MicroOp, Program, ValueFormat};
use slowpath_swx::spec::Spec;
use slowpath_swx::{LiftOptions, Lifted, lift, parse};

use crate::generate::{Random, pipeline};
use crate::interpreter::{Found, Machine, World};

/// Values that a run of the translation drew, by their descriptions.
struct Drawn<'a> {
    values: HashMap<String, Vec<u64>>,
    environment: &'a Environment,
    program: &'a Program,
}

impl Drawn<'_> {
    fn next(&mut self, name: &str) -> Option<u64> {
        let values = self.values.get_mut(name).filter(|values| !values.is_empty())?;
        Some(values.remove(0))
    }
}

/// Returns the initial byte of a region.
fn initial(program: &Program, environment: &Environment, region: usize, at: usize) -> u8 {
    let id = slowpath_ir::RegionId::from(region);
    assert!(program.regions[region].content.is_none());
    environment.memory.get(&(id, at as u64)).copied().unwrap_or(environment.fill)
}

fn region(program: &Program, name: &str) -> Option<usize> {
    program.regions.iter().position(|region| region.name == name)
}

impl World for Drawn<'_> {
    fn lookup(&mut self, spec: &Spec, table: &str, _: &[u64], line: u32) -> Found {
        let outcome = self.next(&format!("table {table} outcome"));
        let names = self.program.draws.iter().find(|draw| draw.call == format!("table {table}"));
        let (hit, action) = match (outcome, names.map(|draw| &draw.reading)) {
            (Some(outcome), Some(ValueFormat::Choices(names))) => {
                let (hit, action) =
                    names[outcome as usize].split_once(", action ").expect("a name");
                (hit == "hit", action.to_owned())
            }
            // The table has only one outcome.
            _ => {
                let found = spec.tables.iter().find(|one| one.name == table).expect("a table");
                (false, found.default_action.name.clone())
            }
        };
        let called = spec.actions.iter().find(|one| one.name == action).expect("an action");
        let kind = called.data.as_ref();
        let kind = kind.and_then(|kind| spec.structs.iter().find(|one| one.name == *kind));
        let bytes = kind.map_or(0, |kind| kind.bits() as usize / 8);
        let default = spec.tables.iter().find(|one| one.name == table);
        let default = default.map(|one| &one.default_action).filter(|one| one.constant && !hit);
        let data = match (default, kind) {
            (Some(default), Some(kind)) => default_data(kind, &default.arguments),
            _ => {
                let memory =
                    region(self.program, &format!("action data of {table} in line {line}"));
                (0..bytes)
                    .map(|at| initial(self.program, self.environment, memory.expect("data"), at))
                    .collect()
            }
        };
        let entry = if hit {
            self.next(&format!("table {table} number of the entry")).unwrap_or(1)
        } else {
            0
        };
        Found { hit, action, data, entry }
    }

    fn value(&mut self, what: &str) -> u64 {
        let result = match what {
            "meter" => "meter colour".to_owned(),
            "selector" => "selector member".to_owned(),
            hash => format!("{hash} hash"),
        };
        self.next(&result).unwrap_or(0)
    }
}

/// Returns the bytes of a default action's data.
pub fn default_data(kind: &slowpath_swx::spec::Struct, arguments: &[(String, String)]) -> Vec<u8> {
    let values = kind.fields.iter().zip(arguments).flat_map(|(field, (_, value))| {
        let digits = value.strip_prefix("0x");
        let value = match digits {
            Some(digits) => u64::from_str_radix(digits, 16),
            None => value.parse(),
        };
        value.expect("a number").to_le_bytes()[..field.bits as usize / 8].to_vec()
    });
    values.collect()
}

/// Returns the operations that draw values in a run, with their least and greatest values.
fn draws(program: &Program, run: &Run) -> Vec<(String, u64, u64)> {
    let blocks = run.path.iter().map(|taken| program.block(taken.block));
    let ops = blocks.flat_map(|block| &block.ops);
    ops.filter_map(|origin| match origin.op {
        MicroOp::Unknown { min, max, draw, .. } => {
            let draw = &program.draws[draw.index()];
            Some((format!("{} {}", draw.call, draw.result), min, max))
        }
        _ => None,
    })
    .collect()
}

/// Runs a translation and the interpreter from one random state, and compares them. Returns true if
/// the state is possible.
fn compare(spec: &Spec, lifted: &Lifted, random: &mut Random) -> bool {
    let program = &lifted.program;
    let mut environment = Environment::with_fill(program, random.next() as u8);
    for (index, region) in program.regions.iter().enumerate() {
        let bytes = if region.name == "packet" { 400 } else { 80 };
        for at in 0..bytes {
            let id = slowpath_ir::RegionId::from(index);
            // Small numbers make comparisons hold.
            let byte = random.next() as u8;
            let byte = if random.below(3) == 0 { byte & 1 } else { byte };
            environment.memory.insert((id, at), byte);
        }
    }
    for (index, input) in program.inputs.iter().enumerate() {
        let id = slowpath_ir::InputId::from(index);
        if input.name == "packet length" {
            environment.inputs.insert(id, input.max - random.below(20) as u64);
        } else if input.kind == slowpath_ir::InputKind::Unknown {
            environment.inputs.insert(id, 0);
        }
    }
    let run = loop {
        let found = run(program, &environment, 10_000).expect("the run ends");
        match draws(program, &found).get(environment.unknowns.len()) {
            None => break found,
            Some(&(_, min, max)) => {
                let span = max - min;
                let value =
                    min + if span == u64::MAX { random.next() } else { random.next() % (span + 1) };
                environment.unknowns.push(value);
            }
        }
    };
    let packet = (0..400).map(|at| initial(program, &environment, 0, at)).collect();
    let mut machine = Machine::new(spec, packet);
    for at in 0..machine.meta.len() {
        machine.meta[at] = initial(program, &environment, 1, at);
    }
    let mut room = 0;
    for header in &spec.headers {
        let own = &mut machine.headers.get_mut(&header.name).expect("declared").own;
        for (at, byte) in own.iter_mut().enumerate() {
            *byte = initial(program, &environment, 2, room + at);
        }
        room += own.len().next_multiple_of(8);
    }
    for array in &spec.register_arrays {
        let index = region(program, &array.name).expect("declared");
        for (slot, value) in
            machine.registers.get_mut(&array.name).expect("declared").iter_mut().enumerate()
        {
            let bytes = (0..8).map(|at| initial(program, &environment, index, 8 * slot + at));
            *value = u64::from_le_bytes(bytes.collect::<Vec<_>>().try_into().expect("8 bytes"));
        }
    }
    let mut values: HashMap<String, Vec<u64>> = HashMap::new();
    for ((name, ..), &value) in draws(program, &run).into_iter().zip(&environment.unknowns) {
        values.entry(name).or_default().push(value);
    }
    let mut world = Drawn { values, environment: &environment, program };
    machine.run(&mut world);

    let length = environment.inputs[&program.packet_length.expect("a length")] as usize;
    assert_eq!(run.impossible, machine.need > length, "the packet has {length} bytes");
    let blocks = run.path.iter().flat_map(|taken| &program.block(taken.block).insns);
    let executed: Vec<u32> = blocks.map(|insn| insn.0).collect();
    let first = |action: &Option<String>| {
        let name = action.as_deref().unwrap_or("apply");
        lifted.functions.iter().rfind(|(_, one)| one == name).expect("a function").0
    };
    let expected: Vec<u32> =
        machine.executed.iter().map(|(action, at)| first(action) + *at as u32).collect();
    if run.impossible {
        return false;
    }
    assert_eq!(executed, expected);
    assert_eq!(run.costs.len(), expected.len(), "each instruction has one cost");
    for (&(id, at), &byte) in &run.written {
        let (index, at) = (id.index(), at as usize);
        let expected = match index {
            0 => machine.packet[at],
            1 => machine.meta[at],
            2 => {
                let mut room = 0;
                let found = spec.headers.iter().find_map(|header| {
                    let own = &machine.headers[&header.name].own;
                    let start = room;
                    room += own.len().next_multiple_of(8);
                    (start..start + own.len()).contains(&at).then(|| own[at - start])
                });
                found.expect("a header")
            }
            _ => match machine.registers.get(&program.regions[index].name) {
                Some(registers) => registers[at / 8].to_le_bytes()[at % 8],
                None => continue, // action data
            },
        };
        assert_eq!(byte, expected, "{} at {at}", program.regions[index].name);
    }
    for at in 0..machine.meta.len() {
        let id = slowpath_ir::RegionId::from(1);
        let before = initial(program, &environment, 1, at);
        let after = run.written.get(&(id, at as u64)).copied().unwrap_or(before);
        assert_eq!(after, machine.meta[at], "metadata at {at}");
    }
    true
}

fn lifted(spec: &Spec) -> Lifted {
    let options = LiftOptions { file: "test.spec".to_owned(), min_packet: 60, max_packet: 300 };
    lift(spec, "test", &options).expect("the pipeline is supported")
}

#[test]
fn the_translation_of_random_pipelines_does_the_same() {
    let mut random = Random(0x9e37_79b9_7f4a_7c15);
    let mut possible = 0;
    for _ in 0..slowpath_oracle::random_cases(60_u32) {
        let text = pipeline(&mut random);
        let spec = parse(&text).unwrap_or_else(|fault| panic!("{fault}\n{text}"));
        let lifted = lifted(&spec);
        for _ in 0..10 {
            possible += usize::from(compare(&spec, &lifted, &mut random));
        }
    }
    assert!(possible > 300, "{possible} runs were possible");
}

#[test]
fn the_translation_of_every_instruction_does_the_same() {
    // The sample without the instruction that the translation refuses.
    let text = include_str!("samples/everything.spec").replace("\trecirculate\n", "");
    let spec = parse(&text).expect("the sample parses");
    let lifted = lifted(&spec);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut possible = 0;
    for _ in 0..400 {
        possible += usize::from(compare(&spec, &lifted, &mut random));
    }
    assert!(possible > 30, "{possible} runs were possible");
}

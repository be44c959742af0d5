//! Executes lifted pipelines, and compares them with the interpreter: both must execute the same
//! instructions and leave the same memory.

use std::collections::HashMap;

use slowpath_exec::concrete::{Environment, Run, run};
use slowpath_ir::{Op as MicroOp, Program, RegionId};
use slowpath_swx::interpret::RunFault;
use slowpath_swx::replay::{Results, Start, executed, machine};
use slowpath_swx::spec::Spec;
use slowpath_swx::{LiftOptions, Lifted, lift, parse};

use crate::generate::{Random, pipeline};

/// Largest number of instructions in a run.
const MOST: usize = 10_000;

/// Returns the initial value of the byte at offset `at` in a memory region.
fn initial(environment: &Environment, region: RegionId, at: usize) -> u8 {
    environment.memory.get(&(region, at as u64)).copied().unwrap_or(environment.fill)
}

/// Returns, for each value that a run gets from outside, the smallest and the largest possible
/// value.
fn draws(program: &Program, run: &Run) -> Vec<(u64, u64)> {
    let blocks = run.path.iter().map(|taken| program.block(taken.block));
    let ops = blocks.flat_map(|block| &block.ops);
    ops.filter_map(|origin| match origin.op {
        MicroOp::Unknown { min, max, .. } => Some((min, max)),
        _ => None,
    })
    .collect()
}

/// Runs a lifted pipeline and the interpreter from the same random state, and compares them.
/// Returns false if the packet is too short for the run, because the translation excludes such
/// packets.
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
        let found = run(program, &environment, MOST).expect("the run ends");
        match draws(program, &found).get(environment.unknowns.len()) {
            None => break found,
            Some(&(min, max)) => {
                let span = max - min;
                let value =
                    min + if span == u64::MAX { random.next() } else { random.next() % (span + 1) };
                environment.unknowns.push(value);
            }
        }
    };
    let length = environment.inputs[&program.packet_length.expect("a length")] as usize;
    let start = Start {
        bytes: environment.memory.iter().map(|(&place, &byte)| (place, byte)).collect(),
        fill: Some(environment.fill),
        inputs: environment.inputs.clone(),
        is_new: false,
    };
    let layout = &lifted.layout;
    let mut machine = machine(spec, layout, length, &start).expect("the structs are declared");
    let taken = (program, run.path.iter().map(|taken| taken.block));
    let values = environment.unknowns.iter().copied();
    let mut results = Results::new(spec, layout, &start, taken, values);
    let ended = machine.run(&mut results, MOST);
    if run.impossible {
        let cause = ended.expect_err("the packet is too short").cause;
        assert!(matches!(cause, RunFault::ShortPacket { .. }), "{cause}");
        return false;
    }
    ended.unwrap_or_else(|error| panic!("{error}"));
    let blocks = run.path.iter().flat_map(|taken| &program.block(taken.block).insns);
    let expected: Vec<u32> = blocks.map(|insn| insn.0).collect();
    assert_eq!(executed(spec, layout, &machine), expected);
    assert_eq!(run.costs.len(), expected.len(), "each instruction has one cost");
    // The last pass has another packet, which ends with the same bytes.
    let moved = length as i64 - machine.packet.len() as i64;
    let arrays: HashMap<RegionId, &str> = layout
        .arrays
        .iter()
        .zip(&spec.register_arrays)
        .map(|(&region, array)| (region, array.name.as_str()))
        .collect();
    for (&(id, at), &byte) in &run.written {
        let at = at as usize;
        let expected = if id == layout.packet {
            match usize::try_from(at as i64 - moved) {
                Ok(at) => machine.packet[at],
                Err(_) => continue, // before the packet of the last pass
            }
        } else if id == layout.metadata {
            machine.meta[at]
        } else if id == layout.headers {
            let header = spec.headers.iter().zip(&layout.rooms).find_map(|(header, &room)| {
                let own = &machine.headers[header.name.as_str()].own;
                own.get(at.checked_sub(room as usize)?).copied()
            });
            header.expect("a header")
        } else if let Some(array) = arrays.get(&id) {
            machine.registers[array].get(at as u64 / 8).to_le_bytes()[at % 8]
        } else {
            continue; // action data
        };
        assert_eq!(byte, expected, "{} at {at}", program.regions[id.index()].name);
    }
    for at in 0..machine.meta.len() {
        let before = initial(&environment, layout.metadata, at);
        let after = run.written.get(&(layout.metadata, at as u64)).copied().unwrap_or(before);
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
    let text = include_str!("samples/everything.spec");
    let spec = parse(text).expect("the sample parses");
    let lifted = lifted(&spec);
    let mut random = Random(0x2545_f491_4f6c_dd1d);
    let mut possible = 0;
    for _ in 0..400 {
        possible += usize::from(compare(&spec, &lifted, &mut random));
    }
    assert!(possible > 30, "{possible} runs were possible");
}

#[test]
fn wide_data_of_constant_defaults_has_all_its_bytes() {
    let text = "struct h_t {\n\tbit<128> wide\n\tbit<16> low\n}\n\
                struct a_t {\n\tbit<16> low\n\tbit<128> wide\n}\n\
                struct m_t {\n\tbit<32> port\n\tbit<64> unused\n}\n\
                header h instanceof h_t\nmetadata instanceof m_t\n\
                action set args instanceof a_t {\n\tmov h.h.wide t.wide\n\tmov h.h.low t.low\n\
                \treturn\n}\n\
                table t {\n\tkey {\n\t\th.h.low exact\n\t}\n\tactions {\n\t\tset @defaultonly\n\t}\n\
                \tdefault_action set args low 0x1234 wide 0x000102030405060708090a0b0c0d0e0f const\n\
                \tsize 4\n}\n\
                apply {\n\trx m.port\n\textract h.h\n\ttable t\n\temit h.h\n\ttx 1\n}\n";
    let spec = parse(text).expect("the pipeline parses");
    let lifted = lifted(&spec);
    let mut random = Random(7);
    assert!((0..20).filter(|_| compare(&spec, &lifted, &mut random)).count() > 0);
    // The packet has the bytes in the order of the file.
    struct Missed(Vec<u8>);
    impl slowpath_swx::interpret::World for Missed {
        fn lookup(
            &mut self,
            _: &slowpath_swx::interpret::Request<'_>,
        ) -> slowpath_swx::interpret::Found {
            let (hit, action, data, entry) = (false, "set".to_owned(), self.0.clone(), 0);
            slowpath_swx::interpret::Found { hit, action, data, entry }
        }
        fn value(&mut self, _: slowpath_swx::interpret::Source<'_>, _: usize) -> u64 {
            0
        }
    }
    let default = slowpath_swx::interpret::default_action(&spec, "t").expect("a default");
    let data = slowpath_swx::interpret::default_data(&spec, default).expect("numbers");
    let mut machine = slowpath_swx::interpret::Machine::new(&spec, vec![0; 18]).expect("a machine");
    machine.run(&mut Missed(data), 20).expect("the run ends");
    let wanted: Vec<u8> = (0..16).chain([0x12, 0x34]).collect();
    assert_eq!(machine.output(), Some(&wanted[..]));
}

//! Tests chains of programs. Slowpath's interpreter runs the whole chain as one program, which is
//! the program that slowpath analyses. The kernel runs each program separately on the packet that
//! the previous one left. Both must end with the same action and packet.

use crate::support;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_bpf::lift::{Handover, LiftOptions, Lifted, Receive, lift};
use slowpath_bpf::{Object, Part};
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::RegionId;
use slowpath_oracle::Oracle;
use support::{PASS, kernel, object, path};

const PACKETS: usize = 2000;
/// Maximum number of basic blocks that the interpreter executes for a packet. All chains need
/// fewer.
const BLOCKS: usize = 10_000;
/// Offset of the field `data` in the XDP context.
const DATA: u64 = 0;
/// Offset of the field `data_end` in the XDP context.
const DATA_END: u64 = 4;
const TX: u32 = 3;

/// Joins two programs into one lifted program, in which the second program runs if the first one
/// returns `result`.
fn chain(objects: [&Object; 2], result: u32) -> Lifted {
    let [first, second] = objects;
    let parts = [Part { name: "first", object: first }, Part { name: "second", object: second }];
    let joined = Object::join(&parts, |_, _| false);
    let [from, to] = joined.programs[..] else { panic!("two parts") };
    let handover = Handover { from, results: vec![result], mask: u32::MAX, to, network: None };
    let (min_packet, max_packet) = (14, 1500);
    let options = LiftOptions {
        receive: Receive::PAGE.with_length(min_packet, max_packet),
        handovers: vec![handover],
        ..Default::default()
    };
    let program = joined.object.link(from, None).unwrap_or_else(|e| panic!("{e}"));
    lift(&joined.object, &program, &options).unwrap_or_else(|e| panic!("{e}"))
}

/// Access to the interpreter's memory after a run.
struct After<'a> {
    run: &'a Run,
    environment: &'a Environment,
}

impl After<'_> {
    fn byte(&self, region: RegionId, offset: u64) -> u8 {
        let at = (region, offset);
        let known = self.run.written.get(&at).or_else(|| self.environment.memory.get(&at));
        known.copied().unwrap_or(self.environment.fill)
    }

    fn word(&self, region: RegionId, offset: u64) -> u32 {
        u32::from_le_bytes(std::array::from_fn(|n| self.byte(region, offset + n as u64)))
    }
}

/// Runs a packet in the interpreter. Returns the action and the packet that the run left.
fn interpreted(lifted: &Lifted, packet: &[u8]) -> (u32, Vec<u8>) {
    let mut environment = Environment::with_fill(&lifted.program, 0);
    let region = lifted.layout.packet;
    for (offset, &byte) in (0..).zip(packet) {
        environment.memory.insert((region, offset), byte);
    }
    let length = lifted.program.packet_length.expect("packets have a length");
    environment.inputs.insert(length, packet.len() as u64);
    let run = concrete::run(&lifted.program, &environment, BLOCKS).expect("a run");
    let after = After { run: &run, environment: &environment };
    let start = after.word(lifted.layout.context, DATA);
    let end = after.word(lifted.layout.context, DATA_END);
    // The first instruction of a run sets the register with the packet's initial address.
    let base = lifted.program.regions[region.index()].base;
    let base = run.regs[base.index()];
    let bytes = u64::from(start)..u64::from(end);
    let bytes = bytes.map(|address| after.byte(region, address.wrapping_sub(base))).collect();
    (after.word(lifted.layout.result, 0), bytes)
}

/// Returns a random packet with values and lengths close to those that the programs check.
fn packet(rng: &mut StdRng) -> Vec<u8> {
    let length = [14, 33, 34, 35, 99, 100, 101, 300][rng.random_range(0..8)];
    let mut packet: Vec<u8> = (0..length).map(|_| rng.random_range(0..4)).collect();
    match rng.random_range(0..4) {
        0 => packet[12..14].copy_from_slice(&[0x08, 0]),
        1 => packet[12] = 0x86,
        _ => packet[12..14].copy_from_slice(&[0x86, 0xdd]),
    }
    packet
}

#[test]
fn programs_get_what_those_before_leave() {
    let Some(kernel) = kernel() else { return };
    let read = |name: &str| object(&path(&format!("../slowpath/tests/objects/chain_{name}.bpf.o")));
    let mut compared = 0;
    for (first, second, result) in [("first", "second", PASS), ("sends", "second", TX)] {
        let objects = [read(first), read(second)];
        let lifted = chain([&objects[0], &objects[1]], result);
        let [first, second] = objects.each_ref().map(|object| kernel.load(object, 0));
        let (first, second) = (first.expect("it loads"), second.expect("it loads"));
        let mut rng = StdRng::seed_from_u64(0xc4a1);
        let mut handed = 0;
        for _ in 0..PACKETS {
            let packet = packet(&mut rng);
            let mut run = first.run(&packet, 1).expect("it runs");
            if run.return_value == result {
                handed += 1;
                run = second.run(&run.packet, 1).expect("it runs");
            }
            let (action, bytes) = interpreted(&lifted, &packet);
            assert_eq!((action, bytes), (run.return_value, run.packet), "{packet:?}");
            compared += 1;
        }
        assert!(handed > PACKETS / 20, "{handed} packets got to the second program");
    }
    Oracle::Kernel.compared(compared, "packets through chains of two programs");
}

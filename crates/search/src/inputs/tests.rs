//! Tests that bits outside the slice do not affect the path. Each random program runs twice with
//! concrete inputs that differ in all these bits.

#[path = "../../tests/structured/mod.rs"]
mod structured;

use super::slice::Slice;
use crate::unroll::{UnrollLimits, Unrolled, unroll};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::{TestRng, TestRunner};
use slowpath_exec::concrete::{self, Environment};
use slowpath_ir::{InputId, RegionId};
use slowpath_smt::Node;
use std::collections::HashMap;
use std::rc::Rc;
use structured::{Shape, compile, statements};

const SHAPE: Shape = Shape { packets: (60, 68), has_length: true };
const PROGRAMS: usize = 600;
const RUNS: usize = 20;
/// Number of memory regions with unknown content. The tests set [`BYTES`] bytes in each region.
const REGIONS: u32 = 3;
const BYTES: u64 = 16;

/// Returns the bits that can affect the path: a mask for the packet length, and a mask for each
/// byte of memory.
fn mattering(unrolled: &Unrolled, slice: &Slice) -> (u64, HashMap<(RegionId, u64), u8>) {
    let executor = &unrolled.executor;
    let mut bytes = HashMap::new();
    for &term in &slice.terms {
        if let Node::Select { array, index } = *executor.pool.node(term)
            && let Some(offset) = executor.pool.as_const(index)
        {
            let regions = (0..executor.program().regions.len()).map(RegionId::from);
            for region in regions.filter(|&region| executor.array(region) == array) {
                bytes.insert((region, offset), slice.bits(term) as u8);
            }
        }
    }
    (executor.packet_length().map_or(0, |length| slice.bits(length)), bytes)
}

/// Returns a copy of `environment` in which only bits are changed that cannot affect the path.
fn changed(
    environment: &Environment,
    (length, bytes): &(u64, HashMap<(RegionId, u64), u8>),
    rng: &mut TestRng,
) -> Environment {
    let mut other = environment.clone();
    other.fill = rng.random();
    if *length == 0 {
        let any = rng.random_range(SHAPE.packets.0..=SHAPE.packets.1);
        other.inputs.insert(InputId(1), any.into());
    }
    for (place, &value) in &environment.memory {
        let fixed = bytes.get(place).copied().unwrap_or(0);
        other.memory.insert(*place, value & fixed | rng.random::<u8>() & !fixed);
    }
    // Relevant bits of bytes that have the fill value must stay as they are.
    for (place, &fixed) in bytes {
        if !environment.memory.contains_key(place) {
            let value = environment.fill & fixed | rng.random::<u8>() & !fixed;
            other.memory.insert(*place, value);
        }
    }
    other
}

fn random(program: &slowpath_ir::Program, rng: &mut TestRng) -> Environment {
    let mut environment = Environment::with_fill(program, rng.random());
    let length: u32 = rng.random_range(SHAPE.packets.0..=SHAPE.packets.1);
    environment.inputs.insert(InputId(1), length.into());
    for place in (0..REGIONS).flat_map(|region| (0..BYTES).map(move |at| (RegionId(region), at))) {
        let byte = if rng.random() { rng.random_range(0..6) } else { rng.random() };
        environment.memory.insert(place, byte);
    }
    environment.unknowns =
        (0..20).map(|_| rng.random_range(0..structured::elements::CHANCES)).collect();
    environment
}

#[test]
fn what_does_not_matter_never_changes_the_path() {
    let mut runner = TestRunner::deterministic();
    let (mut understood, mut free) = (0, 0);
    for _ in 0..PROGRAMS {
        let statements = statements().new_tree(&mut runner).expect("nothing is filtered").current();
        let program = compile(&statements, SHAPE);
        let unrolled =
            unroll(Rc::new(program), &UnrollLimits::default(), &slowpath_stop::Stop::never());
        let unrolled = unrolled.expect("it unrolls");
        let program = unrolled.executor.program();
        let Some(slice) = Slice::of(&unrolled) else { continue };
        understood += 1;
        let mattering = mattering(&unrolled, &slice);
        // The initial values comprise six bytes; some programs read all of them.
        let bits: u32 = mattering.1.values().map(|bits| bits.count_ones()).sum();
        free += usize::from(bits > 0 && bits < 48);
        for _ in 0..RUNS {
            let environment = random(program, runner.rng());
            let other = changed(&environment, &mattering, runner.rng());
            let [one, two] = [&environment, &other]
                .map(|environment| concrete::run(program, environment, 1000).expect("it runs"));
            assert_eq!(one.path, two.path, "{statements:?}: {environment:?} and {other:?}");
        }
    }
    assert!(10 * understood >= PROGRAMS, "{understood} programs understood");
    assert!(4 * free >= understood, "{free} of {understood} programs in which bits do not matter");
}

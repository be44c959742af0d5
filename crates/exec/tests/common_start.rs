//! Tests that two executions with the same initial terms compute the same terms, and tests the
//! states at the end of their paths.

use crate::straight;

use slowpath_exec::{Executor, Start, SymbolicState};
use slowpath_ir::{BinaryOp, BlockBuilder, BlockId, DrawId, Emit, InputId, Program};
use slowpath_smt::{Domain, TermId};
use std::rc::Rc;
use straight::{PACKET, PACKET_REGION, POINT, VALUES, k, packet, program};

fn execute(program: Program, start: Start, draws: &[TermId]) -> (Executor, SymbolicState) {
    let (mut executor, mut state) = Executor::from_start(Rc::new(program), start).expect("starts");
    executor.expect_draws(draws.iter().copied());
    executor.run_block(POINT, BlockId(0), &mut state).expect("runs");
    (executor, state)
}

/// Emits code that adds a byte of the packet and an unknown value of at most 255. The code puts the
/// sum in a register, and stores the low 16 bits of the sum in the packet.
fn sum(build: &mut BlockBuilder<'_>) {
    let read = packet(build, 4, 1);
    let drawn = build.unknown(DrawId(0), 64, 0, 255);
    let sum = build.binary(BinaryOp::Add, read, drawn);
    let low = build.extract(sum, 0, 16);
    build.copy(VALUES[0], sum);
    let address = build.binary(BinaryOp::Add, PACKET, k(9));
    build.store(address, low);
}

#[test]
fn programs_over_the_same_start_compute_the_same_terms() {
    let (mut first, state) = execute(program(sum), Start::default(), &[]);
    let draws = first.unknowns(POINT).to_vec();
    let zero = first.pool.constant(64, 0);
    let nine = first.pool.constant(64, 9);
    let left = first.content(&state, PACKET_REGION, nine, 2).expect("has an address");
    let untouched = first.content(&state, PACKET_REGION, zero, 1).expect("has an address");
    let value = first.register(VALUES[0]);
    let array = first.array(PACKET_REGION);

    let mut start = Start { pool: std::mem::take(&mut first.pool), ..Start::default() };
    let initial =
        Rc::new(move |pool: &mut slowpath_smt::TermPool, offset| pool.select(array, offset));
    start.initial.insert(PACKET_REGION, initial);
    let (mut second, state) = execute(program(sum), start, &draws);
    assert_eq!(second.register(VALUES[0]), value);
    assert_eq!(second.content(&state, PACKET_REGION, nine, 2), Some(left));
    assert_eq!(second.content(&state, PACKET_REGION, zero, 1), Some(untouched));
    let stores = second.stores(&state).expect("one way leads here");
    let [store] = stores[..] else { panic!("one store: {stores:?}") };
    let location = store.location.expect("a known place");
    assert_eq!((location.region, store.bytes), (PACKET_REGION, 2));
    assert_eq!(second.pool.as_const(location.offset), Some(9));
}

#[test]
fn draws_that_do_not_fit_are_new_unknowns() {
    let mut start = Start::default();
    let wide = start.pool.var("wide", Domain::full(64));
    let narrow = start.pool.var("narrow", Domain::full(8));
    let body = |build: &mut BlockBuilder<'_>| {
        build.unknown(DrawId(0), 64, 0, 255);
        build.unknown(DrawId(0), 64, 0, 255);
    };
    let (executor, _) = execute(program(body), start, &[wide, narrow]);
    let drawn = executor.unknowns(POINT);
    assert!(drawn.len() == 2 && !drawn.contains(&wide) && !drawn.contains(&narrow));
}

#[test]
fn a_base_with_a_known_low_half_is_found_in_sums() {
    let mut start = Start::default();
    let page = start.pool.var("page", Domain::range(48, 1, 0x7ffe));
    let place = start.pool.constant(16, 128);
    let base = start.pool.concat(page, place);
    start.inputs.insert(InputId(0), base);
    let body = |build: &mut BlockBuilder<'_>| {
        let read = packet(build, 4, 1);
        let near = build.binary(BinaryOp::Add, PACKET, k(20));
        let at = build.binary(BinaryOp::Add, near, read);
        build.store(at, k(0));
        let before = build.binary(BinaryOp::Sub, PACKET, k(84));
        build.store(before, k(0));
    };
    let (mut executor, state) = execute(program(body), start, &[]);
    let stores = executor.stores(&state).expect("one way leads here");
    let places: Vec<_> = stores.iter().filter_map(|store| store.location).collect();
    assert_eq!(places.len(), 2, "{stores:?}");
    assert!(places.iter().all(|place| place.region == PACKET_REGION));
    assert_eq!(executor.pool.as_const(places[1].offset), Some(84u64.wrapping_neg()));
    let domain = executor.pool.domain(places[0].offset);
    assert_eq!((domain.lo(), domain.hi()), (20, 275));
    let address = executor.pool.add(base, places[0].offset);
    assert_eq!(executor.location(address), Some(places[0]));
}

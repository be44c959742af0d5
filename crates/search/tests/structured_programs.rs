//! Tests the search for the slowest path on random structured programs. Compares it with an
//! enumeration of every path, and with concrete runs on random packets. The bounds must be valid at
//! any time.

use crate::common;
use crate::structured;

use common::TARGET;
use proptest::prelude::*;
use proptest::test_runner::TestRng;
use slowpath_exec::ArcId;
use slowpath_exec::concrete::{self, Environment, Run, Taken};
use slowpath_ir::{FlowGraph, InputId, Loop, Program, RegionId};
use slowpath_oracle::{Oracle, random_cases};
use slowpath_search::{
    CostGraph, Dag, Event, FoundPath, Head, InputEnumeration, Metric, Search, SearchOptions,
    UnrollLimits, Unrolled, brute_force, unroll,
};
use slowpath_smt::{BitSolver, Node, Proof, Z3Solver};
use slowpath_stop::Stop;
use slowpath_target::{CostModel, CostVector, Target};
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;
use structured::elements::CHANCES;
use structured::{Shape, Stmt, compile, statements};

/// Maximum number of paths of a tested program. Programs with more paths are skipped, because their
/// enumeration would take too long.
const MOST_PATHS: u64 = 150;
/// Number of concrete runs of each program.
const RUNS: usize = 60;

fn unrolled(program: &Program, limits: &UnrollLimits) -> Unrolled {
    unroll(Rc::new(program.clone()), limits, &Stop::never()).expect("unrolls")
}

fn count_paths(unrolled: &Unrolled) -> u64 {
    let mut paths = vec![0u64; unrolled.dag.nodes.len()];
    for (index, node) in unrolled.dag.nodes.iter().enumerate().rev() {
        for &arc in &node.out {
            paths[index] = paths[index].saturating_add(match unrolled.dag[arc].head {
                Head::Exit(_) => 1,
                Head::Node(next) => paths[next.index()],
            });
        }
    }
    paths.first().copied().unwrap_or(0)
}

/// Returns the environment (inputs and memory) in which the witness packet of a path runs.
fn environment(unrolled: &Unrolled, found: &FoundPath) -> Environment {
    let executor = &unrolled.executor;
    let mut environment = Environment::with_fill(executor.program(), 0x5a);
    for (index, &term) in executor.inputs().iter().enumerate() {
        if let Node::Var(var) = *executor.pool.node(term)
            && let Some(value) = found.model.var(var)
        {
            environment.inputs.insert(InputId::from(index), value);
        }
    }
    environment.inputs.insert(InputId(1), found.length.into());
    for (array, offset, byte) in found.model.bytes() {
        let regions = (0..executor.program().regions.len()).map(RegionId::from);
        for region in regions.filter(|&region| executor.array(region) == array) {
            environment.memory.insert((region, offset), byte);
        }
    }
    environment.interned = found.model.interned_pairs().collect();
    let nodes = found.path.iter().map(|&arc| unrolled.dag[arc].tail);
    let drawn = nodes.flat_map(|node| executor.unknowns(node));
    environment.unknowns = drawn.map(|&term| executor.pool.eval(term, &found.model)).collect();
    environment
}

/// Returns an environment with a random packet, stack and map, and the packet's length. Small
/// values are more frequent.
fn random(program: &Program, shape: Shape, rng: &mut TestRng) -> (Environment, u32) {
    let mut environment = Environment::with_fill(program, rng.random());
    let length = rng.random_range(shape.packets.0..=shape.packets.1);
    environment.inputs.insert(InputId(1), length.into());
    for region in 0..3 {
        for offset in 0..16 {
            let byte = match rng.random_range(0..4) {
                0 => rng.random(),
                1 => 0,
                _ => rng.random_range(0..6),
            };
            environment.memory.insert((RegionId(region), offset), byte);
        }
    }
    // Keys get the lowest numbers first, so these elements are in use.
    for element in 0..4 {
        for (place, most) in [(0, 2), (9, 4), (10, 2)] {
            let key = (RegionId(3), 16 * element + place);
            environment.memory.insert(key, rng.random_range(0..most));
        }
    }
    environment.unknowns = (0..20).map(|_| rng.random_range(0..CHANCES)).collect();
    (environment, length)
}

fn cost_of(run: &Run, model: &CostModel) -> CostVector {
    let mut cost = model.overhead();
    let mut context = model.start();
    for event in &run.costs {
        context = model.step(context, event.class.0, &mut cost);
    }
    cost
}

/// Returns the edges in the graph of the unrolled program that a run takes. Returns `None` if the
/// graph has no node for a step of the run.
fn arcs_of(unrolled: &Unrolled, run: &Run) -> Option<Vec<ArcId>> {
    let dag = &unrolled.dag;
    let mut node = Dag::ENTRY;
    let mut arcs = Vec::new();
    for taken in &run.path {
        let here = dag.nodes.get(node.index())?;
        assert_eq!(here.block, taken.block, "the graph has other blocks");
        let arc = *here.out.iter().find(|&&arc| dag[arc].edge == taken.edge)?;
        arcs.push(arc);
        if let Head::Node(next) = dag[arc].head {
            node = next;
        }
    }
    Some(arcs)
}

fn replay(unrolled: &Unrolled, model: &CostModel, found: &FoundPath) {
    let environment = environment(unrolled, found);
    let run = concrete::run(unrolled.executor.program(), &environment, 1000).expect("runs");
    let expected: Vec<Taken> = found
        .path
        .iter()
        .map(|&arc| {
            let arc = &unrolled.dag[arc];
            Taken { block: unrolled.dag[arc.tail].block, edge: arc.edge }
        })
        .collect();
    assert_eq!(run.path, expected, "the witness takes another path");
    assert_eq!(cost_of(&run, model), found.cost, "the witness costs something else");
}

fn examine(
    program: &Program,
    shape: Shape,
    (metric, inputs): (Metric, InputEnumeration),
    limits: &UnrollLimits,
    seed: TestRng,
) {
    let target = Target::parse(TARGET, "test").expect("the target is valid");
    let model = target.cost_model(&program.cost_classes).expect("all classes have prices");
    let mut reference = unrolled(program, limits);
    if count_paths(&reference) > MOST_PATHS {
        return;
    }
    let mut oracle = Z3Solver::new().expect("Z3 is available");
    let costs = CostGraph::new(&reference.dag, program, &model);
    let packets = shape.packets;
    let all =
        brute_force::all_paths(&mut reference, &costs, &mut oracle, packets).expect("enumerates");
    let start = unrolled(program, limits);
    let proof = Proof::new();
    let solver = BitSolver::traced(proof.trace());
    let options = SearchOptions { inputs, max_operations: 1 << 20, ..SearchOptions::default() };
    let mut search = Search::with_options(start, &model, target, metric, packets, solver, options);
    let mut missing: BTreeMap<_, _> = all
        .into_iter()
        .map(|p| {
            let slowness = search.slowness(&p.cost, p.length).1;
            (p.path, (p.cost, p.length, slowness))
        })
        .collect();
    let mut found = BTreeMap::new();
    let mut tightest = None;
    loop {
        // Whenever the search is interrupted, the bound must cover all paths that were not reported
        // yet.
        let worst = missing.values().map(|&(.., slowness)| slowness).max();
        let bound = search.bound().map(|bound| bound.slowness);
        assert!(bound >= worst, "the bound {bound:?} hides a path of {worst:?}");
        if let (Some(bound), Some(tightest)) = (bound, tightest) {
            assert!(bound <= tightest, "the bound rises from {tightest:?} to {bound:?}");
        }
        tightest = bound.or(tightest);
        match search.step().expect("searches") {
            Event::Working | Event::Bound(_) | Event::EarlyPath(_) => {}
            Event::Path(path) => {
                let expected = missing.remove(&path.path).expect("an unknown path, or found twice");
                assert_eq!((path.cost, path.length), (expected.0, expected.1));
                assert_eq!(Some(expected.2), worst, "paths out of order");
                replay(search.unrolled(), &model, &path);
                found.insert(path.path.clone(), path.length);
            }
            Event::Complete => break,
            Event::GaveUp(why) => panic!("gave up: {why}"),
        }
    }
    assert!(missing.is_empty(), "satisfiable paths that were not found: {missing:?}");
    Oracle::Z3.compared(1, "random programs path by path");
    if proof.contradictions() > 0 {
        Oracle::Proof
            .compared(proof.contradictions(), "answers \"unsatisfiable\" in random programs");
    }
    let mut rng = seed;
    let cut = !search.unrolled().assumptions.is_empty();
    for _ in 0..RUNS {
        let (environment, length) = random(program, shape, &mut rng);
        let run = concrete::run(program, &environment, 1000).expect("runs");
        let Some(arcs) = arcs_of(search.unrolled(), &run) else {
            assert!(cut, "a packet takes a path that is not in the graph: {environment:?}");
            continue;
        };
        let least = found.get(&arcs);
        assert!(
            least.is_some_and(|&least| least <= length),
            "a packet of {length} bytes takes a path thought to need {least:?}: {environment:?}"
        );
        assert_eq!(search_cost(&search, &model, &run), cost_of(&run, &model));
    }
    let sentences: BTreeSet<_> = search.unrolled().assumptions.iter().collect();
    assert_eq!(sentences.len(), search.unrolled().assumptions.len(), "the same said twice");
}

fn search_cost(search: &Search<BitSolver>, model: &CostModel, run: &Run) -> CostVector {
    let unrolled = search.unrolled();
    let graph = CostGraph::new(&unrolled.dag, unrolled.executor.program(), model);
    graph.path_cost(&arcs_of(unrolled, run).expect("it is in the graph"))
}

fn shapes() -> impl Strategy<Value = Shape> {
    prop_oneof![
        6 => Just(Shape { packets: (60, 68), has_length: true }),
        1 => Just(Shape { packets: (60, 60), has_length: true }),
        1 => Just(Shape { packets: (64, 68), has_length: true }),
        1 => Just(Shape { packets: (60, 68), has_length: false }),
    ]
}

/// Generates the maximum number of iterations that is set for all loops of a program, or `None` for
/// no maximum.
fn rounds() -> impl Strategy<Value = Option<u32>> {
    prop_oneof![3 => Just(None), 1 => (0u32..3).prop_map(Some)]
}

/// Returns limits on iterations for unrolling, with a separate entry for each loop. A single limit
/// for all loops would not apply to loops whose number of iterations the analysis can derive.
fn limits(program: &Program, rounds: Option<u32>) -> UnrollLimits {
    let flow = FlowGraph::of(program).expect("loops have one entry");
    let header = |inside: &Loop| program.block(inside.header).first.0;
    let limit = |inside: &Loop| rounds.map(|rounds| (header(inside), rounds));
    UnrollLimits { at: flow.loops.iter().filter_map(limit).collect(), ..UnrollLimits::default() }
}

fn metrics() -> impl Strategy<Value = Metric> {
    prop_oneof![2 => Just(Metric::BitRate), 1 => Just(Metric::PacketRate)]
}

fn input_enumeration() -> impl Strategy<Value = InputEnumeration> {
    prop_oneof![Just(InputEnumeration::Interleaved), Just(InputEnumeration::First)]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: random_cases(300u32),
        failure_persistence: None,
        max_shrink_iters: 4000,
        ..ProptestConfig::default()
    })]

    #[test]
    fn search_agrees_with_enumeration_and_concrete_runs(
        statements in statements(),
        shape in shapes(),
        wanted in (metrics(), input_enumeration()),
        rounds in rounds(),
        rng in any::<u64>().prop_map(|seed| {
            let mut bytes = [0; 32];
            bytes[..8].copy_from_slice(&seed.to_le_bytes());
            TestRng::from_seed(proptest::test_runner::RngAlgorithm::ChaCha, &bytes)
        }),
    ) {
        let statements: Vec<Stmt> = statements;
        let program = compile(&statements, shape);
        examine(&program, shape, wanted, &limits(&program, rounds), rng);
    }
}

//! Abstract interpretation: finds facts about registers and memory at each program point. It needs
//! no solver, and is exact enough for programs that parse packets.
//!
//! Numbers are represented as sets ([`slowpath_domain::Domain`]), addresses as offsets into their
//! object. Equal values have equal value numbers. Each value has the set of facts that it depends
//! on ([`FactSet`]). So each change of the program can state the facts on which it relies. Errors
//! in the analysis do not make results unsound, because each rewritten program is separately proved
//! equivalent.

mod arithmetic;
mod branch;
mod cells;
mod fact_set;
mod helper_results;
mod inputs;
mod lookup;
mod numbers;
mod position;
mod sets;
mod state;
mod transfer;
mod value;

pub(crate) use branch::{Decision, bounds_check};
pub(crate) use fact_set::{FOLLOWED, FactSet};
pub(crate) use inputs::AnalysisInputs;
pub(crate) use lookup::Lookup;
pub(crate) use state::State;
pub(crate) use value::{Kind, Value};

use crate::graph::{BlockId, End, Graph, Instr, Test};
use numbers::Numbers;
use slowpath_stop::{Reason as StopReason, Stop};
use std::collections::{BTreeMap, BTreeSet};
use transfer::Step;

/// Number of times that states are joined at a basic block before they are widened, so that the
/// analysis ends.
const JOINS_BEFORE_WIDENING: u32 = 4;

/// The result of analysing a program: the abstract state at the start of each reachable basic
/// block.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    inputs: &'a AnalysisInputs<'a>,
    numbers: Numbers,
    entries: BTreeMap<BlockId, State>,
}

impl<'a> Analysis<'a> {
    /// Analyses the entry function of a program. The error is the reason why the analysis stopped
    /// early.
    pub fn of(
        graph: &Graph,
        inputs: &'a AnalysisInputs<'a>,
        stop: &Stop,
    ) -> Result<Self, StopReason> {
        let mut analysis =
            Analysis { inputs, numbers: Numbers::default(), entries: BTreeMap::new() };
        let order = graph.order(0);
        let place: BTreeMap<BlockId, usize> =
            order.iter().enumerate().map(|(place, &block)| (block, place)).collect();
        let start = State::start(inputs, &mut analysis.numbers);
        analysis.entries.insert(graph.entry(), start);
        let mut work = BTreeSet::from([0]);
        let mut visits = vec![0_u32; order.len()];
        while let Some(next) = work.pop_first() {
            if let Some(reason) = stop.reason() {
                return Err(reason);
            }
            let block = order[next];
            let mut ways = Vec::new();
            analysis.out_edges(graph, block, |to, state| ways.push((to, state)));
            for (to, state) in ways {
                let at = place[&to];
                let known = match analysis.entries.get(&to) {
                    None => state,
                    Some(known) => {
                        // Only loops can repeat forever, so only back edges widen.
                        let widen = at <= next && visits[at] > JOINS_BEFORE_WIDENING;
                        let joined = known.join(&state, to, &mut analysis.numbers, widen);
                        if joined == *known {
                            continue;
                        }
                        joined
                    }
                };
                visits[at] += 1;
                analysis.entries.insert(to, known);
                work.insert(at);
            }
        }
        Ok(analysis)
    }

    /// Returns the abstract state at the start of a basic block. Returns `None` if no packet
    /// reaches the block.
    pub fn entry(&self, block: BlockId) -> Option<&State> {
        self.entries.get(&block)
    }

    /// Calls `f` for each instruction of a block, with the state before the instruction. Returns
    /// the state before the end of the block, or `None` if no packet reaches the block.
    pub fn walk(
        &mut self,
        graph: &Graph,
        block: BlockId,
        mut f: impl FnMut(usize, &Instr, &State),
    ) -> Option<State> {
        let mut state = self.entries.get(&block)?.clone();
        for (place, instr) in graph.blocks[block].insns.iter().enumerate() {
            f(place, instr, &state);
            self.step(&mut state, block, place, instr);
        }
        Some(state)
    }

    /// Updates an abstract state by the effect of an instruction, which has index `place` in its
    /// block.
    pub fn step(&mut self, state: &mut State, block: BlockId, place: usize, instr: &Instr) {
        let (inputs, numbers) = (self.inputs, &mut self.numbers);
        Step { inputs, numbers, block, place }.run(state, instr);
    }

    /// Describes the map look-up of a call of `bpf_map_lookup_elem` in this state. Returns `None`
    /// if the content of the map is not known.
    pub fn lookup(&self, state: &State) -> Option<Lookup<'a>> {
        lookup::lookup(state, &self.numbers, self.inputs)
    }

    /// Returns the index of the map in the first argument of a call, if it is known.
    pub fn map_argument(&self, state: &State) -> Option<u32> {
        lookup::map_argument(state, &self.numbers)
    }

    /// Returns true if the value is the undefined content that a register R1 to R5 has after a
    /// call. Calls clobber these registers, so programs cannot read the value. `is_call` tells
    /// whether the instruction with an index in a block is a call.
    pub fn is_clobbered(&self, value: &Value, is_call: impl Fn(BlockId, usize) -> bool) -> bool {
        match self.numbers.def(value.number) {
            numbers::Def::Result(block, place, 1..=5) => is_call(block, place),
            _ => false,
        }
    }

    /// Returns the abstract value of the right operand of a comparison (`test`).
    pub fn operand(&mut self, state: &State, test: &Test) -> Value {
        let (inputs, numbers) = (self.inputs, &mut self.numbers);
        Step { inputs, numbers, block: 0, place: 0 }.source(state, test.src, test.width)
    }

    /// Returns the outcome of a comparison if it is the same for all packets, otherwise `None`.
    /// `src` is the value of the right operand.
    pub fn decide(&self, state: &State, test: &Test, src: &Value) -> Option<Decision> {
        branch::decide(state, &self.numbers, test, src)
    }

    /// Calls `f` for each successor of a block, with the state on the edge to it.
    pub fn out_edges(&mut self, graph: &Graph, block: BlockId, mut f: impl FnMut(BlockId, State)) {
        let Some(state) = self.walk(graph, block, |_, _, _| ()) else { return };
        self.edges_of_end(&state, graph.blocks[block].end, &mut f);
    }

    /// Calls `f` for each successor of a block, with the state on the edge to it. `end` is the jump
    /// at the end of the block, and `state` the state before it.
    pub fn edges_of_end(&mut self, state: &State, end: End, mut f: impl FnMut(BlockId, State)) {
        match end {
            End::Jump(next) => f(next, state.clone()),
            End::MayGoto { taken, other } => {
                f(taken, state.clone());
                f(other, state.clone());
            }
            End::Branch { test, taken, other } => {
                let src = self.operand(state, &test);
                for (holds, next) in [(true, taken), (false, other)] {
                    if let Some(state) = branch::assume(state, &self.numbers, &test, &src, holds) {
                        f(next, state);
                    }
                }
            }
            End::Exit | End::Original => {}
        }
    }
}

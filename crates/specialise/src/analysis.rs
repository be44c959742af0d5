//! What is known at each point of a program, of the packets that it gets: an abstract interpretation
//! without a solver, exact enough for parsers.
//!
//! Numbers are sets ([`slowpath_domain::Domain`]), addresses offsets from what they point into; values
//! have numbers, equal where they are equal. What a value rests on goes with it ([`Reason`]), so that
//! it can be said which facts a rewriting needs. Nothing here has to be trusted: each program that is
//! rewritten is proved to do the same.

mod arithmetic;
mod branch;
mod cells;
mod lookup;
mod numbers;
mod placed;
mod reason;
mod returned;
mod sets;
mod setting;
mod state;
mod transfer;
mod value;

pub(crate) use branch::{Decision, bounds_check};
pub(crate) use lookup::Lookup;
pub(crate) use reason::{FOLLOWED, Reason};
pub(crate) use setting::Setting;
pub(crate) use state::State;
pub(crate) use value::{Kind, Value};

use crate::graph::{BlockId, End, Graph, Instr, Test};
use numbers::Numbers;
use slowpath_stop::{Reason as StopReason, Stop};
use std::collections::{BTreeMap, BTreeSet};
use transfer::Step;

/// How often ways may meet at a block before what is known is widened.
const PATIENCE: u32 = 4;

/// What is known.
#[derive(Debug)]
pub(crate) struct Analysis<'a> {
    setting: &'a Setting<'a>,
    numbers: Numbers,
    entries: BTreeMap<BlockId, State>,
}

impl<'a> Analysis<'a> {
    /// Analyses the entry function of a program.
    ///
    /// # Errors
    /// The reason to stop.
    pub fn of(graph: &Graph, setting: &'a Setting<'a>, stop: &Stop) -> Result<Self, StopReason> {
        let mut analysis =
            Analysis { setting, numbers: Numbers::default(), entries: BTreeMap::new() };
        let order = graph.order(0);
        let place: BTreeMap<BlockId, usize> =
            order.iter().enumerate().map(|(place, &block)| (block, place)).collect();
        let start = State::start(setting, &mut analysis.numbers);
        analysis.entries.insert(graph.entry(), start);
        let mut work = BTreeSet::from([0]);
        let mut visits = vec![0_u32; order.len()];
        while let Some(next) = work.pop_first() {
            if let Some(reason) = stop.reason() {
                return Err(reason);
            }
            let block = order[next];
            let mut ways = Vec::new();
            analysis.ways(graph, block, |to, state| ways.push((to, state)));
            for (to, state) in ways {
                let at = place[&to];
                let known = match analysis.entries.get(&to) {
                    None => state,
                    Some(known) => {
                        // Only what goes round can go on for ever.
                        let widen = at <= next && visits[at] > PATIENCE;
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

    /// What is known where a block begins; `None` if no packet gets there.
    pub fn entry(&self, block: BlockId) -> Option<&State> {
        self.entries.get(&block)
    }

    /// Calls `f` with each instruction of a block and what is known before it; returns what is known
    /// before the block's end. `None` if no packet gets there.
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

    /// What is known behind an instruction of a block.
    pub fn step(&mut self, state: &mut State, block: BlockId, place: usize, instr: &Instr) {
        let (setting, numbers) = (self.setting, &mut self.numbers);
        Step { setting, numbers, block, place }.run(state, instr);
    }

    /// The look-up that a call of `bpf_map_lookup_elem` is, if the content of its map is known.
    pub fn lookup(&self, state: &State) -> Option<Lookup<'a>> {
        lookup::lookup(state, &self.numbers, self.setting)
    }

    /// The map that is the first argument of a call, if it is known.
    pub fn map_argument(&self, state: &State) -> Option<u32> {
        lookup::map_argument(state, &self.numbers)
    }

    /// Whether a register holds what a call left there, which nothing can read.
    pub fn is_left_over(&self, value: &Value, is_call: impl Fn(BlockId, usize) -> bool) -> bool {
        match self.numbers.def(value.number) {
            numbers::Def::Result(block, place, 1..=5) => is_call(block, place),
            _ => false,
        }
    }

    /// The right operand of a test.
    pub fn operand(&mut self, state: &State, test: &Test) -> Value {
        let (setting, numbers) = (self.setting, &mut self.numbers);
        Step { setting, numbers, block: 0, place: 0 }.source(state, test.src, test.width)
    }

    /// How a test ends, if that is the same for all that is possible; `src` is its right operand.
    pub fn decide(&self, state: &State, test: &Test, src: &Value) -> Option<Decision> {
        branch::decide(state, &self.numbers, test, src)
    }

    /// What is known on each way out of a block that a packet can take.
    pub fn ways(&mut self, graph: &Graph, block: BlockId, mut f: impl FnMut(BlockId, State)) {
        let Some(state) = self.walk(graph, block, |_, _, _| ()) else { return };
        self.leave(&state, graph.blocks[block].end, &mut f);
    }

    /// The same for any end, with what is known before it.
    pub fn leave(&mut self, state: &State, end: End, mut f: impl FnMut(BlockId, State)) {
        match end {
            End::Jump(next) => f(next, state.clone()),
            End::Budget { taken, other } => {
                f(taken, state.clone());
                f(other, state.clone());
            }
            End::Branch { test, taken, other } => {
                let src = self.operand(state, &test);
                for (holds, next) in [(true, taken), (false, other)] {
                    if let Some(state) = branch::behind(state, &self.numbers, &test, &src, holds) {
                        f(next, state);
                    }
                }
            }
            End::Exit | End::Original => {}
        }
    }
}

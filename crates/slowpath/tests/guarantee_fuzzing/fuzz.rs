//! Runs programs with many random inputs. Packets, map content and results of helpers are random,
//! or changed versions of the witness of a path. Only the concrete interpreter is used, which
//! shares no code with the analysis.

use super::environment::{Elements, random_packet};
use super::random::Random;
use slowpath_bpf::lift::Lifted;
use slowpath_exec::concrete::{Environment, Run, Taken, run};
use slowpath_ir::{InputId, InputKind, Op, Program};
use std::collections::HashSet;

/// Number of blocks after which a run is abandoned and not counted.
const MAX_BLOCKS: usize = 1 << 20;
/// Maximum number of environments kept for mutation.
const MAX_CORPUS: usize = 64;
/// Maximum number of runs with new random helper results, until all results are valid. New results
/// can change the path and thereby the valid ranges.
const DRAW_ATTEMPTS: usize = 6;

/// Cost of a run: instructions and memory accesses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Costs {
    pub instructions: u64,
    pub accesses: u64,
}

impl Costs {
    fn of(program: &Program, run: &Run) -> Self {
        let accesses = run.costs.iter().filter(|event| {
            matches!(
                program.cost_classes[event.class.index()].as_str(),
                "load" | "store" | "atomic"
            )
        });
        Costs { instructions: run.costs.len() as u64, accesses: accesses.count() as u64 }
    }

    fn max(self, other: Costs) -> Costs {
        Costs {
            instructions: self.instructions.max(other.instructions),
            accesses: self.accesses.max(other.accesses),
        }
    }
}

/// A fuzzer for one program.
pub struct Fuzzer<'a> {
    lifted: &'a Lifted,
    random: Random,
    corpus: Vec<Environment>,
    covered: HashSet<Taken>,
    packets: (u16, u16),
    /// Maximum cost of any run so far.
    pub most: Costs,
    /// Number of completed runs.
    pub runs: u64,
}

impl<'a> Fuzzer<'a> {
    /// Creates a fuzzer whose corpus consists of runs in the environments `seeds` and changed
    /// copies of them. `packets` is the minimum and maximum packet length in bytes.
    pub fn new(lifted: &'a Lifted, packets: (u16, u16), seeds: Vec<Environment>) -> Self {
        let mut fuzzer = Fuzzer {
            lifted,
            random: Random::new(),
            corpus: Vec::new(),
            covered: HashSet::new(),
            packets,
            most: Costs::default(),
            runs: 0,
        };
        for seed in seeds {
            for _ in 0..8 {
                fuzzer.try_out(seed.clone());
            }
            fuzzer.corpus.push(seed);
        }
        fuzzer
    }

    /// Runs the program once, in a new random environment or in a mutated environment from the
    /// corpus.
    pub fn step(&mut self) {
        let environment = if self.corpus.is_empty() || self.random.one_in(8) {
            self.fresh()
        } else {
            let index = self.random.below(self.corpus.len() as u64) as usize;
            self.mutated(self.corpus[index].clone())
        };
        self.try_out(environment);
    }

    /// Runs the program. Adds the environment to the corpus if the run costs more than all earlier
    /// runs or takes new edges of the control-flow graph.
    fn try_out(&mut self, mut environment: Environment) {
        let program = &self.lifted.program;
        let Some(run) = self.run(&mut environment) else { return };
        self.runs += 1;
        let costs = Costs::of(program, &run);
        let most = self.most.max(costs);
        let before = self.covered.len();
        self.covered.extend(run.path.iter().copied());
        if most != self.most || self.covered.len() > before {
            environment.interned = run.interned;
            if self.corpus.len() >= MAX_CORPUS {
                let index = self.random.below(MAX_CORPUS as u64) as usize;
                self.corpus.swap_remove(index);
            }
            self.corpus.push(environment);
        }
        self.most = most;
    }

    /// Runs the program. Repeats the run with new results of helpers until all results are in their
    /// valid ranges; the last run uses the smallest results. Returns `None` if a run fails, such as
    /// after [`MAX_BLOCKS`] blocks.
    fn run(&mut self, environment: &mut Environment) -> Option<Run> {
        let program = &self.lifted.program;
        for _ in 0..DRAW_ATTEMPTS {
            let run = run(program, environment, MAX_BLOCKS).ok()?;
            let ranges = ranges(program, &run);
            let wrong = (environment.unknowns.iter().zip(&ranges))
                .position(|(value, (min, max))| !(min..=max).contains(&value));
            let from = match wrong {
                None if environment.unknowns.len() >= ranges.len() => return Some(run),
                None => environment.unknowns.len(),
                Some(wrong) => wrong,
            };
            environment.unknowns.truncate(from);
            let drawn = ranges[from..].iter().map(|&(min, max)| self.random.value(min, max));
            environment.unknowns.extend(drawn);
        }
        environment.unknowns.clear();
        // Without drawn values, the interpreter uses the smallest values.
        run(program, environment, MAX_BLOCKS).ok()
    }

    fn fresh(&mut self) -> Environment {
        let program = &self.lifted.program;
        let fill = [0, 1, 0xff, 0xa5][self.random.below(4) as usize];
        let mut environment = Environment::with_fill(program, fill);
        for (index, input) in program.inputs.iter().enumerate() {
            if input.kind == InputKind::Unknown {
                let value = self.random.value(input.min, input.max);
                environment.inputs.insert(InputId::from(index), value);
            }
        }
        self.set_length(&mut environment);
        for (offset, byte) in random_packet(&mut self.random).into_iter().enumerate() {
            environment.memory.insert((self.lifted.layout.packet, offset as u64), byte);
        }
        environment
    }

    fn set_length(&mut self, environment: &mut Environment) {
        let (min, max) = (u64::from(self.packets.0), u64::from(self.packets.1));
        if let Some(length) = self.lifted.program.packet_length {
            environment.inputs.insert(length, self.random.value(min, max));
        }
    }

    /// Changes a few randomly chosen parts of an environment, such as bytes of the packet, and
    /// returns it.
    fn mutated(&mut self, mut environment: Environment) -> Environment {
        for _ in 0..=self.random.below(4) {
            match self.random.below(8) {
                0 => self.set_length(&mut environment),
                1 => environment.fill = self.random.byte(),
                2 if !environment.unknowns.is_empty() => {
                    let at = self.random.below(environment.unknowns.len() as u64) as usize;
                    environment.unknowns.truncate(at);
                }
                2..=4 => {
                    let offset = self.random.below(96);
                    for byte in 0..=self.random.below(4) {
                        let key = (self.lifted.layout.packet, offset + byte);
                        let byte = self.random.byte();
                        environment.memory.insert(key, byte);
                    }
                }
                5 => self.mutate_known_byte(&mut environment),
                6 => {
                    let inputs = &self.lifted.program.inputs;
                    let index = self.random.below(inputs.len() as u64) as usize;
                    if inputs[index].kind == InputKind::Unknown {
                        let value = self.random.value(inputs[index].min, inputs[index].max);
                        environment.inputs.insert(InputId::from(index), value);
                    }
                }
                _ => {
                    let elements = Elements::of(&self.lifted.layout, &environment);
                    elements.mutate(&mut environment, &mut self.random);
                }
            }
        }
        environment
    }

    fn mutate_known_byte(&mut self, environment: &mut Environment) {
        let mut keys: Vec<_> = environment.memory.keys().copied().collect();
        keys.sort_unstable();
        if !keys.is_empty() {
            let key = keys[self.random.below(keys.len() as u64) as usize];
            environment.memory.insert(key, self.random.byte());
        }
    }
}

/// Returns the range of each [`Op::Unknown`] result on a path, in order of execution.
fn ranges(program: &Program, run: &Run) -> Vec<(u64, u64)> {
    let blocks = run.path.iter().flat_map(|taken| &program.block(taken.block).ops);
    let draws = program.prologue.iter().chain(blocks).filter_map(|origin| match origin.op {
        Op::Unknown { min, max, .. } => Some((min, max)),
        _ => None,
    });
    draws.collect()
}

//! The core: instructions in order into a window, out of it when they are done.
//!
//! All times are thousandths of a cycle, as integers, so that the same path takes the same time
//! everywhere. What is repeated is the kernel's loop with the program in it, because that is what
//! is measured: a program's last instructions overlap the loop's next turn.

use crate::effect::Work;
use crate::path::Path;
use crate::stores::Forwarded;
use slowpath_target::{OverlapTiming, Timing, Unit};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Turns of the loop until its steady state.
const TURNS: u64 = 2;
/// The same where retiring is followed.
const WARM: u64 = 4;
/// Turns whose mean is taken then: where a window holds several, they take unequal times.
const MEAN_OF: u64 = 4;
/// Instructions of one call that are followed into the window at most: a window is full of them.
const FOLLOWED: u64 = 400;
/// Thousandths of a cycle between two instructions that retire.
const RETIRE: u64 = 125;
const CYCLE: u64 = 1000;

/// The time of a path, in thousandths of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// One turn of the kernel's loop with the program in it.
    pub turn: u64,
    /// One without it.
    pub empty: u64,
    /// Of what the program adds to a turn, the part of each instruction, by its place in the path.
    pub parts: Vec<u64>,
    /// Calls that no experiment is known of, by their place in [`Path::calls`].
    pub unknown: Vec<usize>,
}

impl Path {
    /// What the path takes on a core, with so many entries in each map that has room for them and
    /// packets that are spread over all of them. With 0, maps have only those that the path needs.
    pub fn time(&self, timing: &Timing, entries: u64) -> Flow {
        let mut parts = vec![0; self.len()];
        let prices: Vec<Option<u64>> =
            self.calls().iter().map(|call| call.price(timing, entries)).collect();
        let keys: Vec<bool> = self.calls().iter().map(|call| call.reads_key(entries)).collect();
        let path = self.without_keys(&keys);
        let turn = path.steady(timing, &prices, &mut parts);
        let idle = Path::new(&crate::Code::default(), []);
        let empty = if timing.pipeline.is_some() {
            idle.steady(timing, &[], &mut [])
        } else {
            let mut core = Core::new(timing);
            core.turn(&idle, &[], &mut []);
            core.fetched
        };
        let unknown = prices.iter().enumerate().filter(|(_, price)| price.is_none());
        let unknown = unknown.map(|(at, _)| at).collect();
        let empty = empty.min(turn);
        Flow { turn, empty, parts: shares(&parts, turn - empty), unknown }
    }

    /// The path with the loads of keys that its calls do, by their place in [`Path::calls`].
    fn without_keys(&self, reads: &[bool]) -> Cow<'_, Path> {
        if reads.iter().all(|&reads| reads) {
            return Cow::Borrowed(self);
        }
        let mut path = self.clone();
        for step in &mut path.steps {
            if step.call.is_some_and(|call| !reads[call as usize]) {
                step.forwarded = None;
            }
        }
        Cow::Owned(path)
    }

    /// One turn of the loop in its steady state: by what is fetched, and where retiring is followed
    /// by what retires, as a full window makes the one wait for the other in the end.
    fn steady(&self, timing: &Timing, prices: &[Option<u64>], parts: &mut [u64]) -> u64 {
        let is_followed = timing.pipeline.is_some();
        let (warm, counted) = if is_followed { (WARM, MEAN_OF) } else { (TURNS, 1) };
        let mut core = Core::new(timing);
        for _ in 0..warm {
            core.turn(self, prices, parts);
        }
        let (fetched, retired) = (core.fetched, core.retired);
        for _ in 0..counted {
            core.turn(self, prices, parts);
        }
        let retiring = if is_followed { core.retired - retired } else { 0 };
        (core.fetched - fetched).max(retiring) / counted
    }
}

impl crate::Call {
    /// Returns whether it reads its key: a look-up in an empty trie compares nothing
    /// (`trie_lookup_elem` in `kernel/bpf/lpm_trie.c`).
    fn reads_key(&self, entries: u64) -> bool {
        let misses = self.helper() == "map_lookup_elem" && self.zero == Some(true);
        !(entries == 0 && misses && self.map_type() == Some("lpm_trie"))
    }

    /// The price of the call; `None` where nothing is known of it.
    fn price(&self, timing: &Timing, entries: u64) -> Option<u64> {
        let price = timing.call(&self.name)?.cycles(self.zero, self.bytes);
        Some(price.saturating_add(self.growth(timing, entries).cycles()))
    }
}

/// Parts that add up to `whole`, in the same proportions.
fn shares(parts: &[u64], whole: u64) -> Vec<u64> {
    let sum: u128 = parts.iter().map(|&part| u128::from(part)).sum();
    if sum == 0 {
        return vec![0; parts.len()];
    }
    let (mut before, mut given) = (0_u128, 0_u64);
    let share = |&part: &u64| {
        before += u128::from(part);
        let until = (before * u128::from(whole) / sum) as u64;
        let mine = until - given;
        given = until;
        mine
    };
    parts.iter().map(share).collect()
}

/// Instructions that wait for a unit, and when it is free.
#[derive(Clone, Debug, Default)]
struct Queue {
    issued: Vec<u64>,
    free: u64,
}

struct Core<'t> {
    timing: &'t Timing,
    /// When the next instruction comes.
    fetched: u64,
    /// When it has left the fetch, where that is known.
    delivered: u64,
    /// Time that the fetch loses since the instruction before jumped.
    jumped: u64,
    /// When the next comparison that jumps can be fetched, where that is known.
    branched: u64,
    /// When the last one retired.
    retired: u64,
    /// When those in the window retire.
    window: VecDeque<u64>,
    queues: [Queue; Unit::ALL.len()],
    registers: [u64; 11],
    /// When each instruction of the path was executed, and when it retired.
    passed: Vec<(u64, u64)>,
}

impl<'t> Core<'t> {
    fn new(timing: &'t Timing) -> Self {
        Core {
            timing,
            fetched: 0,
            delivered: 0,
            jumped: 0,
            branched: 0,
            retired: 0,
            window: VecDeque::new(),
            queues: Default::default(),
            registers: [0; 11],
            passed: Vec::new(),
        }
    }

    /// One turn of the loop; each instruction's part is how much later the last one retires for it.
    fn turn(&mut self, path: &Path, prices: &[Option<u64>], parts: &mut [u64]) {
        self.registers.fill(self.fetched);
        self.passed.clear();
        for (step, part) in path.steps.iter().zip(parts) {
            let before = self.retired.max(self.fetched);
            let price =
                step.call.map(|call| prices[call as usize].unwrap_or(self.timing.unknown_call));
            self.step(step, price);
            *part = self.retired.max(self.fetched) - before;
        }
        self.fetched += self.timing.core.loop_cycles;
        if let Some(pipeline) = &self.timing.pipeline {
            self.enter();
            self.retire(self.fetched.max(self.retired + pipeline.loop_stall));
        }
        for _ in 0..self.timing.core.loop_instructions {
            self.enter();
            self.retire(self.fetched + CYCLE);
        }
    }

    /// Waits until the window has room.
    fn enter(&mut self) {
        if self.window.len() as u64 >= self.timing.core.window
            && let Some(oldest) = self.window.pop_front()
        {
            self.fetched = self.fetched.max(oldest);
        }
    }

    fn retire(&mut self, done: u64) {
        self.retired = done.max(self.retired + RETIRE);
        self.window.push_back(self.retired);
    }

    /// The next instruction comes, so much behind the one before, or when it is fetched.
    fn arrive(&mut self, work: Work, behind: u64) {
        if let Some(pipeline) = &self.timing.pipeline {
            let ahead = pipeline.fetch_queue * self.timing.core.instruction_cycles;
            let least = self.fetched.saturating_sub(ahead);
            self.delivered = (self.delivered + pipeline.fetch_cycles + self.jumped).max(least);
            self.jumped = 0;
        }
        self.fetched = (self.fetched + behind).max(self.delivered);
        if work == Work::On(Unit::Branch) && self.timing.pipeline.is_some() {
            self.fetched = self.fetched.max(self.branched);
            self.branched = self.fetched + self.timing.unit(Unit::Branch).interval;
        }
        self.enter();
    }

    fn step(&mut self, step: &crate::path::Step, price: Option<u64>) {
        let core = &self.timing.core;
        let behind = match step.effect.work {
            Work::Renamed => core.move_cycles,
            Work::Constant => core.constant_cycles,
            Work::On(Unit::Branch) => core.branch_cycles,
            _ => core.instruction_cycles,
        };
        self.arrive(step.effect.work, behind);
        let read = step.effect.reads.iter().flatten();
        let read = read.map(|&register| self.registers[usize::from(register)]).max();
        let ready = self.fetched.max(read.unwrap_or(0));
        let mut begun = ready;
        let pipeline = self.timing.pipeline.as_ref();
        let done = match step.effect.work {
            Work::Renamed if read.is_some() && pipeline.is_some() => {
                begun = self.execute(Unit::Alu, ready);
                begun + pipeline.map_or(0, |pipeline| pipeline.move_latency)
            }
            Work::Renamed | Work::Constant => ready,
            Work::Function => {
                self.fetched += core.function_cycles;
                self.fetched
            }
            Work::Kernel => {
                if pipeline.is_some() && step.forwarded.is_some_and(|key| key.pieces) {
                    self.fetched += core.pieces_cycles;
                }
                match pipeline.and_then(|pipeline| pipeline.calls) {
                    Some(overlap) => self.call(&overlap, step.forwarded, price.unwrap_or(0)),
                    None => {
                        self.fetched += price.unwrap_or(0);
                        self.fetched + self.timing.unit(Unit::Load).latency
                    }
                }
            }
            Work::On(Unit::Load) => self.load(step.forwarded, ready),
            Work::On(unit) => {
                let locked = unit == Unit::Atomic && pipeline.is_some();
                begun = self.execute(unit, if locked { ready.max(self.retired) } else { ready });
                begun + self.timing.unit(unit).latency
            }
        };
        if let Some(register) = step.effect.writes {
            self.registers[usize::from(register)] = done;
        }
        self.retire(done);
        self.passed.push((begun, self.retired));
        match (step.jumps, pipeline) {
            (true, Some(_)) => self.jumped = core.taken_cycles,
            (true, None) => self.fetched += core.taken_cycles,
            (false, _) => {}
        }
    }

    /// A call of the kernel whose instructions go through the window like others; when its result
    /// is there. It begins when its arguments are, and what it reads by them.
    fn call(&mut self, overlap: &OverlapTiming, key: Option<Forwarded>, price: u64) -> u64 {
        let arguments = self.registers[1..=5].iter().copied().max().unwrap_or(0);
        let stored = key.map_or(0, |key| self.passed[key.store as usize].0);
        let begun = self.fetched.max(arguments).max(stored);
        let count = u128::from(price) * u128::from(overlap.instructions) / 1_000_000;
        let count = u64::try_from(count).unwrap_or(FOLLOWED).min(FOLLOWED);
        for _ in 0..count {
            self.fetched += price / count;
            self.enter();
            self.retire(self.fetched);
        }
        self.fetched += price - price / count.max(1) * count;
        let latency = u128::from(price) * u128::from(overlap.result_share) / 1000;
        let latency = u64::try_from(latency).unwrap_or(price) + overlap.result_cycles;
        (self.fetched + self.timing.unit(Unit::Load).latency).max(begun + latency)
    }

    /// A load. What one store has written is forwarded; what several have written has to be in the
    /// cache first.
    fn load(&mut self, forwarded: Option<Forwarded>, ready: u64) -> u64 {
        let latency = self.timing.unit(Unit::Load).latency;
        let Some(Forwarded { store, pieces }) = forwarded else {
            return self.execute(Unit::Load, ready) + latency;
        };
        let core = &self.timing.core;
        let (stored, retired) = self.passed[store as usize];
        if pieces {
            return self.execute(Unit::Load, ready.max(retired + core.pieces_cycles)) + latency;
        }
        self.execute(Unit::Load, ready.max(stored)) + core.forward_cycles
    }

    /// When an instruction that is ready at a time is executed.
    fn execute(&mut self, unit: Unit, ready: u64) -> u64 {
        let timing = self.timing.unit(unit);
        let queue = &mut self.queues[unit as usize];
        queue.issued.retain(|&at| at > self.fetched);
        let mut ready = ready;
        if queue.issued.len() as u64 >= timing.queue
            && let Some(first) = (0..queue.issued.len()).min_by_key(|&at| queue.issued[at])
        {
            self.fetched = self.fetched.max(queue.issued.swap_remove(first));
            ready = ready.max(self.fetched);
        }
        let free = queue.free.max(self.fetched);
        queue.free = free + timing.interval;
        let issued = ready.max(free);
        queue.issued.push(issued);
        issued
    }
}

#[cfg(test)]
mod tests;

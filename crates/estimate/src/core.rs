//! Simulates a core that executes a path: instructions enter a window in order and leave it when
//! they retire.
//!
//! All times are integers in thousandths of a cycle, so that a path takes the same time on every
//! machine. The simulation repeats the kernel's test-run loop with the program in it, because
//! measurements do the same: the last instructions of the program overlap the next iteration.

use crate::effect::Work;
use crate::growth::{Growth, Occupancy};
use crate::path::{Element, Path};
use crate::stores::Forwarded;
use slowpath_target::{OverlapTiming, Timing, Unit};
use std::borrow::Cow;
use std::collections::VecDeque;

/// Number of loop iterations that are simulated as a warm-up, before times are measured.
const TURNS: u64 = 2;
/// Number of loop iterations that are simulated as a warm-up if retirement of instructions is
/// simulated, too.
const WARM: u64 = 4;
/// Number of iterations whose times are averaged. Iterations can take unequal times if the
/// instruction window holds several of them.
const MEAN_OF: u64 = 4;
/// Maximum number of instructions that are simulated for one kernel call. Further instructions make
/// no difference, because these suffice to fill the instruction window.
const FOLLOWED: u64 = 400;
/// Minimum time between two retirements, in thousandths of a cycle.
const RETIRE: u64 = 125;
const CYCLE: u64 = 1000;

/// Times of the kernel calls on a path and of its cache misses, in thousandths of a cycle.
#[derive(Debug, Default, PartialEq, Eq)]
struct Prices {
    /// Time of each call; `None` if it was not measured.
    calls: Vec<Option<u64>>,
    /// Additional latency of the first access to the element that each call has found.
    elements: Vec<u64>,
    /// Additional latency of an access to each map in [`Path::tables`].
    tables: Vec<u64>,
    /// For each call, true if the kernel reads the key that the program passes.
    keys: Vec<bool>,
}

impl Prices {
    /// Returns the additional latency of an access to an element.
    fn miss(&self, element: Element) -> u64 {
        match element {
            Element::Found(call) => self.elements[call as usize],
            Element::Inside(table) => self.tables[table as usize],
        }
    }
}

/// Estimated time of a path. All times are in thousandths of a cycle.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Flow {
    /// Time of one iteration of the kernel's test-run loop with the program.
    pub iteration: u64,
    /// Time of one iteration of the kernel's test-run loop without the program.
    pub empty: u64,
    /// For each instruction of the path, its share in the difference `iteration - empty`.
    pub parts: Vec<u64>,
    /// Indices in [`Path::calls`] of the calls whose times were not measured.
    pub unknown: Vec<usize>,
}

impl Path {
    /// Estimates the time of the path with the assumed number of entries in maps.
    pub fn time(&self, timing: &Timing, occupancy: Occupancy) -> Flow {
        self.time_within(timing, occupancy, self.footprint(occupancy))
    }

    /// Estimates the time of the path like [`Path::time`], if packets access only `bytes` bytes of
    /// map elements.
    pub fn time_within(&self, timing: &Timing, occupancy: Occupancy, bytes: u64) -> Flow {
        self.priced(timing, self.prices(timing, occupancy, bytes))
    }

    /// Estimates the time of the path with few entries in maps, and with the assumed number. If
    /// the number changes no price, the path is simulated once.
    pub fn warm_and_cold(&self, timing: &Timing, cold: Occupancy) -> (Flow, Flow) {
        let prices = |occupancy| self.prices(timing, occupancy, self.footprint(occupancy));
        let (few, many) = (prices(Occupancy::Few), prices(cold));
        let other = (few != many).then(|| self.priced(timing, many));
        let warm = self.priced(timing, few);
        let cold = other.unwrap_or_else(|| warm.clone());
        (warm, cold)
    }

    /// Returns the times of the calls with the assumed number of entries in maps. Packets access
    /// `bytes` bytes of map elements.
    fn prices(&self, timing: &Timing, occupancy: Occupancy, bytes: u64) -> Prices {
        // Without a pipeline, nothing waits for a load that no instruction uses, so the call takes
        // the time of its misses. It also does if the path shows no access to the element.
        let mut accessed = vec![false; self.calls().len()];
        for step in self.steps.iter().filter(|_| timing.pipeline.is_some()) {
            if let Some(Element::Found(call)) = step.element {
                accessed[call as usize] = true;
            }
        }
        let mut prices = Prices::default();
        for (call, accessed) in self.calls().iter().zip(accessed) {
            let growth = call.growth(timing, occupancy, bytes).cycles();
            let (in_call, at_access) = if accessed { (0, growth) } else { (growth, 0) };
            let price = timing.call(&call.name).map(|price| price.cycles(call.zero, call.bytes));
            prices.calls.push(price.map(|price| price.saturating_add(in_call)));
            prices.elements.push(at_access);
        }
        prices.tables = self.table_growth(timing, occupancy, bytes).map(Growth::cycles).collect();
        prices.keys = self.calls().iter().map(|call| call.reads_key(occupancy)).collect();
        prices
    }

    /// Estimates the time of the path, given the times of its calls in `prices`.
    fn priced(&self, timing: &Timing, prices: Prices) -> Flow {
        let mut parts = vec![0; self.len()];
        let path = self.without_keys(&prices.keys);
        let turn = path.steady(timing, &prices, &mut parts);
        let idle = Path::new(&crate::Code::default(), []);
        let empty = if timing.pipeline.is_some() {
            idle.steady(timing, &Prices::default(), &mut [])
        } else {
            let mut core = Core::new(timing);
            core.turn(&idle, &Prices::default(), &mut []);
            core.fetched
        };
        let unknown = prices.calls.iter().enumerate().filter(|(_, price)| price.is_none());
        let unknown = unknown.map(|(at, _)| at).collect();
        let empty = empty.min(turn);
        Flow { iteration: turn, empty, parts: shares(&parts, turn - empty), unknown }
    }

    /// Returns the path without key loads in calls that do not read their key, such as look-ups in
    /// empty tries. `reads` contains, for each call in [`Path::calls`], true if it reads its key.
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

    /// Returns the time of one loop iteration in the steady state: the fetch time or, if retirement
    /// is simulated and takes longer, the retirement time. Writes the delay by each instruction to
    /// `parts`.
    fn steady(&self, timing: &Timing, prices: &Prices, parts: &mut [u64]) -> u64 {
        let is_followed = timing.pipeline.is_some();
        let (warm, counted) = if is_followed { (WARM, MEAN_OF) } else { (TURNS, 1) };
        let mut core = Core::new(timing);
        let (mut fetched, mut retired) = (0, 0);
        let mut state = core.state();
        // Time of an iteration, once all further ones take the same times.
        let mut repeated = None;
        for turn in 0..warm + counted {
            if turn == warm {
                (fetched, retired) = (core.fetched, core.retired);
            }
            if let Some(time) = repeated {
                core.fetched += time;
                core.retired += time;
                continue;
            }
            let begun = core.fetched;
            core.turn(self, prices, parts);
            let after = core.state();
            repeated = (after == state).then(|| core.fetched - begun);
            state = after;
        }
        let retiring = if is_followed { core.retired - retired } else { 0 };
        (core.fetched - fetched).max(retiring) / counted
    }
}

impl crate::Call {
    /// Returns true if the call reads its key. A look-up in an empty trie does not, because it
    /// compares nothing (`trie_lookup_elem` in `kernel/bpf/lpm_trie.c`).
    fn reads_key(&self, occupancy: Occupancy) -> bool {
        let misses = self.helper() == "map_lookup_elem" && self.zero == Some(true);
        !(occupancy == Occupancy::Few && misses && self.map_type() == Some("lpm_trie"))
    }
}

/// Scales the numbers in `parts` in proportion, so that their sum is `whole`.
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

/// Queue of instructions before an execution unit: the times at which they are issued, and the time
/// at which the unit becomes free.
#[derive(Clone, Debug, Default)]
struct Queue {
    issued: Vec<u64>,
    free: u64,
}

struct Core<'t> {
    timing: &'t Timing,
    /// Time at which the next instruction enters the instruction window.
    fetched: u64,
    /// Time at which the fetch stage delivers the next instruction; used only if the target
    /// description has a section `pipeline`.
    delivered: u64,
    /// Additional delay before the next fetch, because the previous instruction jumped.
    jumped: u64,
    /// Earliest time at which the next branch can be fetched; used only if the target description
    /// has a section `pipeline`.
    branched: u64,
    /// Time of the last retirement.
    retired: u64,
    /// Retirement times of the instructions in the instruction window.
    window: VecDeque<u64>,
    queues: [Queue; Unit::ALL.len()],
    registers: [u64; 11],
    /// For each instruction of the current iteration, the time at which it is executed and the time
    /// at which it retires.
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

    /// Returns the part of the core's state that the next iteration depends on: times relative to
    /// the last fetch. Iterations from equal states take equal times, because the simulation only
    /// adds and compares times. A time before the last fetch counts as equal to it, because it
    /// delays nothing beyond the fetch.
    fn state(&self) -> Vec<u64> {
        let after = |time: u64| time.saturating_sub(self.fetched);
        let mut state = vec![self.retired.wrapping_sub(self.fetched), self.jumped];
        if self.timing.pipeline.is_some() {
            state.extend([self.fetched.wrapping_sub(self.delivered), after(self.branched)]);
        }
        for queue in &self.queues {
            let waiting = queue.issued.iter().filter(|&&at| at > self.fetched);
            let start = state.len();
            state.extend([0, after(queue.free)]);
            state.extend(waiting.map(|&at| after(at)));
            state[start] = (state.len() - start) as u64;
        }
        state.extend(self.window.iter().map(|&time| after(time)));
        state
    }

    /// Simulates one iteration of the kernel's test-run loop. Sets each entry of `parts` to the
    /// time by which the instruction with this index delays the latest fetch or retirement.
    fn turn(&mut self, path: &Path, prices: &Prices, parts: &mut [u64]) {
        self.registers.fill(self.fetched);
        self.passed.clear();
        for (step, part) in path.steps.iter().zip(parts) {
            let before = self.retired.max(self.fetched);
            let price = step
                .call
                .map(|call| prices.calls[call as usize].unwrap_or(self.timing.unknown_call));
            let miss = step.element.map_or(0, |element| prices.miss(element));
            self.step(step, price, miss);
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

    /// Waits until the instruction window has room for another instruction.
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

    /// Sets the fetch time of the next instruction. This time is `behind` thousandths of a cycle
    /// after the previous fetch, or later if the fetch stage delivers the instruction later. `work`
    /// is the kind of the instruction.
    fn fetch(&mut self, work: Work, behind: u64) {
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

    /// Executes an instruction. `price` is the time of the kernel call, if the instruction is one.
    /// `miss` is the additional time of a memory access.
    fn step(&mut self, step: &crate::path::Step, price: Option<u64>, miss: u64) {
        let core = &self.timing.core;
        let behind = match step.effect.work {
            Work::Renamed => core.move_cycles,
            Work::Constant => core.constant_cycles,
            Work::On(Unit::Branch) => core.branch_cycles,
            _ => core.instruction_cycles,
        };
        self.fetch(step.effect.work, behind);
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
            Work::On(Unit::Load) => self.load(step.forwarded, ready) + miss,
            Work::On(unit) => {
                let locked = unit == Unit::Atomic && pipeline.is_some();
                begun = self.execute(unit, if locked { ready.max(self.retired) } else { ready });
                // Stores wait for the cache in a buffer, behind the window.
                begun + self.timing.unit(unit).latency + if locked { miss } else { 0 }
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

    /// Simulates a kernel call whose instructions go through the instruction window. The call
    /// starts when its arguments and its key in memory are ready. `price` is the time of the call.
    /// Returns the time at which its result is ready.
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

    /// Returns the time at which a load is done. If a single earlier store wrote the data, the
    /// store passes it on to the load. If several stores wrote it, it first has to reach the cache.
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

    /// Executes an instruction on a unit. `ready` is the time at which its operands are ready.
    /// Returns the time at which the instruction is done.
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

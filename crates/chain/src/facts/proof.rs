//! Questions about all packets that leave, and what follows for candidates.

use super::candidates::{Bounds, Candidates, Seen};
use super::departure::Departure;
use super::error::FactsError;
use super::samples::Sampler;
use super::wrong::Packet;
use slowpath_bpf::insn::Insn;
use slowpath_ir::RegionId;
use slowpath_search::Unrolled;
use slowpath_smt::{BitSolver, Evaluator, Model, Outcome, Solver, TermId};
use slowpath_stop::Stop;
use std::time::Duration;

/// Most steps of the solver for one question, about 10 s; of the time that is left, at most a quarter.
const LONGEST: u64 = 80_000_000;
/// No question gets less time, unless it is the last.
const LEAST: Duration = Duration::from_millis(50);
/// Packets made out of one that refutes candidates.
const VARIED: usize = 2;

/// Whether a packet that leaves can be so.
pub(super) enum Answer {
    Sat(Model),
    /// It cannot, for these of the conditions (by number; those that were asked for come last).
    Unsat(Vec<usize>),
    /// Not decided, and why.
    Unknown(String),
}

/// A packet that leaves and meets a condition, of which some term was asked for.
pub(super) enum Example {
    /// The term's value for it, and the packet.
    Of(u64, Model),
    /// There is none.
    None,
    /// It is not known whether there is one.
    Unknown,
}

/// All runs that leave, and the solver.
pub(super) struct Proof {
    pub unrolled: Unrolled,
    pub departure: Departure,
    /// The packet's region.
    pub region: RegionId,
    /// What holds of packets that arrive.
    pub arrived: Vec<TermId>,
    pub packet: Packet,
    /// The program's instructions by their numbers.
    pub code: Vec<Insn>,
    pub solver: BitSolver,
    stop: Stop,
}

impl Proof {
    pub fn new(
        unrolled: Unrolled,
        departure: Departure,
        region: RegionId,
        arrived: Vec<TermId>,
        packet: Packet,
        stop: Stop,
    ) -> Self {
        let (code, solver) = (Vec::new(), BitSolver::new());
        Proof { unrolled, departure, region, arrived, packet, code, solver, stop }
    }

    /// Has questions end when this says so.
    pub fn set_stop(&mut self, stop: &Stop) {
        self.stop = stop.clone();
        self.unrolled.executor.pool.set_stop(stop.clone());
    }

    /// What holds of packets that leave: the gates, then what holds of those that arrive.
    pub fn conditions(&self) -> Vec<TermId> {
        let gates = self.departure.gates.iter().map(|gate| gate.term);
        gates.chain(self.arrived.iter().copied()).collect()
    }

    /// How many questions were asked.
    pub fn queries(&self) -> u64 {
        self.solver.statistics().checks
    }

    /// Whether a packet that leaves can meet further conditions.
    pub fn ask(&mut self, further: &[TermId]) -> Result<Answer, FactsError> {
        let limit = self.stop.left().map(|left| (left / 4).max(LEAST).min(left));
        self.solver.set_time_limit(limit);
        self.solver.set_step_limit(Some(LONGEST));
        let mut conditions = self.conditions();
        conditions.extend(further);
        let pool = &mut self.unrolled.executor.pool;
        Ok(match self.solver.check(pool, &conditions)? {
            Outcome::Sat(model) => Answer::Sat(model),
            Outcome::Unsat(core) => Answer::Unsat(core),
            Outcome::Unknown(why) => Answer::Unknown(why),
        })
    }

    /// A packet that leaves and meets a further condition, and what a term is for it.
    pub fn example(
        &mut self,
        sampler: &Sampler,
        term: TermId,
        condition: TermId,
    ) -> Result<Example, FactsError> {
        Ok(match self.ask(&[condition])? {
            Answer::Sat(model) => Example::Of(self.value(sampler, term, &model), model),
            Answer::Unsat(_) => Example::None,
            Answer::Unknown(_) => Example::Unknown,
        })
    }

    /// What a term is for a packet that leaves.
    pub fn value(&self, sampler: &Sampler, term: TermId, model: &Model) -> u64 {
        let pool = &self.unrolled.executor.pool;
        let model = sampler.complete(pool, model.clone());
        Evaluator::new(pool, &model).value(term)
    }

    /// What holds of all packets that leave, of what held of those that were `seen`; and why it is
    /// not known of some candidates, if so.
    pub fn prove(
        &mut self,
        sampler: &mut Sampler,
        mut seen: Vec<Seen>,
        bounds: &Bounds,
    ) -> Result<(Candidates, Option<String>), FactsError> {
        loop {
            let candidates = Candidates::of(&seen, bounds);
            let step = self.step(sampler, &candidates)?;
            match step {
                Step::Proved => return Ok((candidates, None)),
                Step::Undecided(why) => {
                    let proved = self.in_parts(sampler, candidates)?;
                    return Ok((proved, Some(why)));
                }
                Step::Refuted(packets) => {
                    let refutes = packets.iter().any(|packet| candidates.clone().refute(packet));
                    seen.extend(packets);
                    if !refutes {
                        let why = "a packet that refutes facts refutes none".to_owned();
                        return Ok((Candidates::default(), Some(why)));
                    }
                }
            }
        }
    }

    /// The same of candidates that cannot be decided all together: of each half, until there is no
    /// time any more.
    fn in_parts(
        &mut self,
        sampler: &mut Sampler,
        candidates: Candidates,
    ) -> Result<Candidates, FactsError> {
        let mut proved = Candidates::default();
        let mut groups = candidates.halves();
        while let Some(mut group) = groups.pop() {
            while self.stop.reason().is_none() {
                match self.step(sampler, &group)? {
                    Step::Proved => {
                        proved.extend(group);
                        break;
                    }
                    Step::Undecided(_) => {
                        groups.extend(group.halves());
                        break;
                    }
                    Step::Refuted(packets) => {
                        let mut refutes = false;
                        for packet in &packets {
                            refutes |= group.refute(packet);
                        }
                        if !refutes {
                            break;
                        }
                    }
                }
            }
        }
        Ok(proved)
    }

    /// Whether candidates hold of all packets that leave.
    fn step(&mut self, sampler: &mut Sampler, candidates: &Candidates) -> Result<Step, FactsError> {
        let pool = &mut self.unrolled.executor.pool;
        let wrong = self.packet.wrong(pool, candidates);
        let none = pool.bool(false);
        let any = wrong.into_iter().fold(none, |any, term| pool.or(any, term));
        if any == none {
            return Ok(Step::Proved);
        }
        let mut model = match self.ask(&[any])? {
            Answer::Unsat(_) => return Ok(Step::Proved),
            Answer::Unknown(why) => return Ok(Step::Undecided(why)),
            Answer::Sat(model) => model,
        };
        let pool = &self.unrolled.executor.pool;
        model = sampler.complete(pool, model);
        let mut packets = vec![sampler.seen(pool, &model)];
        for _ in 0..VARIED {
            model = sampler.vary(pool, &model);
            packets.push(sampler.seen(pool, &model));
        }
        Ok(Step::Refuted(packets))
    }
}

/// What a question about candidates says.
enum Step {
    /// They hold.
    Proved,
    /// They do not hold of the first of these packets.
    Refuted(Vec<Seen>),
    Undecided(String),
}

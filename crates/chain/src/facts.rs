//! What holds for every packet that a program lets through, given what holds of those that arrive.
//!
//! Discovery goes program by program: [`facts_after`] says what the next program can rely on; chains
//! and topologies fold it along their edges ([`PacketFacts::join`] where several meet). It looks at
//! the packet's bytes and length, and at what lies around it: nothing is carried over that is in maps
//! or metadata.
//!
//! The program is executed once, symbolically and with states merged, and all runs that end with one
//! of the wanted results become one formula (`departure`, `slowpath_search::Gated`). Candidates are
//! read off a few packets that leave (`samples`, `candidates`); then the solver is asked for a packet
//! of which any of them does not hold, and each answer weakens them, until there is none: what is
//! left is proved, all of it by that one question (as Flanagan and Leino, "Houdini, an annotation
//! assistant for ESC/Java", FME 2001). What is not proved in time is no fact.

mod across;
mod along;
mod arrival;
mod candidates;
mod departure;
mod ends;
mod error;
mod fact;
mod lengths;
mod proof;
mod results;
mod samples;
mod surroundings;
mod why;
mod wrong;

pub use across::{Fragments, across};
pub use along::{Reached, Runs, facts_along};
pub(crate) use arrival::Arrival;
pub use ends::End;
pub use error::FactsError;
pub use fact::Fact;
pub use results::Results;
pub use why::{Established, Place};

use candidates::{Bounds, Candidates};
use departure::Departure;
use proof::{Answer, Proof};
use samples::Sampler;
use slowpath_bpf::insn::helper;
use slowpath_bpf::lift::{self, LiftOptions, Receive, Surroundings};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::{PacketFacts, RelianceId};
use slowpath_search::{UnrollLimits, Unrolled, unroll_from};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

/// Packets made out of each that the solver finds.
const VARIED: usize = 8;

/// The shortest packet of any device.
const LEAST_PACKET: u16 = Receive::ANY.length.0;

/// How much is looked for.
#[derive(Clone, Debug)]
pub struct FactsOptions {
    /// How the program is lifted; the lengths of packets are those of the facts that arrive.
    pub lift: LiftOptions,
    /// How many bytes from the packet's start on facts are about, at most.
    pub bytes: u16,
    /// Most values of one field.
    pub values: usize,
    /// Most pairs of equal fields.
    pub equalities: usize,
}

impl Default for FactsOptions {
    fn default() -> Self {
        FactsOptions { lift: LiftOptions::any_device(), bytes: 256, values: 8, equalities: 32 }
    }
}

/// What leaves a program with one of the wanted results.
pub enum Leaving {
    /// Packets.
    Packets(Box<Discovery>),
    /// Nothing.
    Never(Never),
}

/// Why no packet leaves.
#[derive(Clone, Debug)]
pub struct Never {
    /// What becomes of packets instead, and where that is decided.
    pub ends: Vec<End>,
    /// The branches that such a packet would have to take, which no packet takes all; empty if the
    /// results alone tell.
    pub why: Established,
    /// Conditions that this depends on, as [`Discovery::assumptions`].
    pub assumptions: Vec<String>,
}

/// How much work it was.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Questions to the solver.
    pub queries: u64,
    /// Wall-clock time of all in seconds.
    pub seconds: f64,
    /// Of these, for lifting and execution.
    pub executing: f64,
}

/// What holds of all packets that leave.
pub struct Discovery {
    /// The facts, all of which are proved.
    pub facts: PacketFacts,
    /// What lies around these packets, which is proved as well.
    pub surroundings: Surroundings,
    /// Conditions that they depend on, one sentence each: what the front end assumed, and what runs
    /// may rely on.
    pub assumptions: Vec<String>,
    /// Whether the search ended early, so that there may be more facts; why.
    pub stopped: Option<String>,
    /// How much work it was.
    pub work: Work,
    proof: Proof,
}

impl Discovery {
    /// All facts but those that any packet has that was just received.
    pub fn list(&self) -> Vec<Fact> {
        let (head_room, metadata) = told(self.surroundings);
        let mut list = listed(&self.facts);
        list.extend(head_room.then_some(Fact::HeadRoom));
        list.extend(metadata.then_some(Fact::Metadata));
        list
    }

    /// Questions to the solver so far, those for reasons included.
    pub(crate) fn queries(&self) -> u64 {
        self.proof.queries()
    }

    /// What in the program establishes a fact: branches that all packets that leave take, and what
    /// wrote the bytes. Takes a few questions to the solver.
    ///
    /// # Errors
    /// What execution cannot do, a solver that contradicts itself, and the reason to stop.
    pub fn explain(&mut self, fact: &Fact, stop: &Stop) -> Result<Established, FactsError> {
        self.proof.set_stop(stop);
        match fact {
            Fact::HeadRoom => Ok(why::calls(&self.proof, &[helper::XDP_ADJUST_HEAD])),
            Fact::Metadata => Ok(why::calls(&self.proof, &[helper::XDP_ADJUST_META])),
            _ => why::explain(&mut self.proof, &self.facts, fact),
        }
    }
}

/// What holds of any packet that leaves an XDP program: facts where nothing else is known.
pub fn any_packet() -> PacketFacts {
    let (least, greatest) = Receive::ANY.length;
    PacketFacts::lengths(least, greatest)
}

/// Whether head room and metadata tell more than that packets were received, in a page or anyhow.
pub(crate) fn told(around: Surroundings) -> (bool, bool) {
    let plain = [Surroundings::ANY, Receive::PAGE.around()];
    let head_room = plain.iter().all(|plain| plain.head_room != around.head_room);
    let metadata = plain.iter().all(|plain| plain.metadata != around.metadata);
    (head_room, metadata)
}

/// All facts but those that [`any_packet`] has, in an order that depends on them alone.
pub(crate) fn listed(facts: &PacketFacts) -> Vec<Fact> {
    let lengths = any_packet();
    let mut list = Vec::new();
    list.extend((facts.min_length > lengths.min_length).then_some(Fact::MinLength));
    list.extend((facts.max_length < lengths.max_length).then_some(Fact::MaxLength));
    list.extend(facts.bits.keys().map(|&offset| Fact::Bits(offset)));
    list.extend(facts.values.keys().map(|&field| Fact::Values(field)));
    list.extend(facts.equal.iter().map(|&(first, second)| Fact::Equal(first, second)));
    list
}

/// What holds of every packet that `program` of `object` leaves with one of `results` (XDP actions),
/// if `arriving` holds of every packet that arrives.
///
/// # Errors
/// When the program cannot be lifted, unrolled, or executed for all paths at once, and when it is
/// time to stop before anything is known. Nothing but [`any_packet`] is known then.
pub fn facts_after(
    object: &Object,
    program: &BpfProgram,
    arriving: &PacketFacts,
    results: &[u32],
    options: &FactsOptions,
    stop: &Stop,
) -> Result<Leaving, FactsError> {
    facts_leaving(object, program, arriving, &Results::exactly(results), options, stop)
}

/// The same for results of which not all bits are looked at.
///
/// # Errors
/// As [`facts_after`].
pub fn facts_leaving(
    object: &Object,
    program: &BpfProgram,
    arriving: &PacketFacts,
    results: &Results,
    options: &FactsOptions,
    stop: &Stop,
) -> Result<Leaving, FactsError> {
    let started = Instant::now();
    let lift = LiftOptions {
        receive: options.lift.receive.with_length(arriving.min_length, arriving.max_length),
        stop: stop.clone(),
        ..options.lift.clone()
    };
    let lifted = lift::lift(object, program, &lift)?;
    let unseen = &lifted.unseen;
    if let Some(sentence) = unseen.ends.iter().chain(&unseen.fragments).next() {
        return Err(FactsError::Unseen(sentence.clone()));
    }
    let (arrival, start) = Arrival::new(&lifted, arriving)
        .ok_or_else(|| FactsError::NotExpressible("the packet has no length".into()))?;
    let code = Rc::new(lifted.program);
    let mut unrolled = unroll_from(Rc::clone(&code), &UnrollLimits::default(), &start, stop)?;
    if let Some(cut) = unrolled.assumptions.first() {
        return Err(FactsError::NotExpressible(cut.clone()));
    }
    let relied = relied(&unrolled).into_iter().map(|on| code.reliances[on.index()].clone());
    let assumptions: Vec<String> = code.assumptions.iter().cloned().chain(relied).collect();
    let Some(mut departure) = Departure::of(&mut unrolled, &lifted.layout, results)? else {
        let ends = ends::ends(&mut unrolled, lifted.layout.result, results);
        return Ok(Leaving::Never(Never { ends, why: Established::default(), assumptions }));
    };
    let executor = &mut unrolled.executor;
    let (least, greatest) = departure.lengths(executor);
    let bytes = departure.bytes(executor, lifted.layout.packet, options.bytes.min(greatest))?;
    let arrived = arrival.conditions(&mut executor.pool);
    let executing = started.elapsed().as_secs_f64();
    let packet = wrong::Packet { length: departure.length, bytes, min_length: least };
    let mut proof =
        Proof::new(unrolled, departure, lifted.layout.packet, arrived, packet, stop.clone());
    proof.code = lifted.code;
    let mut found = Vec::new();
    match proof.ask(&[])? {
        Answer::Sat(model) => found.push(model),
        Answer::Unsat(core) => {
            let why = why::never(&mut proof, &core)?;
            let ends = ends::ends(&mut proof.unrolled, lifted.layout.result, results);
            return Ok(Leaving::Never(Never { ends, why, assumptions }));
        }
        Answer::Unknown(why) => return Err(FactsError::Undecided(why)),
    }
    let mut sampler = Sampler::new(
        &proof.unrolled.executor.pool,
        &proof.conditions(),
        proof.packet.length,
        &proof.packet.bytes,
    );
    let lengths = lengths::find(&mut proof, &sampler, (least, greatest), &mut found)?;
    proof.packet.min_length = lengths.0;
    let arrived = (lift.receive, lengths.0);
    let surroundings = surroundings::find(&mut proof, &sampler, arrived, &found)?;
    let bounds = Bounds { values: options.values, equalities: options.equalities };
    let (candidates, stopped) = discover(&mut proof, &mut sampler, found, &bounds)?;
    let seconds = started.elapsed().as_secs_f64();
    let work = Work { queries: proof.queries(), seconds, executing };
    let facts = candidates.facts(lengths);
    Ok(Leaving::Packets(Box::new(Discovery {
        facts,
        surroundings,
        assumptions,
        stopped,
        work,
        proof,
    })))
}

/// What holds of all packets that leave, and why perhaps not all was found.
fn discover(
    proof: &mut Proof,
    sampler: &mut Sampler,
    found: Vec<slowpath_smt::Model>,
    bounds: &Bounds,
) -> Result<(Candidates, Option<String>), FactsError> {
    let mut seen = Vec::new();
    for model in found {
        let pool = &proof.unrolled.executor.pool;
        let mut model = sampler.complete(pool, model);
        seen.push(sampler.seen(pool, &model));
        for _ in 0..VARIED {
            model = sampler.vary(pool, &model);
            seen.push(sampler.seen(pool, &model));
        }
    }
    proof.prove(sampler, seen, bounds)
}

/// What runs may rely on.
fn relied(unrolled: &Unrolled) -> BTreeSet<RelianceId> {
    let nodes = unrolled.dag.numbered_nodes();
    nodes.flat_map(|(node, _)| unrolled.executor.reliances(node)).map(|&(on, _)| on).collect()
}

#[cfg(test)]
mod tests;

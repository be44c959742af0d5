//! Finds facts about every packet that leaves a program, given facts about the packets that arrive.
//!
//! The search goes from program to program: [`facts_after`] finds the facts on which the next
//! program can rely. Chains and topologies apply it along their edges. Where several edges meet,
//! they combine the facts with [`PacketFacts::join`]. Facts are about the packet's bytes and
//! length, its headroom, and the length of its metadata. Nothing is found out about the content of
//! maps and metadata.
//!
//! The program is executed once, symbolically and with merged states. All runs that end with one of
//! the wanted results become one formula (`departure`, `slowpath_search::Gated`). Candidates for
//! facts come from a few packets that leave (`samples`, `candidates`). Then the solver is asked for
//! a packet that violates any candidate, and each such packet refutes some of them. When no such
//! packet exists, this single query proves all candidates that are left (as Flanagan and Leino,
//! "Houdini, an annotation assistant for ESC/Java", FME 2001). Candidates that are not proved in
//! time are dropped.

mod along;
mod arrival;
mod candidates;
mod departure;
mod ends;
mod error;
mod explanation;
mod fact;
mod lengths;
mod network;
mod packet_environment;
mod proof;
mod results;
mod samples;
mod violations;

pub use along::{ChainProgram, Reached, facts_along};
pub(crate) use arrival::Arrival;
pub use ends::End;
pub use error::FactsError;
pub use explanation::{Explanation, InsnLocation};
pub use fact::Fact;
pub use network::{Fragments, after_network};
pub use results::ResultSet;

use candidates::{Bounds, Candidates};
use departure::Departure;
use proof::{Answer, Proof};
use samples::Sampler;
use slowpath_bpf::insn::helper;
use slowpath_bpf::lift::{self, LiftOptions, PacketEnvironment, Receive};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::{PacketFacts, RelianceId};
use slowpath_search::{UnrollLimits, Unrolled, unroll_from};
use slowpath_stop::Stop;
use std::collections::BTreeSet;
use std::rc::Rc;
use std::time::Instant;

/// Number of additional sample packets that are derived from each packet that the solver finds.
const VARIED: usize = 8;

/// Length in bytes of the shortest packet that any device delivers to a program.
const LEAST_PACKET: u16 = Receive::ANY.length.0;

/// Options of the search for facts about packets that leave a program.
#[derive(Clone, Debug)]
pub struct FactsOptions {
    /// Options for lifting the program, that is, translating it to the intermediate representation.
    /// Their packet lengths are ignored, as facts about arriving packets replace them.
    pub lift: LiftOptions,
    /// Number of bytes at the start of the packet for which facts are searched.
    pub bytes: u16,
    /// Maximum number of possible values that a fact about a field lists.
    pub values: usize,
    /// Maximum number of facts that two fields are equal.
    pub equalities: usize,
}

impl Default for FactsOptions {
    fn default() -> Self {
        FactsOptions { lift: LiftOptions::any_device(), bytes: 256, values: 8, equalities: 32 }
    }
}

/// Known facts about the packets that leave a program with one of the wanted results, such as XDP
/// actions.
pub enum Outgoing {
    /// Some packets leave the program, and these facts hold for all of them.
    Packets(Box<Discovery>),
    /// No packet leaves the program with one of the wanted results, for this reason.
    Nothing(NothingLeaves),
}

/// Reason why no packet leaves a program with one of the wanted results.
#[derive(Clone, Debug)]
pub struct NothingLeaves {
    /// The last branch on each way to a program end at which packets have another result.
    pub ends: Vec<End>,
    /// Branches that a packet would have to take to leave with one of the results, but that no
    /// packet can take together. Empty if the program's results already show that no packet leaves.
    pub why: Explanation,
    /// Conditions under which no packet leaves, as in [`Discovery::assumptions`].
    pub assumptions: Vec<String>,
}

/// Amount of work that a search for facts took.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Work {
    /// Number of solver queries.
    pub queries: u64,
    /// Total wall-clock time in seconds.
    pub seconds: f64,
    /// The part of `seconds` that was spent on lifting the program and executing it symbolically.
    pub executing: f64,
}

/// Proved facts about all packets that leave a program with one of the wanted results.
pub struct Discovery {
    /// Facts about bytes and lengths of the packets that leave.
    pub facts: PacketFacts,
    /// Ranges of the headroom and the metadata length of the packets that leave.
    pub packet_environment: PacketEnvironment,
    /// Conditions under which the facts hold, one sentence each. They come from reading the
    /// program, and from behaviour of the kernel on which runs rely.
    pub assumptions: Vec<String>,
    /// Reason why the search ended early, so that more facts may hold than are listed; `None` if
    /// the search was complete.
    pub stopped: Option<String>,
    /// Amount of work that the search took.
    pub work: Work,
    proof: Proof,
}

impl Discovery {
    /// Lists all facts except those that hold for every packet after any XDP program.
    pub fn list(&self) -> Vec<Fact> {
        let (head_room, metadata) = is_notable(self.packet_environment);
        let mut list = listed(&self.facts);
        list.extend(head_room.then_some(Fact::HeadRoom));
        list.extend(metadata.then_some(Fact::Metadata));
        list
    }

    /// Returns the number of solver queries so far, including those for explanations of facts.
    pub(crate) fn queries(&self) -> u64 {
        self.proof.queries()
    }

    /// Explains a fact about the packets that leave. The explanation lists branches that all of
    /// these packets take and that imply the fact, and the instructions that wrote the bytes. Takes
    /// a few solver queries.
    ///
    /// # Errors
    /// If execution fails, the solver contradicts itself, or `stop` ends the work.
    pub fn explain(&mut self, fact: &Fact, stop: &Stop) -> Result<Explanation, FactsError> {
        self.proof.set_stop(stop);
        match fact {
            Fact::HeadRoom => Ok(explanation::calls(&self.proof, &[helper::XDP_ADJUST_HEAD])),
            Fact::Metadata => Ok(explanation::calls(&self.proof, &[helper::XDP_ADJUST_META])),
            _ => explanation::explain(&mut self.proof, &self.facts, fact),
        }
    }
}

/// Returns the facts that hold for every packet after any XDP program. They are only about the
/// packet length.
pub fn any_packet() -> PacketFacts {
    let (least, greatest) = Receive::ANY.length;
    PacketFacts::lengths(least, greatest)
}

/// Returns two flags: whether the range of the headroom is worth reporting, and whether the range
/// of the metadata length is. A range that holds for every packet, or for every newly received
/// packet, is not.
pub(crate) fn is_notable(environment: PacketEnvironment) -> (bool, bool) {
    let plain = [PacketEnvironment::ANY, Receive::PAGE.packet_environment()];
    let head_room = plain.iter().all(|plain| plain.head_room != environment.head_room);
    let metadata = plain.iter().all(|plain| plain.metadata != environment.metadata);
    (head_room, metadata)
}

/// Lists all facts in a fixed order, except those of [`any_packet`].
pub(crate) fn listed(facts: &PacketFacts) -> Vec<Fact> {
    let lengths = any_packet();
    let PacketFacts { min_length, max_length, bits, values, equal } = facts;
    let mut list = Vec::new();
    list.extend((*min_length > lengths.min_length).then_some(Fact::MinLength));
    list.extend((*max_length < lengths.max_length).then_some(Fact::MaxLength));
    list.extend(bits.keys().map(|&offset| Fact::Bits(offset)));
    list.extend(values.keys().map(|&field| Fact::Values(field)));
    list.extend(equal.iter().map(|&(first, second)| Fact::Equal(first, second)));
    list
}

/// Finds the facts about all packets that leave `program` of `object` with one of `results` (XDP
/// actions). `arriving` contains the facts that hold for all packets arriving at the program.
///
/// # Errors
/// If the program cannot be lifted, unrolled, or executed for all paths at once, or if the time is
/// over before any fact is found. Then only [`any_packet`] is known.
pub fn facts_after(
    object: &Object,
    program: &BpfProgram,
    arriving: &PacketFacts,
    results: &[u32],
    options: &FactsOptions,
    stop: &Stop,
) -> Result<Outgoing, FactsError> {
    facts_leaving(object, program, arriving, &ResultSet::exactly(results), options, stop)
}

/// Finds facts like [`facts_after`]. In addition, `results` can state that only some bits of a
/// result are compared.
///
/// # Errors
/// The same as those of [`facts_after`].
pub fn facts_leaving(
    object: &Object,
    program: &BpfProgram,
    arriving: &PacketFacts,
    results: &ResultSet,
    options: &FactsOptions,
    stop: &Stop,
) -> Result<Outgoing, FactsError> {
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
        return Ok(Outgoing::Nothing(NothingLeaves {
            ends,
            why: Explanation::default(),
            assumptions,
        }));
    };
    let executor = &mut unrolled.executor;
    let (least, greatest) = departure.lengths(executor);
    let bytes = departure.bytes(executor, lifted.layout.packet, options.bytes.min(greatest))?;
    let arrived = arrival.conditions(&mut executor.pool);
    let executing = started.elapsed().as_secs_f64();
    let packet = violations::Packet { length: departure.length, bytes, min_length: least };
    let mut proof =
        Proof::new(unrolled, departure, lifted.layout.packet, arrived, packet, stop.clone());
    proof.code = lifted.code;
    let mut found = Vec::new();
    match proof.ask(&[])? {
        Answer::Sat(model) => found.push(model),
        Answer::Unsat(core) => {
            let why = explanation::never(&mut proof, &core)?;
            let ends = ends::ends(&mut proof.unrolled, lifted.layout.result, results);
            return Ok(Outgoing::Nothing(NothingLeaves { ends, why, assumptions }));
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
    let packet_environment = packet_environment::find(&mut proof, &sampler, arrived, &found)?;
    let bounds = Bounds { values: options.values, equalities: options.equalities };
    let (candidates, stopped) = discover(&mut proof, &mut sampler, found, &bounds)?;
    let seconds = started.elapsed().as_secs_f64();
    let work = Work { queries: proof.queries(), seconds, executing };
    let facts = candidates.facts(lengths);
    Ok(Outgoing::Packets(Box::new(Discovery {
        facts,
        packet_environment,
        assumptions,
        stopped,
        work,
        proof,
    })))
}

/// Finds the facts about all packets that leave the program. If some facts may be missing, also
/// returns the reason.
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

/// Returns the ids of those behaviours that the analysis does not model, but on which at least one
/// run depends.
fn relied(unrolled: &Unrolled) -> BTreeSet<RelianceId> {
    let nodes = unrolled.dag.numbered_nodes();
    nodes.flat_map(|(node, _)| unrolled.executor.reliances(node)).map(|&(on, _)| on).collect()
}

#[cfg(test)]
mod tests;

//! Compares two objects of any origin: decides whether their programs do the same, for all packets
//! with the given facts and all contents of maps.
//!
//! Maps of the same name are the same map if both objects define them alike. All other maps belong
//! to one of the programs, and a write to such a map is a difference.

use crate::equivalence::{Counterexample, EquivalenceError, Packets, Proof, prove_for};
use crate::report::ProofReport;
use crate::rewrite::{RewriteOptions, rewrite};
use crate::settings::settings;
use crate::{Chain, ChainError, Loaded};
use serde::Serialize;
use slowpath_bpf::insn::{Imm64, Insn};
use slowpath_bpf::lift::{LiftOptions, Receive};
use slowpath_bpf::{BpfProgram, Btf, MapDef, Object, ObjectError, Part};
use slowpath_codes as codes;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::sync::Arc;
use thiserror::Error;

/// Names of the two compared programs. Section names, and names of maps that the programs do not
/// share, start with the name of their program.
const NAMES: [&str; 2] = ["first", "second"];

/// Result of comparing two programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "lowercase")]
pub enum Outcome {
    /// Both programs do the same, under the conditions of the report.
    Equal,
    /// The programs do something different with some packet; runs of both programs confirm it.
    Differ,
    /// Neither equality nor a difference is proved.
    Undecided,
}

/// Report about a comparison of two programs.
#[derive(Debug, Serialize)]
pub struct VerifyReport {
    /// Result of the comparison.
    pub outcome: Outcome,
    /// Conditions under which the result holds, one sentence each.
    pub assumptions: Vec<String>,
    /// Reasons why the comparison is undecided, one sentence each.
    pub undecided: Vec<String>,
    /// Names of the maps that both programs share.
    pub shared: Vec<String>,
    /// Packet and map contents for which the programs differ; null if no difference was found.
    pub counterexample: Option<Counterexample>,
    /// Statistics of the proof.
    pub proof: ProofReport,
}

/// The circumstances in which two programs are compared, such as their place in a chain. They
/// determine the packets that arrive at both programs.
#[derive(Clone, Debug)]
pub struct ChainContext {
    /// Facts that hold for all arriving packets.
    pub facts: PacketFacts,
    /// The way in which packets are delivered.
    pub receive: Receive,
    /// Conditions under which the facts hold, one sentence each.
    pub conditions: Vec<String>,
}

impl From<PacketFacts> for ChainContext {
    /// Creates a context for packets for which `facts` hold, without assumptions about their
    /// delivery.
    fn from(facts: PacketFacts) -> ChainContext {
        ChainContext { facts, receive: Receive::ANY, conditions: Vec::new() }
    }
}

impl ChainContext {
    /// Returns the context of a chain's first program.
    pub fn of(options: &RewriteOptions) -> ChainContext {
        ChainContext {
            facts: options.arriving(),
            receive: options.lift.receive,
            conditions: options.condition.iter().cloned().collect(),
        }
    }

    /// Returns the context of the program with the given index in a chain. `options` contains the
    /// facts that hold for packets arriving at the first program.
    ///
    /// # Errors
    /// If the chain cannot be analysed, or no packet reaches the program.
    pub fn in_chain(
        chain: &Chain,
        loaded: &[Loaded],
        member: usize,
        options: &RewriteOptions,
        stop: &Stop,
    ) -> Result<ChainContext, ChainError> {
        let options = RewriteOptions { mode: None, explain: false, ..options.clone() };
        let mut found = rewrite(chain, loaded, &options, stop, |_| {})?;
        let report = found.report.programs.swap_remove(member);
        if !report.reached {
            let line = chain.members[member].line;
            return Err(ChainError::at(line, report.never.join("; ")));
        }
        let (facts, receive) = found.arriving.swap_remove(member);
        Ok(ChainContext { facts, receive, conditions: report.assumptions })
    }
}

/// Reason why two programs cannot be compared.
#[derive(Debug, Error)]
pub enum VerifyError {
    /// One of the programs cannot be linked.
    #[error(transparent)]
    Object(#[from] ObjectError),
    /// One of the programs cannot be lifted to the intermediate representation.
    #[error(transparent)]
    Equivalence(#[from] EquivalenceError),
}

impl VerifyError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            VerifyError::Object(error) => error.code(),
            VerifyError::Equivalence(error) => error.code(),
        }
    }
}

/// Compares two programs for the packets of a context. If `stop` ends the proof early, the outcome
/// can be undecided.
///
/// # Errors
/// See [`VerifyError`].
pub fn verify(
    both: [&Loaded; 2],
    place: &ChainContext,
    kernel: Option<Arc<Btf>>,
    stop: &Stop,
) -> Result<VerifyReport, VerifyError> {
    let part = |number: usize| Part { name: NAMES[number], object: &both[number].object };
    let map = |(number, map): (usize, usize)| &both[number].object.maps[map];
    let joined = Object::join(&[part(0), part(1)], |one, other| is_one(map(one), map(other)));
    let link = |number: usize| {
        joined.object.link(joined.programs[number] + both[number].program, kernel.as_deref())
    };
    let programs = [link(0)?, link(1)?];
    let shared = joined.maps[1].iter().filter(|map| joined.maps[0].contains(map));
    let shared: Vec<String> =
        shared.map(|&map| own_name(&joined.object.maps[map].name).to_owned()).collect();
    let why = incomparable(&programs).or_else(|| slots(&joined.object, &programs));
    let proof = match why {
        Some(why) => Proof { undecided: vec![why], ..Proof::default() },
        None => {
            let options = LiftOptions { kernel_types: kernel.clone(), ..LiftOptions::any_device() };
            let options = options.receiving(place.receive);
            let [first, second] = &programs;
            let packets = Packets::Inside(&place.facts);
            prove_for(&joined.object, first, second, packets, &options, stop)?
        }
    };
    let outcome = match (&proof.counterexample, proof.proved) {
        (Some(_), _) => Outcome::Differ,
        (None, true) if proof.pairs > 0 => Outcome::Equal,
        (None, _) => Outcome::Undecided,
    };
    let mut undecided = proof.undecided.clone();
    if outcome == Outcome::Undecided && proof.proved {
        undecided.push("no packet satisfies the facts".to_owned());
    }
    if outcome != Outcome::Undecided {
        undecided.clear();
    }
    let counterexample = proof.counterexample.clone();
    let mut proof = ProofReport::from(proof);
    let mut assumptions = std::mem::take(&mut proof.assumptions);
    assumptions.extend(place.conditions.iter().cloned());
    for (number, program) in programs.iter().enumerate() {
        let sentences = settings(NAMES[number], &joined.object, program);
        assumptions.extend(sentences);
    }
    Ok(VerifyReport { outcome, assumptions, undecided, shared, counterexample, proof })
}

/// Returns true if a map of each object can be treated as one map that both programs share. Both
/// maps must have the same name, definition and initial content. During a run, writable global data
/// may have other content, because earlier runs may have changed it.
fn is_one(one: &MapDef, other: &MapDef) -> bool {
    let like = |map: &MapDef| {
        let inner = map.inner.as_deref().map(|inner| {
            (inner.kind, inner.key_size, inner.value_size, inner.max_entries, inner.flags)
        });
        let sizes = (map.key_size, map.value_size, map.max_entries);
        (map.kind, sizes, map.flags, map.extra, map.read_only, inner)
    };
    one.name == other.name
        && like(one) == like(other)
        && one.initial == other.initial
        && one.slots.is_empty()
        && other.slots.is_empty()
}

/// Returns the name that a map has in its own object, without the prefix for its program.
fn own_name(name: &str) -> &str {
    NAMES.iter().find_map(|part| name.strip_prefix(part)?.strip_prefix(':')).unwrap_or(name)
}

/// Returns the reason why two programs of different kinds cannot be compared. Returns `None` if
/// they are of the same kind.
fn incomparable([first, second]: &[BpfProgram; 2]) -> Option<String> {
    if first.kind != second.kind {
        return Some(format!(
            "the programs are of different types: {} and {}",
            first.section, second.section
        ));
    }
    if first.kfuncs != second.kfuncs {
        return Some(
            "the programs declare different kernel functions, or in another order".to_owned(),
        );
    }
    let fragments = first.accepts_fragments() != second.accepts_fragments();
    let behind = first.runs_on_map_entry() != second.runs_on_map_entry();
    (fragments || behind).then(|| {
        format!(
            "the programs run in different places: section {} and {}",
            first.section, second.section
        )
    })
}

/// Returns the reason why two programs cannot be compared: one of them uses a map of programs or
/// maps whose elements the object lists. Returns `None` if neither program uses such a map.
fn slots(object: &Object, programs: &[BpfProgram]) -> Option<String> {
    let used = programs.iter().flat_map(|program| &program.insns).find_map(|insn| match insn {
        Insn::LoadImm64 { value: Imm64::Map(map), .. } => {
            object.maps.get(*map as usize).filter(|map| !map.slots.is_empty())
        }
        _ => None,
    });
    used.map(|map| {
        let name = own_name(&map.name);
        format!("map {name} holds programs or maps of one object, which are not compared")
    })
}

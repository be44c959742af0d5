//! Programs rewritten for what holds of the packets that arrive at them, and proved to do the same.
//!
//! What cannot be proved is not given out: the program is then rewritten for less, first without the
//! facts that decide no branch, then without any about bytes, and stays as it was in the end.

use crate::equivalence::{EquivalenceError, Proof, prove, prove_guard};
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::{Change, Mode, SpecialiseError, Specialised, specialise};
use slowpath_stop::Stop;
use std::time::Instant;
use thiserror::Error;

/// A program that was rewritten, and what is known about it.
#[derive(Debug)]
pub struct Optimized {
    /// The program, with what was changed and why; `None` if it stays as it was.
    pub specialised: Option<Specialised>,
    /// That it does the same.
    pub proof: Option<Proof>,
    /// Why it stays as it was, or was rewritten for fewer facts than there are; one sentence each.
    pub remarks: Vec<String>,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Why a program is not looked at.
#[derive(Debug, Error)]
pub enum OptimizeError {
    /// It is not rewritten.
    #[error(transparent)]
    Specialise(#[from] SpecialiseError),
    /// It has no meaning that can be analysed, so that nothing is proved.
    #[error(transparent)]
    Equivalence(#[from] EquivalenceError),
}

/// Rewrites a program for packets of which facts hold.
///
/// # Errors
/// See [`OptimizeError`].
pub fn optimize(
    object: &Object,
    program: &BpfProgram,
    facts: &PacketFacts,
    mode: Mode,
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Optimized, OptimizeError> {
    let started = Instant::now();
    let mut remarks = Vec::new();
    let mut tries = vec![facts.clone()];
    let mut found = None;
    while let Some(facts) = tries.pop() {
        // What comes then is to have time as well.
        let within = stop.within(stop.left().map(|left| left / 2));
        let made = specialise(object, program, &facts, mode, &within)?;
        // Checking costs more than it saves, where less is left out than is checked.
        let left = made.guard.as_ref().map_or(made.program.insns.len(), |guard| guard.original);
        if left >= program.insns.len() {
            remarks.push("there is nothing to leave out".to_owned());
            break;
        }
        let proof = match &made.guard {
            Some(guard) => prove_guard(object, program, (&made.program, guard), options, &within)?,
            None => {
                prove(object, program, &made.program, &arriving(&facts, mode), options, &within)?
            }
        };
        if proof.proved {
            found = Some((made, proof));
            break;
        }
        let why = match (&proof.counterexample, proof.undecided.first()) {
            (Some(example), _) => format!("it would do something else: {}", example.what),
            (None, Some(why)) => why.clone(),
            (None, None) => "not all of it is proved".to_owned(),
        };
        let fewer = fewer(&facts, &made).filter(|_| stop.reason().is_none());
        let rest = match &fewer {
            Some(_) => "it is rewritten for fewer facts",
            None => "it stays as it was",
        };
        remarks.push(format!("not proved ({why}): {rest}"));
        tries.extend(fewer);
    }
    let (specialised, proof) = found.unzip();
    Ok(Optimized { specialised, proof, remarks, seconds: started.elapsed().as_secs_f64() })
}

/// The packets that a program without guard is for.
fn arriving(facts: &PacketFacts, mode: Mode) -> PacketFacts {
    match mode {
        Mode::Trust => facts.clone(),
        Mode::Guard => crate::facts::any_packet(),
    }
}

/// Fewer facts to try: those that decide branches, then only lengths.
fn fewer(facts: &PacketFacts, made: &Specialised) -> Option<PacketFacts> {
    let mut fewer = PacketFacts::lengths(facts.min_length, facts.max_length);
    let decides =
        |change| matches!(change, Change::AlwaysTaken | Change::NeverTaken | Change::Threaded);
    let deciding = made.dropped.iter().filter(|dropped| decides(dropped.change));
    for dropped in deciding {
        for &offset in &dropped.bytes {
            fewer.bits.extend(facts.bits.get(&offset).map(|&bits| (offset, bits)));
        }
        for &field in &dropped.fields {
            let values = facts.values.get(&field);
            fewer.values.extend(values.map(|values| (field, values.clone())));
        }
    }
    let count = |facts: &PacketFacts| (facts.bits.len(), facts.values.len());
    if count(&fewer) == count(facts) {
        fewer.bits.clear();
        fewer.values.clear();
    }
    (count(&fewer) != count(facts)).then_some(fewer)
}

//! Rewrites programs for facts about arriving packets, and proves that the rewritten programs do
//! the same as the original ones.
//!
//! A rewritten program without a proof is not used. The program is then rewritten for fewer facts:
//! first only for those that decide branches, then only for packet lengths. If there is still no
//! proof, the program stays unchanged. It also stays unchanged if its guard costs more than it
//! saves (`guard_profitability`).

use crate::equivalence::{EquivalenceError, Proof, prove_guard_with_origins, prove_with_origins};
use crate::frozen::FrozenMaps;
use crate::guard_profitability::{Subject, Verdict, assess_guard, obvious};
use slowpath_bpf::insn::{Imm64, Insn};
use slowpath_bpf::lift::{LiftOptions, Receive};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_codes as codes;
use slowpath_ir::PacketFacts;
use slowpath_specialise::{Change, Facts, Mode, SpecialiseError, Specialised, specialise_for};
use slowpath_stop::Stop;
use std::time::Instant;
use thiserror::Error;

/// The result of rewriting a program, with the proof that it does the same as before.
#[derive(Debug)]
pub struct Optimized {
    /// The rewritten program with a list of its changes; `None` if the program stays unchanged.
    pub specialised: Option<Specialised>,
    /// Object with the additional maps of the rewritten program; `None` if it has none.
    pub object: Option<Object>,
    /// Proof that the rewritten program does the same as the original; `None` if no proof was
    /// tried.
    pub proof: Option<Proof>,
    /// Reason why a rewritten program is not proved. `None` if it is proved, or if there is no
    /// rewritten program.
    pub unproved: Option<String>,
    /// Reasons why the program is unchanged or relies on fewer facts than are known, one sentence
    /// each.
    pub remarks: Vec<String>,
    /// Wall-clock time in seconds.
    pub seconds: f64,
}

/// Reason why a program cannot be optimised.
#[derive(Debug, Error)]
pub enum OptimizeError {
    /// The program cannot be rewritten.
    #[error(transparent)]
    Specialise(#[from] SpecialiseError),
    /// The program cannot be lifted, so a proof is not possible.
    #[error(transparent)]
    Equivalence(#[from] EquivalenceError),
}

impl OptimizeError {
    /// Returns the error code of the cause, such as `SP0301`.
    pub fn code(&self) -> codes::Code {
        match self {
            OptimizeError::Specialise(error) => error.code(),
            OptimizeError::Equivalence(error) => error.code(),
        }
    }
}

/// Policy for guards, which check at a program's entry whether the facts about the packet hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// Use all guards that can be proved. Each checks every fact that the program can use.
    All,
    /// Use only guards that pay. They leave out checks that cost more than they save on the slowest
    /// path.
    Profitable,
}

/// Rewrites a program for packets for which the facts hold, and proves the result. In mode
/// [`Mode::Guard`], a guard checks every fact that the program uses.
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
    optimize_for((object, program), (facts, None), (mode, Guards::All), options, stop)
}

/// Rewrites a program like [`optimize`], but also uses known content of maps (`frozen`), and lets
/// the caller choose the policy for guards.
///
/// # Errors
/// See [`OptimizeError`].
pub fn optimize_for(
    (object, program): (&Object, &BpfProgram),
    (facts, frozen): (&PacketFacts, Option<&FrozenMaps>),
    (mode, guards): (Mode, Guards),
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Optimized, OptimizeError> {
    let started = Instant::now();
    let mut remarks = Vec::new();
    let arriving = facts;
    let mut tries = vec![(facts.clone(), frozen)];
    let (mut found, mut used, mut unproved) = (None, None, None);
    while let Some((facts, frozen)) = tries.pop() {
        // Half of the time is left for later steps.
        let within = stop.within(stop.remaining().map(|left| left / 2));
        let object = frozen.map_or(object, |frozen| &frozen.object);
        let known = Facts {
            facts: &facts,
            frozen: frozen.map(|frozen| &frozen.frozen),
            receive: options.receive,
        };
        stop.enter("rewriting");
        let mut made = specialise_for(object, program, known, mode, &within)?;
        let mut options = options.clone();
        // A program that checks its facts may also be loaded where other packets arrive.
        if mode == Mode::Guard {
            options.receive = Receive::ANY;
        }
        if let Some(frozen) = frozen {
            options.contents.extend(frozen.relied_on(&made, mode));
        }
        let options = &options;
        // A guard with more instructions than the rewriting removes costs more than it saves.
        let left = made.guard.as_ref().map_or(made.program.insns.len(), |guard| guard.original);
        let calls_less = calls(&made.program.insns[..left]) < calls(&program.insns);
        if left >= program.insns.len() && !calls_less {
            remarks.push("the facts let the rewriter omit nothing".to_owned());
            break;
        }
        let mut proof = proved((object, program), &made, (&facts, mode), options, &within)?;
        if proof.proved && proof.pairs == 0 {
            remarks.push("no packet satisfies all known facts".to_owned());
            break;
        }
        if proof.proved && left > program.insns.len() {
            let (before, calls) = (program.insns.len(), calls(&program.insns));
            remarks.push(format!(
                "{left} instructions instead of {before}, with fewer than {calls} helper calls; \
                 only a measurement can show a gain"
            ));
        }
        // The cost of calls is not counted in instructions.
        let countable = made.maps.is_empty() || !calls_less;
        if proof.proved && guards == Guards::Profitable && countable {
            let subject = Subject { object, program, known, arriving, options };
            match weighed(subject, (made, proof), &mut remarks, stop)? {
                Some(one) => (made, proof) = one,
                None => break,
            }
        }
        if proof.proved {
            used = frozen
                .filter(|_| !made.maps.is_empty())
                .map(|frozen| without_unused(frozen, &made));
            found = Some((made, proof));
            break;
        }
        let why = match (&proof.counterexample, proof.undecided.first()) {
            (Some(example), _) => {
                format!("the rewritten program would behave differently: {}", example.what)
            }
            (None, Some(why)) => why.clone(),
            (None, None) => "the proof is incomplete".to_owned(),
        };
        let fewer = match frozen.filter(|_| !made.maps.is_empty()) {
            Some(_) => Some((facts, None)),
            None => fewer(&facts, &made).map(|facts| (facts, frozen)),
        };
        let fewer = fewer.filter(|_| stop.reason().is_none());
        let rest = match &fewer {
            Some((_, None)) if frozen.is_some() => {
                "the program is rewritten for any content of \
                 maps"
            }
            Some(_) => "the program is rewritten for fewer facts",
            None => "it stays unchanged",
        };
        remarks.push(format!("not proved ({why}): {rest}"));
        unproved = Some(why);
        tries.extend(fewer);
    }
    let is_open = found.is_none();
    let (specialised, proof) = found.unzip();
    Ok(Optimized {
        specialised,
        object: used,
        proof,
        unproved: unproved.filter(|_| is_open),
        remarks,
        seconds: started.elapsed().as_secs_f64(),
    })
}

/// Tries to prove that a rewritten program does the same as the original. `facts` are the facts for
/// which it was rewritten.
fn proved(
    (object, program): (&Object, &BpfProgram),
    made: &Specialised,
    (facts, mode): (&PacketFacts, Mode),
    options: &LiftOptions,
    stop: &Stop,
) -> Result<Proof, EquivalenceError> {
    stop.enter("proving that it does the same");
    match &made.guard {
        Some(guard) => {
            let guarded = (&made.program, guard, Some(&made.origins[..]));
            prove_guard_with_origins(object, program, guarded, options, stop)
        }
        None => {
            let (like, facts) = ((&made.program, &made.origins[..]), known_of(facts, mode));
            prove_with_origins(object, program, like, &facts, options, stop)
        }
    }
}

/// Decides whether the guard of a proved program saves more than it costs. Returns the program as
/// it is, or a version that was rewritten for fewer facts and proved again. Returns `None` if the
/// guard does not pay, and adds the reason to `remarks`.
fn weighed(
    subject: Subject<'_>,
    (made, proof): (Specialised, Proof),
    remarks: &mut Vec<String>,
    stop: &Stop,
) -> Result<Option<(Specialised, Proof)>, EquivalenceError> {
    if made.guard.as_ref().is_none_or(|guard| obvious(guard, &proof.executed)) {
        return Ok(Some((made, proof)));
    }
    stop.enter("weighing its guard");
    match assess_guard(subject, &made, &proof.executed, stop) {
        Verdict::Pays => Ok(Some((made, proof))),
        Verdict::KeepOriginal(why) => {
            remarks.push(why);
            Ok(None)
        }
        Verdict::FewerFacts { made: fewer, why, pays } => {
            let Subject { object, program, arriving, options, .. } = subject;
            let within = stop.within(stop.remaining().map(|left| left / 2));
            let what = (arriving, Mode::Guard);
            let again = proved((object, program), &fewer, what, options, &within)?;
            if again.proved {
                remarks.extend(why);
                return Ok(Some((*fewer, again)));
            }
            if pays {
                return Ok(Some((made, proof)));
            }
            remarks
                .push("a guard costs more than it saves: the program stays unchanged".to_owned());
            Ok(None)
        }
    }
}

fn calls(insns: &[Insn]) -> usize {
    insns.iter().filter(|insn| matches!(insn, Insn::Call(_))).count()
}

/// Returns the object for a rewritten program. The additional map with the values of frozen maps is
/// left out if the program does not read it.
fn without_unused(frozen: &FrozenMaps, made: &Specialised) -> Object {
    let mut object = frozen.object.clone();
    let reads = |insn: &Insn| match insn {
        Insn::LoadImm64 { value: Imm64::MapValue { map, .. }, .. } => *map == frozen.frozen.values,
        _ => false,
    };
    if !made.program.insns.iter().any(reads) {
        object.maps.truncate(frozen.frozen.values as usize);
    }
    object
}

/// Returns those of the facts that a proof may assume. A program with a guard must be correct for
/// all packets, so its proof may assume only limits of the packet length.
fn known_of(facts: &PacketFacts, mode: Mode) -> PacketFacts {
    match mode {
        Mode::Trust => facts.clone(),
        Mode::Guard => crate::facts::any_packet(),
    }
}

/// Returns a smaller set of facts for another attempt to rewrite a program: after the first attempt
/// only the facts that decide branches, after the second only the packet lengths. Returns `None` if
/// there is nothing more to try.
fn fewer(facts: &PacketFacts, made: &Specialised) -> Option<PacketFacts> {
    let mut fewer = PacketFacts::lengths(facts.min_length, facts.max_length);
    let decides =
        |change| matches!(change, Change::AlwaysTaken | Change::NeverTaken | Change::Threaded);
    let deciding = made.changes.iter().filter(|dropped| decides(dropped.change));
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

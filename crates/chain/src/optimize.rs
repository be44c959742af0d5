//! Programs rewritten for what holds of the packets that arrive at them, and proved to do the same.
//!
//! What cannot be proved is not given out: the program is then rewritten for less, first without the
//! facts that decide no branch, then without any about bytes, and stays as it was in the end. So does
//! one whose guard costs more than it saves (`weighing`).

use crate::equivalence::{EquivalenceError, Proof, prove_guard_like, prove_like};
use crate::frozen::FrozenMaps;
use crate::weighing::{Subject, Verdict, obvious, weigh};
use slowpath_bpf::insn::{Imm64, Insn};
use slowpath_bpf::lift::{LiftOptions, Receive};
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::{Change, Known, Mode, SpecialiseError, Specialised, specialise_for};
use slowpath_stop::Stop;
use std::time::Instant;
use thiserror::Error;

/// A program that was rewritten, and what is known about it.
#[derive(Debug)]
pub struct Optimized {
    /// The program, with what was changed and why; `None` if it stays as it was.
    pub specialised: Option<Specialised>,
    /// The object with the maps that it has besides; `None` if it has none.
    pub object: Option<Object>,
    /// That it does the same.
    pub proof: Option<Proof>,
    /// Why no rewritten program is proved, where one was made.
    pub unproved: Option<String>,
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

/// Which guards are given out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Guards {
    /// All that can be proved: everything that is of use is checked.
    All,
    /// Those that pay: what costs more to check than it saves on the slowest path is not relied on.
    Paying,
}

/// Rewrites a program for packets of which facts hold; a guard checks all that is of use.
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

/// The same for maps whose content is known besides, with those guards that are asked for.
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
        // What comes then is to have time as well.
        let within = stop.within(stop.left().map(|left| left / 2));
        let object = frozen.map_or(object, |frozen| &frozen.object);
        let known = Known {
            facts: &facts,
            frozen: frozen.map(|frozen| &frozen.frozen),
            receive: options.receive,
        };
        stop.enter("rewriting");
        let mut made = specialise_for(object, program, known, mode, &within)?;
        let mut options = options.clone();
        // One that checks what it relies on may be loaded anywhere.
        if mode == Mode::Guard {
            options.receive = Receive::ANY;
        }
        if let Some(frozen) = frozen {
            options.contents.extend(frozen.relied_on(&made, mode));
        }
        let options = &options;
        // Checking costs more than it saves, where less is left out than is checked.
        let left = made.guard.as_ref().map_or(made.program.insns.len(), |guard| guard.original);
        let calls_less = calls(&made.program.insns[..left]) < calls(&program.insns);
        if left >= program.insns.len() && !calls_less {
            remarks.push("there is nothing to leave out".to_owned());
            break;
        }
        let mut proof = proved((object, program), &made, (&facts, mode), options, &within)?;
        if proof.proved && proof.pairs == 0 {
            remarks.push("there is no packet for which all holds that is known".to_owned());
            break;
        }
        if proof.proved && left > program.insns.len() {
            let (before, calls) = (program.insns.len(), calls(&program.insns));
            remarks.push(format!(
                "{left} instructions for {before}, with fewer calls of helpers than {calls}: whether \
                 that is a gain, only a measurement shows"
            ));
        }
        // What calls take is not counted.
        let countable = made.maps.is_empty() || !calls_less;
        if proof.proved && guards == Guards::Paying && countable {
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
            (Some(example), _) => format!("it would do something else: {}", example.what),
            (None, Some(why)) => why.clone(),
            (None, None) => "not all of it is proved".to_owned(),
        };
        let fewer = match frozen.filter(|_| !made.maps.is_empty()) {
            Some(_) => Some((facts, None)),
            None => fewer(&facts, &made).map(|facts| (facts, frozen)),
        };
        let fewer = fewer.filter(|_| stop.reason().is_none());
        let rest = match &fewer {
            Some((_, None)) if frozen.is_some() => "it is rewritten for any content of maps",
            Some(_) => "it is rewritten for fewer facts",
            None => "it stays as it was",
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

/// A rewritten program with what is known of it; `facts` are what it was rewritten for.
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
            prove_guard_like(object, program, guarded, options, stop)
        }
        None => {
            let (like, facts) = ((&made.program, &made.origins[..]), known_of(facts, mode));
            prove_like(object, program, like, &facts, options, stop)
        }
    }
}

/// What becomes of a proved program with a guard, which may cost more than it saves: as it is, or for
/// fewer facts, proved as well; `None` if it does not pay at all, which remarks say then.
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
    match weigh(subject, &made, &proof.executed, stop) {
        Verdict::Pays => Ok(Some((made, proof))),
        Verdict::Leaves(why) => {
            remarks.push(why);
            Ok(None)
        }
        Verdict::Fewer { made: fewer, why, pays } => {
            let Subject { object, program, arriving, options, .. } = subject;
            let within = stop.within(stop.left().map(|left| left / 2));
            let what = (arriving, Mode::Guard);
            let again = proved((object, program), &fewer, what, options, &within)?;
            if again.proved {
                remarks.extend(why);
                return Ok(Some((*fewer, again)));
            }
            if pays {
                return Ok(Some((made, proof)));
            }
            remarks.push("a guard costs more than it saves: it stays as it was".to_owned());
            Ok(None)
        }
    }
}

/// How many calls there are.
fn calls(insns: &[Insn]) -> usize {
    insns.iter().filter(|insn| matches!(insn, Insn::Call(_))).count()
}

/// The object without a map of values that the program does not read.
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

/// The packets that a program without guard is for.
fn known_of(facts: &PacketFacts, mode: Mode) -> PacketFacts {
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

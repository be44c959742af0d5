//! Whether a guard pays: what it checks takes instructions, and what it relies on spares some. Which
//! facts are left to rely on, so that the slowest packet that arrives takes no more for checking them.
//!
//! Counted are the instructions that the slowest packet executes, as `cost` finds them. That is asked
//! only where the proof has not shown already that the guard is well worth it: it goes through all
//! pairs of paths, and what they execute comes with it.

use crate::cost::greatest;
use crate::equivalence::Executed;
use slowpath_bpf::insn::Insn;
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::{Field, PacketFacts};
use slowpath_specialise::{Comparison, Guard, Known, Mode, Specialised, specialise_for};
use slowpath_stop::Stop;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

/// Of the time that is left, so much at most: one of so many parts.
const PART: u32 = 4;
/// Where time is not limited, no more than this.
const TIME: Duration = Duration::from_secs(10);
/// Most facts that are tried without.
const TRIES: usize = 16;

/// What is weighed.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub object: &'a Object,
    pub program: &'a BpfProgram,
    /// What is known; nothing else is checked.
    pub known: Known<'a>,
    /// What holds of packets that arrive.
    pub arriving: &'a PacketFacts,
    pub options: &'a LiftOptions,
}

/// What is to become of a guarded program.
pub(crate) enum Verdict {
    /// It pays.
    Pays,
    /// It is better rewritten like this, which is not proved yet; why, one sentence each. `pays` says
    /// whether it paid as it was, too.
    Fewer { made: Box<Specialised>, why: Vec<String>, pays: bool },
    /// It does not, and why, in a sentence.
    Leaves(String),
}

/// Whether a guard is well worth what it takes, by what pairs of paths execute: no packet takes more
/// than before, and the slowest is spared at least twice what the guard takes.
pub(crate) fn obvious(guard: &Guard, executed: &Executed) -> bool {
    let Executed { before, after, slower } = *executed;
    slower == 0 && before >= after.saturating_add(guard.instructions() as u64)
}

/// Weighs a guard.
pub(crate) fn weigh(
    subject: Subject<'_>,
    made: &Specialised,
    executed: &Executed,
    stop: &Stop,
) -> Verdict {
    let Some(guard) = &made.guard else { return Verdict::Pays };
    let time = stop.left().map_or(TIME, |left| left / PART).min(TIME);
    let weighing = Weighing { subject, stop: &stop.within(Some(time)) };
    let takes = guard.instructions() as u64;
    let before = weighing.executes(subject.program).filter(|cost| cost.1).map(|cost| cost.0);
    let after = weighing.executes(&made.program).map(|cost| cost.0);
    let (Some(before), Some(after)) = (before, after) else {
        // What is known of packets that the guard lets through, more than those that arrive.
        return if executed.after < executed.before {
            Verdict::Pays
        } else {
            let what = format!("a guard would cost {}", instructions(takes));
            Verdict::Leaves(format!("{what}, and is not known to save more: it stays as it was"))
        };
    };
    if before >= after.saturating_add(takes) {
        return Verdict::Pays;
    }
    let saves = (before + takes).saturating_sub(after);
    let pays = after < before;
    let costs = format!("a guard would cost {} and save {saves}", instructions(takes));
    let (fewer, after, why) = weighing.fewer(made, after);
    if let Some((plain, now)) = weighing.without_any(before, after) {
        return if now < before {
            let why = vec![format!("{costs}: it is rewritten without")];
            Verdict::Fewer { made: Box::new(plain), why, pays }
        } else {
            Verdict::Leaves(format!("{costs}: it stays as it was"))
        };
    }
    match fewer {
        Some(made) if after < before => Verdict::Fewer { made: Box::new(made), why, pays },
        _ if pays => Verdict::Pays,
        _ => Verdict::Leaves(format!("{costs}: it stays as it was")),
    }
}

struct Weighing<'a> {
    subject: Subject<'a>,
    stop: &'a Stop,
}

/// What a guard checks, and a program may do without.
enum Unit {
    /// All that is known of bytes, which leaves the length, and maps.
    Bytes,
    Compared(Comparison),
    Values(Field),
}

impl Weighing<'_> {
    /// How many instructions the slowest packet that arrives executes, and whether one does.
    fn executes(&self, program: &BpfProgram) -> Option<(u64, bool)> {
        let Subject { object, arriving, options, .. } = self.subject;
        let cost = greatest((object, program), arriving, options, self.stop).ok()?;
        Some((cost.instructions, cost.exact))
    }

    fn rewritten(&self, facts: &PacketFacts) -> Option<Specialised> {
        let Subject { object, program, known, .. } = self.subject;
        let known = Known { facts, ..known };
        let made = specialise_for(object, program, known, Mode::Guard, self.stop).ok()?;
        self.stop.reason().is_none().then_some(made)
    }

    /// The program rewritten without any facts, if that takes no more than `after`; `before` is what
    /// it takes as it is.
    fn without_any(&self, before: u64, after: u64) -> Option<(Specialised, u64)> {
        let nothing = PacketFacts::lengths(0, u16::MAX);
        let made = self.rewritten(&nothing).filter(|made| made.guard.is_none())?;
        let now = match made.program.insns == self.subject.program.insns {
            true => before,
            false => self.executes(&made.program)?.0.min(before),
        };
        (now <= after).then_some((made, now))
    }

    /// The program rewritten for fewer facts, as long as that takes no more: those first on which
    /// least rests. What it takes then, and which facts are given up, one sentence each.
    fn fewer(&self, made: &Specialised, after: u64) -> (Option<Specialised>, u64, Vec<String>) {
        let mut facts = self.subject.known.facts.clone();
        let (mut best, mut after, mut why): (Option<Specialised>, u64, _) = (None, after, vec![]);
        for unit in units(made) {
            if self.stop.reason().is_some() {
                break;
            }
            let current = best.as_ref().unwrap_or(made);
            let Some(less) = unit.taken_from(&facts) else { continue };
            let Some(candidate) = self.rewritten(&less) else { break };
            let takes = |made: &Specialised| {
                made.guard.as_ref().map_or(0, |guard| guard.instructions() as u64)
            };
            let spared = takes(current).saturating_sub(takes(&candidate));
            let calls_more = calls(&candidate) > calls(current);
            if spared == 0 || calls_more {
                continue;
            }
            let Some((now, _)) = self.executes(&candidate.program) else { break };
            if now > after {
                continue;
            }
            let saved = (spared + now).saturating_sub(after);
            let spared = instructions(spared);
            why.push(format!("{} not relied on: to check costs {spared}, and saves {saved}", unit));
            (facts, after, best) = (less, now, Some(candidate));
        }
        (best, after, why)
    }
}

impl Unit {
    /// The facts without it; `None` if it is none of them any more.
    fn taken_from(&self, facts: &PacketFacts) -> Option<PacketFacts> {
        let mut less = facts.clone();
        match self {
            Unit::Bytes => {
                less.bits.clear();
                less.values.clear();
            }
            Unit::Compared(one) => {
                for (at, _) in one.bits() {
                    less.bits.remove(&at);
                }
            }
            Unit::Values(field) => {
                less.values.remove(field);
            }
        }
        (less != *facts).then_some(less)
    }

    /// How many changes of the program rest on it.
    fn carries(&self, made: &Specialised) -> usize {
        let bytes: BTreeSet<u16> = match self {
            Unit::Compared(one) => one.bits().map(|(at, _)| at).collect(),
            Unit::Bytes | Unit::Values(_) => BTreeSet::new(),
        };
        let rests = |dropped: &&slowpath_specialise::Dropped| match self {
            Unit::Bytes => false,
            Unit::Compared(_) => dropped.bytes.iter().any(|at| bytes.contains(at)),
            Unit::Values(field) => dropped.fields.contains(field),
        };
        made.dropped.iter().filter(rests).count()
    }

    /// How many instructions its check has.
    fn instructions(&self, guard: &Guard) -> usize {
        match self {
            Unit::Bytes => guard.instructions(),
            Unit::Compared(one) => one.instructions(),
            Unit::Values(field) => 1 + guard.values.get(field).map_or(0, BTreeSet::len),
        }
    }
}

impl std::fmt::Display for Unit {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = |first: u16, last: u16| match first == last {
            true => format!("byte {first} is"),
            false => format!("bytes {first}-{last} are"),
        };
        let text = match self {
            Unit::Bytes => "bytes of packets are".to_owned(),
            Unit::Compared(one) => {
                let bytes: Vec<u16> = one.bits().map(|(at, _)| at).collect();
                let first = bytes.first().copied().unwrap_or(one.offset);
                range(first, bytes.last().copied().unwrap_or(first))
            }
            Unit::Values(field) => {
                range(field.offset, field.offset.saturating_add(u16::from(field.bytes)) - 1)
            }
        };
        f.write_str(&text)
    }
}

/// What a guarded program may do without, in the order in which that is tried.
fn units(made: &Specialised) -> Vec<Unit> {
    let Some(guard) = &made.guard else { return Vec::new() };
    let mut units: Vec<Unit> = guard.comparisons.iter().map(|&one| Unit::Compared(one)).collect();
    units.extend(guard.values.keys().map(|&field| Unit::Values(field)));
    units.sort_by_key(|unit| (unit.carries(made), Reverse(unit.instructions(guard))));
    if units.len() > 1 {
        units.truncate(TRIES - 1);
        units.push(Unit::Bytes);
    }
    units
}

/// How many calls there are in front of the original.
fn calls(made: &Specialised) -> usize {
    let all = &made.program.insns;
    let end = made.guard.as_ref().map_or(all.len(), |guard| guard.original);
    all.iter().take(end).filter(|insn| matches!(insn, Insn::Call(_))).count()
}

/// So many instructions, in words.
fn instructions(count: u64) -> String {
    format!("{count} instruction{}", if count == 1 { "" } else { "s" })
}

//! Decides whether a guard pays. A guard checks at entry whether facts about the packet hold. Its
//! checks cost instructions; the facts that it checks save instructions. The slowest arriving
//! packet must not execute more instructions because of the checks. If the guard does not pay, the
//! program is rewritten for fewer facts.
//!
//! The measure is the number of instructions that the slowest packet executes (`cost`). The
//! equivalence proof visits pairs of paths and records how many instructions they execute. The
//! measure is computed only if these records do not already show that the guard pays.

use crate::cost::max_instructions;
use crate::equivalence::InstructionCounts;
use slowpath_bpf::insn::Insn;
use slowpath_bpf::lift::LiftOptions;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::{Field, PacketFacts};
use slowpath_specialise::{Comparison, Facts, Guard, Mode, Specialised, specialise_for};
use slowpath_stop::Stop;
use std::cmp::Reverse;
use std::collections::BTreeSet;
use std::time::Duration;

/// The decision whether a guard costs less than it saves may take the remaining time divided by
/// this number.
const PART: u32 = 4;
/// Maximum time for deciding whether the checks of a guard cost less than they save.
const TIME: Duration = Duration::from_secs(10);
/// Maximum number of checks that are left out of a guard, one at a time, to test whether each of
/// them saves more than it costs.
const TRIES: usize = 16;

/// The program, the facts and the options that are needed to decide whether a guard (checks of
/// packet facts at entry) pays.
#[derive(Clone, Copy)]
pub(crate) struct Subject<'a> {
    pub object: &'a Object,
    pub program: &'a BpfProgram,
    /// Facts about packets that the program's guard can check.
    pub known: Facts<'a>,
    /// Facts that hold for arriving packets.
    pub arriving: &'a PacketFacts,
    pub options: &'a LiftOptions,
}

/// The decision whether to use a rewritten program with its guard.
pub(crate) enum Verdict {
    Pays,
    /// Another rewritten program (`made`) relies on fewer facts and is better, but is not proved
    /// yet. `why` contains the reasons, one sentence each. `pays` is true if the first program with
    /// its guard would also be used.
    FewerFacts {
        made: Box<Specialised>,
        why: Vec<String>,
        pays: bool,
    },
    /// The guard costs more than it saves, so the original program is kept. The text is a sentence
    /// with the reason.
    KeepOriginal(String),
}

/// Returns true if the instruction counts of the proof already show that a guard pays. First, no
/// packet may execute more instructions than before. Second, the slowest packet must save at least
/// twice as many instructions as the guard has.
pub(crate) fn obvious(guard: &Guard, executed: &InstructionCounts) -> bool {
    let InstructionCounts { before, after, slower } = *executed;
    slower == 0 && before >= after.saturating_add(guard.instructions() as u64)
}

pub(crate) fn assess_guard(
    subject: Subject<'_>,
    made: &Specialised,
    executed: &InstructionCounts,
    stop: &Stop,
) -> Verdict {
    let Some(guard) = &made.guard else { return Verdict::Pays };
    let time = stop.remaining().map_or(TIME, |left| left / PART).min(TIME);
    let check = ProfitabilityCheck { subject, stop: &stop.within(Some(time)) };
    let takes = guard.instructions() as u64;
    let before = check.executes(subject.program).filter(|cost| cost.1).map(|cost| cost.0);
    let after = check.executes(&made.program).map(|cost| cost.0);
    let (Some(before), Some(after)) = (before, after) else {
        // The guard lets more packets through than those that arrive; the proof covers all of them.
        return if executed.after < executed.before {
            Verdict::Pays
        } else {
            let what = format!("a guard would cost {}", instructions(takes));
            Verdict::KeepOriginal(format!(
                "{what}, and is not known to save more: the program stays unchanged"
            ))
        };
    };
    if before >= after.saturating_add(takes) {
        return Verdict::Pays;
    }
    let saves = (before + takes).saturating_sub(after);
    let pays = after < before;
    let costs = format!("a guard would cost {} and save {saves}", instructions(takes));
    let (fewer, after, why) = check.fewer(made, after);
    if let Some((plain, now)) = check.without_any(before, after) {
        return if now < before {
            let why = vec![format!("{costs}: the program is rewritten without this guard")];
            Verdict::FewerFacts { made: Box::new(plain), why, pays }
        } else {
            Verdict::KeepOriginal(format!("{costs}: it stays unchanged"))
        };
    }
    match fewer {
        Some(made) if after < before => Verdict::FewerFacts { made: Box::new(made), why, pays },
        _ if pays => Verdict::Pays,
        _ => Verdict::KeepOriginal(format!("{costs}: it stays unchanged")),
    }
}

struct ProfitabilityCheck<'a> {
    subject: Subject<'a>,
    stop: &'a Stop,
}

/// A check that could be left out of a guard, so that the program relies on fewer facts.
enum GuardCheck {
    /// All checks of packet bytes together. Checks of the packet length and of maps stay in the
    /// guard.
    Bytes,
    Compared(Comparison),
    Values(Field),
}

impl ProfitabilityCheck<'_> {
    /// Returns the maximum number of instructions that a program executes for arriving packets, and
    /// whether some packet reaches this number. Returns `None` if no bound is found.
    fn executes(&self, program: &BpfProgram) -> Option<(u64, bool)> {
        let Subject { object, arriving, options, .. } = self.subject;
        let cost = max_instructions((object, program), arriving, options, self.stop).ok()?;
        Some((cost.instructions, cost.exact))
    }

    fn rewritten(&self, facts: &PacketFacts) -> Option<Specialised> {
        let Subject { object, program, known, .. } = self.subject;
        let known = Facts { facts, ..known };
        let made = specialise_for(object, program, known, Mode::Guard, self.stop).ok()?;
        self.stop.reason().is_none().then_some(made)
    }

    /// Rewrites the program without any facts, so that it needs no guard. Returns this version with
    /// its maximum number of executed instructions. Returns `None` if the version executes more
    /// than `after` instructions. The original executes `before` instructions.
    fn without_any(&self, before: u64, after: u64) -> Option<(Specialised, u64)> {
        let nothing = PacketFacts::lengths(0, u16::MAX);
        let made = self.rewritten(&nothing).filter(|made| made.guard.is_none())?;
        let now = match made.program.insns == self.subject.program.insns {
            true => before,
            false => self.executes(&made.program)?.0.min(before),
        };
        (now <= after).then_some((made, now))
    }

    /// Rewrites the program for fewer and fewer facts, as long as this does not make it slower.
    /// Facts on which the fewest changes depend are dropped first. Returns the best program, its
    /// maximum number of executed instructions, and a sentence for each dropped fact. The program
    /// is `None` if no fact can be dropped.
    fn fewer(&self, made: &Specialised, after: u64) -> (Option<Specialised>, u64, Vec<String>) {
        let mut facts = self.subject.known.facts.clone();
        let (mut best, mut after, mut why): (Option<Specialised>, u64, _) = (None, after, vec![]);
        for unit in units(made) {
            if self.stop.reason().is_some() {
                break;
            }
            let current = best.as_ref().unwrap_or(made);
            let Some(less) = unit.facts_without(&facts) else { continue };
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
            why.push(format!("{} not used: its check costs {spared} and saves {saved}", unit));
            (facts, after, best) = (less, now, Some(candidate));
        }
        (best, after, why)
    }
}

impl GuardCheck {
    /// Returns the facts that remain if a guard leaves out this check. Returns `None` if the check
    /// establishes none of `facts`.
    fn facts_without(&self, facts: &PacketFacts) -> Option<PacketFacts> {
        let mut less = facts.clone();
        match self {
            GuardCheck::Bytes => {
                less.bits.clear();
                less.values.clear();
            }
            GuardCheck::Compared(one) => {
                for (at, _) in one.bits() {
                    less.bits.remove(&at);
                }
            }
            GuardCheck::Values(field) => {
                less.values.remove(field);
            }
        }
        (less != *facts).then_some(less)
    }

    /// Returns how many changes of the rewritten program depend on the facts that this check
    /// establishes.
    fn dependent_changes(&self, made: &Specialised) -> usize {
        let bytes: BTreeSet<u16> = match self {
            GuardCheck::Compared(one) => one.bits().map(|(at, _)| at).collect(),
            GuardCheck::Bytes | GuardCheck::Values(_) => BTreeSet::new(),
        };
        let rests = |dropped: &&slowpath_specialise::ChangeRecord| match self {
            GuardCheck::Bytes => false,
            GuardCheck::Compared(_) => dropped.bytes.iter().any(|at| bytes.contains(at)),
            GuardCheck::Values(field) => dropped.fields.contains(field),
        };
        made.changes.iter().filter(rests).count()
    }

    /// Returns the number of instructions of the guard that this check takes.
    fn instructions(&self, guard: &Guard) -> usize {
        match self {
            GuardCheck::Bytes => guard.instructions(),
            GuardCheck::Compared(one) => one.instructions(),
            GuardCheck::Values(field) => 1 + guard.values.get(field).map_or(0, BTreeSet::len),
        }
    }
}

impl std::fmt::Display for GuardCheck {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let range = |first: u16, last: u16| match first == last {
            true => format!("byte {first} is"),
            false => format!("bytes {first}-{last} are"),
        };
        let text = match self {
            GuardCheck::Bytes => "bytes of packets are".to_owned(),
            GuardCheck::Compared(one) => {
                let bytes: Vec<u16> = one.bits().map(|(at, _)| at).collect();
                let first = bytes.first().copied().unwrap_or(one.offset);
                range(first, bytes.last().copied().unwrap_or(first))
            }
            GuardCheck::Values(field) => {
                range(field.offset, field.offset.saturating_add(u16::from(field.bytes)) - 1)
            }
        };
        f.write_str(&text)
    }
}

/// Lists the checks that could be left out of a guard. Checks on which few changes of the program
/// depend come first.
fn units(made: &Specialised) -> Vec<GuardCheck> {
    let Some(guard) = &made.guard else { return Vec::new() };
    let mut units: Vec<GuardCheck> =
        guard.comparisons.iter().map(|&one| GuardCheck::Compared(one)).collect();
    units.extend(guard.values.keys().map(|&field| GuardCheck::Values(field)));
    units.sort_by_key(|unit| (unit.dependent_changes(made), Reverse(unit.instructions(guard))));
    if units.len() > 1 {
        units.truncate(TRIES - 1);
        units.push(GuardCheck::Bytes);
    }
    units
}

/// Returns the number of calls in a rewritten program. Calls in the copy of the original after a
/// guard are not counted.
fn calls(made: &Specialised) -> usize {
    let all = &made.program.insns;
    let end = made.guard.as_ref().map_or(all.len(), |guard| guard.original);
    all.iter().take(end).filter(|insn| matches!(insn, Insn::Call(_))).count()
}

/// Formats a number of instructions for messages.
fn instructions(count: u64) -> String {
    format!("{count} instruction{}", if count == 1 { "" } else { "s" })
}

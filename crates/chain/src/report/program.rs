//! Reports about one program: the facts about its packets, and the changes to its instructions.

use super::words::{explain_all, list, list_around, why_never};
use super::{
    DroppedReport, FactText, FrozenReport, GuardReport, LineReport, LoopReport, ProgramReport,
    ResultReport, line, map_name,
};
use crate::facts::{Fact, Outgoing, Reached, any_packet};
use crate::frozen::{FrozenMaps, Given};
use crate::optimize::Optimized;
use crate::{Chain, Loaded};
use slowpath_bpf::insn::helper_name;
use slowpath_bpf::lift::Receive;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::{
    Change, ChangeRecord, Facts, IterationBounds, KnownResult, Mode, Specialised, specialise_for,
};
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

impl ProgramReport {
    /// Creates the report about one program of a chain, with the facts about its packets. `number`
    /// is the index of the program, and `programs` contains all programs of the chain after
    /// linking.
    pub(crate) fn of(
        (chain, number, programs): (&Chain, usize, &[BpfProgram]),
        loaded: &[Loaded],
        reached: &mut Reached,
        explain: bool,
        stop: &Stop,
    ) -> ProgramReport {
        let name = |member: usize| chain.members[member].name.clone();
        let program = &programs[number];
        let mut report = ProgramReport {
            name: name(number),
            program: loaded[number].object.programs[loaded[number].program].name.clone(),
            reached: reached.facts.is_some(),
            instructions_before: program.insns.len(),
            instructions_after: program.insns.len(),
            ..ProgramReport::default()
        };
        let mut established: BTreeMap<Fact, Vec<LineReport>> = BTreeMap::new();
        for (edge, outgoing) in &mut reached.by_edge {
            let edge = &chain.edges[*edge];
            let from = (name(edge.from), &programs[edge.from]);
            match outgoing {
                Outgoing::Packets(found) => {
                    report.queries += found.work.queries;
                    report.assumptions.extend(found.assumptions.iter().cloned());
                    let early = found.stopped.iter();
                    report.remarks.extend(early.map(|why| {
                        format!(
                            "there may be more facts about packets that {} passes on: {why}",
                            from.0
                        )
                    }));
                    if let (true, Some(facts)) = (explain, &reached.facts) {
                        explain_all(found, facts, &from, stop, &mut established);
                    }
                }
                Outgoing::Nothing(never) => {
                    let on: Vec<&str> = edge.on.iter().map(|action| action.name()).collect();
                    report.never.push(why_never(&name(number), &from, &on.join(", "), never));
                }
            }
        }
        for (edge, why) in &reached.unknown {
            let from = name(chain.edges[*edge].from);
            report.remarks.push(format!("no facts about packets that {from} passes on: {why}"));
        }
        if reached.facts.is_some() {
            report.never.clear();
        }
        report.assumptions.sort();
        report.assumptions.dedup();
        let facts = reached.facts.as_ref();
        report.facts = facts.map_or_else(Vec::new, |facts| list(facts, &established));
        if let Some(environment) = reached.packet_environment.filter(|_| facts.is_some()) {
            let place = report.facts.len().min(1);
            report.facts.splice(place..place, list_around(environment, &established));
        }
        if number == chain.entry {
            let lengths = any_packet();
            let all = FactText::Length { min: lengths.min_length, max: lengths.max_length };
            report.facts.iter_mut().for_each(|one| one.assumed = one.fact != all);
        }
        report
    }

    /// Adds to the report the branches whose outcome follows from the facts about packets. Returns
    /// the program without these branches. Whether it is equivalent to the original is not proved
    /// here.
    pub(crate) fn decided(
        &mut self,
        object: &Object,
        program: &BpfProgram,
        (facts, frozen, receive): (&PacketFacts, Option<&FrozenMaps>, Receive),
        stop: &Stop,
    ) -> Option<Specialised> {
        let object = frozen.map_or(object, |frozen| &frozen.object);
        let known = Facts { facts, frozen: frozen.map(|frozen| &frozen.frozen), receive };
        match specialise_for(object, program, known, Mode::Trust, stop) {
            Ok(mut made) => {
                made.changes.retain(|dropped| {
                    let maps = !dropped.maps.is_empty();
                    let packets = !dropped.bytes.is_empty() || !dropped.fields.is_empty();
                    match dropped.change {
                        // Key comparisons that replace a lookup also decide branches on its
                        // result. These branches are decided only in the rewritten program, so they
                        // are not reported.
                        Change::AlwaysTaken | Change::NeverTaken => {
                            frozen.is_none() || packets || dropped.length || dropped.room || maps
                        }
                        change => matches!(change, Change::Inlined(_)),
                    }
                });
                self.loops = self.loops(program, &made.iterations);
                self.results = self.results(program, &made.results);
                self.dropped = dropped_reports(&self.name, object, program, &made);
                self.uses(object, &made.maps);
                Some(made)
            }
            Err(error) => {
                self.remarks.push(error.to_string());
                None
            }
        }
    }

    /// Adds to the report the maps whose content the user has given, and whether programs can rely
    /// on this content.
    pub(crate) fn given<'a>(&mut self, given: impl Iterator<Item = &'a Given>) {
        for Given { map, entries, why_not } in given {
            match self.frozen.iter_mut().find(|frozen| frozen.map == *map) {
                Some(known) => known.entries = *entries,
                None => self.frozen.push(FrozenReport {
                    map: map.clone(),
                    entries: *entries,
                    used: false,
                    why_not: why_not.clone(),
                }),
            }
        }
        self.frozen.sort_by(|a, b| a.map.cmp(&b.map));
    }

    /// Marks those maps with given content on which the program relies. `maps` contains their
    /// indices in the object.
    fn uses<'a>(&mut self, object: &Object, maps: impl IntoIterator<Item = &'a u32>) {
        let names: BTreeSet<String> =
            maps.into_iter().filter_map(|&map| map_name(object, map)).collect();
        for frozen in &mut self.frozen {
            frozen.used = names.contains(&frozen.map);
        }
    }

    /// Adds to the report the maps whose given content programs cannot rely on. `refused` contains
    /// the maps' indices in the object, each with the reason.
    pub(crate) fn refused<'a>(
        &mut self,
        object: &Object,
        refused: impl Iterator<Item = (&'a u32, &'a String)>,
    ) {
        for (&number, why) in refused {
            let map = map_name(object, number).unwrap_or_default();
            let why_not = Some(why.clone());
            self.frozen.push(FrozenReport { map, entries: 0, used: false, why_not });
        }
    }

    /// Adds the result of rewriting the program to the report: its changes, and whether they are
    /// proved.
    pub(crate) fn optimized(
        &mut self,
        object: &Object,
        program: &BpfProgram,
        done: Optimized,
        written: bool,
    ) {
        self.remarks.extend(done.remarks);
        self.seconds = done.seconds;
        let (Some(made), Some(proof)) = (done.specialised.filter(|_| written), done.proof) else {
            return;
        };
        self.loops = self.loops(program, &made.iterations);
        self.results = self.results(program, &made.results);
        self.dropped = dropped_reports(&self.name, object, program, &made);
        let Specialised { program: rewritten, guard, maps, .. } = made;
        self.instructions_after = rewritten.insns.len();
        self.uses(object, &maps);
        let extended = done.object.as_ref().unwrap_or(object);
        self.guard = guard.as_ref().map(|guard| GuardReport::of(extended, guard));
        self.proved = Some(proof.proved);
        self.proof = Some(proof.into());
    }

    fn results(&self, program: &BpfProgram, returned: &[KnownResult]) -> Vec<ResultReport> {
        let report = |&KnownResult { slot, helper, value }: &KnownResult| ResultReport {
            slot,
            helper: helper_name(helper).unwrap_or_default().to_owned(),
            line: line(&self.name, program, slot),
            returns: value.map(|value| value as i64),
        };
        returned.iter().map(report).collect()
    }

    fn loops(&self, program: &BpfProgram, rounds: &[IterationBounds]) -> Vec<LoopReport> {
        let report = |&IterationBounds { slot, min: least, max: most }: &IterationBounds| {
            let line = line(&self.name, program, slot);
            LoopReport { slot, line, least, most }
        };
        rounds.iter().map(report).collect()
    }
}

/// Reports which instructions of a program were changed. `name` is the name of the program in the
/// chain.
pub(crate) fn dropped_reports(
    name: &str,
    object: &Object,
    program: &BpfProgram,
    made: &Specialised,
) -> Vec<DroppedReport> {
    let report = |dropped: &ChangeRecord| {
        let change = match dropped.change {
            Change::AlwaysTaken => "always taken".to_owned(),
            Change::NeverTaken => "never taken".to_owned(),
            Change::Threaded => "decided by the way there".to_owned(),
            Change::Constant(value) => format!("always {value:#x}"),
            Change::Operand(value) => format!("operand always {value:#x}"),
            Change::NoEffect => "no effect".to_owned(),
            Change::Inlined(1) => "found by 1 comparison".to_owned(),
            Change::Inlined(count) => format!("found by {count} comparisons"),
        };
        let mut bytes: BTreeSet<u16> = dropped.bytes.iter().copied().collect();
        for field in &dropped.fields {
            bytes.extend(field.offset..field.offset + u16::from(field.bytes));
        }
        DroppedReport {
            slot: dropped.slot,
            instruction: program.disassemble(object, dropped.slot),
            line: line(name, program, dropped.slot),
            change,
            bytes: bytes.into_iter().collect(),
            length: dropped.length,
            room: dropped.room,
            maps: dropped.maps.iter().filter_map(|&map| map_name(object, map)).collect(),
        }
    };
    made.changes.iter().map(report).collect()
}

//! Formats facts with the source lines that establish them, and reasons why no packets leave a
//! program.

use super::{FactReport, FactText, LineReport, line};
use crate::Action;
use crate::facts::{Discovery, End, Explanation, Fact, NothingLeaves, is_notable};
use slowpath_bpf::BpfProgram;
use slowpath_bpf::lift::PacketEnvironment;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// Finds the source lines that establish each fact, until `stop` ends the work, and adds them to
/// `established`.
pub(crate) fn explain_all(
    found: &mut Discovery,
    facts: &PacketFacts,
    (name, program): &(String, &BpfProgram),
    stop: &Stop,
    established: &mut BTreeMap<Fact, Vec<LineReport>>,
) {
    for fact in found.list() {
        // Only facts that hold on all paths are left; others need no lines.
        let left = match &fact {
            Fact::Bits(offset) => facts.bits.contains_key(offset),
            Fact::Values(field) => facts.values.contains_key(field),
            Fact::Equal(first, second) => facts.equal.contains(&(*first, *second)),
            Fact::MinLength | Fact::MaxLength | Fact::HeadRoom | Fact::Metadata => true,
        };
        if !left || stop.reason().is_some() {
            continue;
        }
        let Ok(Explanation { branches, stores, .. }) = found.explain(&fact, stop) else { continue };
        let lines = established.entry(fact).or_default();
        for place in branches.iter().chain(&stores) {
            let known = line(name, program, place.insn as usize);
            let known = known.or_else(|| {
                let source = place.source.as_ref()?;
                Some(LineReport {
                    program: name.clone(),
                    file: source.file.clone(),
                    line: source.line,
                    text: String::new(),
                })
            });
            lines.extend(
                known.filter(|known| !lines.contains(known)).into_iter().collect::<Vec<_>>(),
            );
        }
        lines.sort();
    }
}

/// Converts facts about packets to reports. Adjacent bytes that the same source lines establish are
/// reported as one fact.
pub(crate) fn list(
    facts: &PacketFacts,
    established: &BTreeMap<Fact, Vec<LineReport>>,
) -> Vec<FactReport> {
    let PacketFacts { min_length, max_length, bits, values, equal } = facts;
    let lines = |fact: &Fact| established.get(fact).cloned().unwrap_or_default();
    let mut of_length = lines(&Fact::MinLength);
    of_length.extend(lines(&Fact::MaxLength));
    of_length.sort();
    of_length.dedup();
    let length = FactText::Length { min: *min_length, max: *max_length };
    let mut list = vec![FactReport::of(length, of_length)];
    for (&at, bits) in bits {
        let established = lines(&Fact::Bits(at));
        let Some(byte) = bits.constant() else {
            let (mask, value) = (format!("{:02x}", bits.mask), format!("{:02x}", bits.value));
            list.push(FactReport::of(FactText::Bits { offset: at, mask, value }, established));
            continue;
        };
        match list.last_mut() {
            Some(FactReport {
                fact: FactText::Bytes { offset, value },
                established: known,
                ..
            }) if usize::from(*offset) + value.len() / 2 == usize::from(at)
                && at != *min_length
                && *known == established =>
            {
                value.push_str(&format!("{byte:02x}"));
            }
            _ => {
                let value = format!("{byte:02x}");
                list.push(FactReport::of(FactText::Bytes { offset: at, value }, established));
            }
        }
    }
    for (&field, values) in values {
        let width = 2 * usize::from(field.bytes);
        let values = values.iter().map(|value| format!("{value:0width$x}")).collect();
        let fact = FactText::Values { offset: field.offset, bytes: field.bytes, values };
        list.push(FactReport::of(fact, lines(&Fact::Values(field))));
    }
    for &(first, second) in equal {
        let (offset, other, bytes) = (first.offset, second.offset, first.bytes);
        let fact = FactText::Equal { offset, other, bytes };
        list.push(FactReport::of(fact, lines(&Fact::Equal(first, second))));
    }
    list.into_iter().map(|one| one.among(*min_length)).collect()
}

/// Converts the ranges of headroom and metadata of packets to reports. Omits a range if it excludes
/// no packet, or if it is the usual range of packets that no program has processed yet.
pub(super) fn list_around(
    environment: PacketEnvironment,
    established: &BTreeMap<Fact, Vec<LineReport>>,
) -> Vec<FactReport> {
    let lines = |fact: Fact| established.get(&fact).cloned().unwrap_or_default();
    let (head_room, metadata) = is_notable(environment);
    let mut list = Vec::new();
    if head_room {
        let (min, max) = environment.head_room;
        list.push(FactReport::of(FactText::Headroom { min, max }, lines(Fact::HeadRoom)));
    }
    if metadata {
        let (min, max) = environment.metadata;
        list.push(FactReport::of(FactText::Metadata { min, max }, lines(Fact::Metadata)));
    }
    list
}

/// Formats a sentence with the reason why no packet passes from one program to another.
pub(super) fn why_never(
    name: &str,
    (from, program): &(String, &BpfProgram),
    on: &str,
    never: &NothingLeaves,
) -> String {
    let ends = ends(program, never);
    let ends = if ends.is_empty() { String::new() } else { format!(": {}", ends.join(", ")) };
    format!("{name} is never reached: {from} never returns {on}{ends}")
}

/// Describes the branches after which packets do not continue to the next program. Each text names
/// the source line of the branch and the result of the program that it leads to.
pub(crate) fn ends(program: &BpfProgram, never: &NothingLeaves) -> Vec<String> {
    let end = |end: &End| {
        let place = end.branch.as_ref()?;
        let known = line("", program, place.insn as usize);
        let at = known.map(|known| (known.file, known.line));
        let at = at.or_else(|| place.source.as_ref().map(|s| (s.file.clone(), s.line)));
        let (file, line) = at?;
        let file = file.rsplit('/').next().unwrap_or(&file).to_owned();
        let result = end.result.and_then(Action::of).map_or("another result", Action::name);
        Some(format!("{file}:{line} leads to {result}"))
    };
    // Readers see only the line, so several conditions in one line count as one end.
    let mut ends = Vec::new();
    for end in never.ends.iter().filter_map(end) {
        if !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}

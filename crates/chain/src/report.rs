//! What is reported about a chain and its programs: documents, which others display.

use crate::equivalence::Proof;
use crate::facts::{Discovery, End, Established, Fact, Leaving, Never, Reached, any_packet};
use crate::frozen::{FrozenMaps, Given};
use crate::optimize::Optimized;
use crate::{Action, Chain, Loaded};
use serde::{Deserialize, Serialize};
use slowpath_bpf::insn::helper_name;
use slowpath_bpf::lift::{PacketRoom, Surroundings};
use slowpath_bpf::{BpfProgram, LineInfo, Object};
use slowpath_ir::PacketFacts;
use slowpath_specialise::{
    Change, Comparison, Dropped, Guard, Known, Mode, Returned, Rounds, Specialised, specialise_for,
};
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// About a chain.
#[derive(Debug, Default, Serialize)]
pub struct ChainReport {
    /// Wall-clock time of all in seconds.
    pub seconds: f64,
    /// Why it ended early, if it did.
    pub stopped: Option<String>,
    /// In the order of the chain's description.
    pub programs: Vec<ProgramReport>,
    /// The programs as one; null where that is not asked for, or not possible.
    pub fused: Option<FusedReport>,
    /// Why the programs are not one, if that is asked for.
    pub not_fused: Option<String>,
}

/// About the programs of a chain as one.
#[derive(Debug, Default, Serialize)]
pub struct FusedReport {
    /// How many instructions the programs have as they were written, in 8-byte slots.
    pub instructions_before: usize,
    /// How many those have that were fused: rewritten, as far as they were.
    pub instructions_rewritten: usize,
    /// How many the fused program has.
    pub instructions_fused: usize,
    /// How many it has when what is there twice is left out.
    pub instructions_after: usize,
    /// Whether it is proved that it does then what it did as it was fused; null if nothing was left
    /// out.
    pub proved: Option<bool>,
    /// How much work that was; null if nothing was left out.
    pub proof: Option<ProofReport>,
    /// What else there is to say, one sentence each.
    pub remarks: Vec<String>,
    /// Wall-clock time for all of it, in seconds.
    pub seconds: f64,
}

/// About a program of a chain.
#[derive(Debug, Default, Serialize)]
pub struct ProgramReport {
    /// Its name in the chain.
    pub name: String,
    /// Its name in its object.
    pub program: String,
    /// Whether any packet gets to it.
    pub reached: bool,
    /// If none does, why: one sentence for each program before it.
    pub never: Vec<String>,
    /// What holds of every packet that arrives.
    pub facts: Vec<FactReport>,
    /// The maps of programs in front that they are found with the content of, each as `PROGRAM:MAP`;
    /// none where they hold for any content.
    pub facts_with: Vec<String>,
    /// Conditions that this depends on, one sentence each.
    pub assumptions: Vec<String>,
    /// Questions to the solver, for the facts.
    pub queries: u64,
    /// How many instructions it has, in 8-byte slots.
    pub instructions_before: usize,
    /// How many it has when rewritten; as before if it is not.
    pub instructions_after: usize,
    /// The maps whose content was given.
    pub frozen: Vec<FrozenReport>,
    /// What it checks itself before it relies on it; null if it does not.
    pub guard: Option<GuardReport>,
    /// Whether it is proved that the rewritten program does the same; null if there is none.
    pub proved: Option<bool>,
    /// How much work the proof was; null if there is none.
    pub proof: Option<ProofReport>,
    /// What became of instructions, and for which facts.
    pub dropped: Vec<DroppedReport>,
    /// The loops of which it is known how many rounds they have, if the facts hold.
    pub loops: Vec<LoopReport>,
    /// The calls of helpers of which it is known what they return, if the facts hold.
    pub results: Vec<ResultReport>,
    /// What else there is to say, one sentence each: why it stays as it was, which facts were not used.
    pub remarks: Vec<String>,
    /// Wall-clock time for rewriting and proof, in seconds.
    pub seconds: f64,
}

/// What holds of packets.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct FactReport {
    /// What it is about.
    #[serde(flatten)]
    pub fact: FactText,
    /// The lines that establish it.
    pub established: Vec<LineReport>,
    /// Whether nothing does, and it is taken for granted of packets that arrive at the first program.
    pub assumed: bool,
}

impl FactReport {
    fn of(fact: FactText, established: Vec<LineReport>) -> FactReport {
        FactReport { fact, established, assumed: false }
    }
}

/// What a fact says.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "lowercase")]
pub enum FactText {
    /// The length is between these, in bytes.
    Length {
        /// The least.
        min: u16,
        /// The greatest.
        max: u16,
    },
    /// How much room there is in front is between these, in bytes.
    Headroom {
        /// The least.
        min: u16,
        /// The greatest.
        max: u16,
    },
    /// How long the metadata in front is is between these, in bytes.
    Metadata {
        /// The least.
        min: u16,
        /// The greatest.
        max: u16,
    },
    /// Bytes are always the same.
    Bytes {
        /// Where they begin.
        offset: u16,
        /// In hexadecimal.
        value: String,
    },
    /// Some bits of a byte are always the same.
    Bits {
        /// Where it is.
        offset: u16,
        /// Which bits, in hexadecimal.
        mask: String,
        /// What they are, in hexadecimal.
        value: String,
    },
    /// A field has one of a few values.
    Values {
        /// Where it begins.
        offset: u16,
        /// How many bytes it has.
        bytes: u8,
        /// In hexadecimal, network byte order.
        values: Vec<String>,
    },
    /// Two fields are equal.
    Equal {
        /// Where the first one begins.
        offset: u16,
        /// Where the second one begins.
        other: u16,
        /// How many bytes each has.
        bytes: u8,
    },
}

/// A line of a program's source.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize, Deserialize)]
pub struct LineReport {
    /// The program's name in the chain.
    pub program: String,
    /// The file.
    pub file: String,
    /// From 1.
    pub line: u32,
    /// The line's text; empty if it is not known.
    pub text: String,
}

/// What a program checks itself.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct GuardReport {
    /// The least length of packets, in bytes.
    pub length: u16,
    /// How many comparisons of bytes there are.
    pub comparisons: usize,
    /// How many bytes they compare.
    pub bytes: usize,
    /// The name of the map whose content has to be zero; null if nothing of maps is relied on.
    pub generation: Option<String>,
    /// How many instructions there are without the original, in 8-byte slots.
    pub instructions: usize,
}

impl GuardReport {
    pub(crate) fn of(object: &Object, guard: &Guard) -> GuardReport {
        GuardReport {
            generation: guard.generation.and_then(|map| map_name(object, map)),
            length: guard.length,
            comparisons: guard.comparisons.len()
                + guard.values.values().map(BTreeSet::len).sum::<usize>(),
            bytes: guard.comparisons.iter().map(Comparison::compared).sum::<usize>()
                + guard.values.keys().map(|field| usize::from(field.bytes)).sum::<usize>(),
            instructions: guard.original,
        }
    }
}

/// A map whose content was given.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FrozenReport {
    /// Its name in the program's object.
    pub map: String,
    /// How many entries were given.
    pub entries: usize,
    /// Whether the rewritten program relies on it.
    pub used: bool,
    /// Why it is not frozen; null if it is.
    pub why_not: Option<String>,
}

/// How much work a proof was.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ProofReport {
    /// Paths of the original that were proved.
    pub paths: u64,
    /// Pairs of paths that were compared.
    pub pairs: u64,
    /// Questions to the solver.
    pub queries: u64,
    /// Wall-clock time in seconds.
    pub seconds: f64,
    /// What it relies on, one sentence each.
    pub assumptions: Vec<String>,
}

impl From<Proof> for ProofReport {
    fn from(proof: Proof) -> ProofReport {
        let Proof { paths, pairs, queries, seconds, assumptions, .. } = proof;
        ProofReport { paths, pairs, queries, seconds, assumptions }
    }
}

/// What became of an instruction.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DroppedReport {
    /// Its slot in the original program.
    pub slot: usize,
    /// The instruction.
    pub instruction: String,
    /// Its source line, if known.
    pub line: Option<LineReport>,
    /// `always taken`, `never taken`, `decided by the way there`, `always 0x..`, `operand always
    /// 0x..`, `no effect`, `found by N comparisons`.
    pub change: String,
    /// Offsets of the bytes of the packet that are the reason, ascending: of their known bits, or of
    /// the few values that a field has.
    pub bytes: Vec<u16>,
    /// Whether the packet's length is part of the reason.
    pub length: bool,
    /// Whether what lies around the packet is part of the reason: room and metadata.
    pub room: bool,
    /// Names of the maps whose content is part of the reason.
    pub maps: Vec<String>,
}

/// How many rounds a loop has, whenever control gets there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct LoopReport {
    /// The slot of its first instruction in the original program.
    pub slot: usize,
    /// The source line of that, if known.
    pub line: Option<LineReport>,
    /// How often control gets to that instruction at least.
    pub least: usize,
    /// How often at most.
    pub most: usize,
}

/// What a call of a helper returns, whenever control gets there.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ResultReport {
    /// The slot of the call in the original program.
    pub slot: usize,
    /// The name of the helper.
    pub helper: String,
    /// The source line, if known.
    pub line: Option<LineReport>,
    /// What it returns; null if that is the address of an entry of a map.
    pub returns: Option<i64>,
}

/// The source line of a slot of a program, which the chain calls so.
pub(crate) fn line(name: &str, program: &BpfProgram, slot: usize) -> Option<LineReport> {
    let LineInfo { file, line, text, .. } = program.lines.get(slot)?.as_ref()?;
    Some(LineReport {
        program: name.to_owned(),
        file: file.to_string(),
        line: *line,
        text: text.trim().to_owned(),
    })
}

impl ProgramReport {
    /// What is known of the packets that arrive at a program: of a chain, the program with this
    /// number; all of them linked.
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
        for (edge, leaving) in &mut reached.over {
            let edge = &chain.edges[*edge];
            let from = (name(edge.from), &programs[edge.from]);
            match leaving {
                Leaving::Packets(found) => {
                    report.queries += found.work.queries;
                    report.assumptions.extend(found.assumptions.iter().cloned());
                    let early = found.stopped.iter();
                    report.remarks.extend(early.map(|why| {
                        format!("there may be more facts about what {} lets through: {why}", from.0)
                    }));
                    if let (true, Some(facts)) = (explain, &reached.facts) {
                        explain_all(found, facts, &from, stop, &mut established);
                    }
                }
                Leaving::Never(never) => {
                    let on: Vec<&str> = edge.on.iter().map(|action| action.name()).collect();
                    report.never.push(why_never(&name(number), &from, &on.join(", "), never));
                }
            }
        }
        for (edge, why) in &reached.unknown {
            let from = name(chain.edges[*edge].from);
            report.remarks.push(format!("nothing is known of what {from} lets through: {why}"));
        }
        if reached.facts.is_some() {
            report.never.clear();
        }
        report.assumptions.sort();
        report.assumptions.dedup();
        let facts = reached.facts.as_ref();
        report.facts = facts.map_or_else(Vec::new, |facts| list(facts, &established));
        if let Some(around) = reached.surroundings.filter(|_| facts.is_some()) {
            let place = report.facts.len().min(1);
            report.facts.splice(place..place, list_around(around, &established));
        }
        if number == chain.entry {
            let lengths = any_packet();
            let all = FactText::Length { min: lengths.min_length, max: lengths.max_length };
            report.facts.iter_mut().for_each(|one| one.assumed = one.fact != all);
        }
        report
    }

    /// The branches that facts decide, and the program without them; nothing is proved.
    pub(crate) fn decided(
        &mut self,
        object: &Object,
        program: &BpfProgram,
        (facts, frozen, around): (&PacketFacts, Option<&FrozenMaps>, Option<Surroundings>),
        stop: &Stop,
    ) -> Option<Specialised> {
        let object = frozen.map_or(object, |frozen| &frozen.object);
        let known = Known::received(facts);
        let surroundings = around.unwrap_or(known.surroundings);
        let known = Known { frozen: frozen.map(|frozen| &frozen.frozen), surroundings, ..known };
        match specialise_for(object, program, known, Mode::Trust, stop) {
            Ok(mut made) => {
                made.dropped.retain(|dropped| {
                    let maps = !dropped.maps.is_empty();
                    let packets = !dropped.bytes.is_empty() || !dropped.fields.is_empty();
                    match dropped.change {
                        // Behind a look-up that became comparisons, a branch on what it found is
                        // decided for no other reason, and not in the program as it is.
                        Change::AlwaysTaken | Change::NeverTaken => {
                            frozen.is_none() || packets || dropped.length || dropped.room || maps
                        }
                        change => matches!(change, Change::Inlined(_)),
                    }
                });
                self.loops = self.loops(program, &made.rounds);
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

    /// The maps whose content was given.
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

    /// Notes which of the maps whose content was given are relied on, by their numbers.
    fn uses<'a>(&mut self, object: &Object, maps: impl IntoIterator<Item = &'a u32>) {
        let names: BTreeSet<String> =
            maps.into_iter().filter_map(|&map| map_name(object, map)).collect();
        for frozen in &mut self.frozen {
            frozen.used = names.contains(&frozen.map);
        }
    }

    /// Maps that cannot be frozen, by their numbers, and why.
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

    /// What was rewritten and proved.
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
        self.loops = self.loops(program, &made.rounds);
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

    fn results(&self, program: &BpfProgram, returned: &[Returned]) -> Vec<ResultReport> {
        let report = |&Returned { slot, helper, value }: &Returned| ResultReport {
            slot,
            helper: helper_name(helper).unwrap_or_default().to_owned(),
            line: line(&self.name, program, slot),
            returns: value.map(|value| value as i64),
        };
        returned.iter().map(report).collect()
    }

    fn loops(&self, program: &BpfProgram, rounds: &[Rounds]) -> Vec<LoopReport> {
        let report = |&Rounds { slot, least, most }: &Rounds| {
            let line = line(&self.name, program, slot);
            LoopReport { slot, line, least, most }
        };
        rounds.iter().map(report).collect()
    }
}

/// What became of the instructions of a program, which the chain calls so.
pub(crate) fn dropped_reports(
    name: &str,
    object: &Object,
    program: &BpfProgram,
    made: &Specialised,
) -> Vec<DroppedReport> {
    let report = |dropped: &Dropped| {
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
    made.dropped.iter().map(report).collect()
}

/// The name of a map.
fn map_name(object: &Object, number: u32) -> Option<String> {
    object.maps.get(number as usize).map(|map| map.name.clone())
}

/// The lines that establish each fact, as far as there is time to ask.
pub(crate) fn explain_all(
    found: &mut Discovery,
    facts: &PacketFacts,
    (name, program): &(String, &BpfProgram),
    stop: &Stop,
    established: &mut BTreeMap<Fact, Vec<LineReport>>,
) {
    for fact in found.list() {
        // What other ways do not establish is no fact any more.
        let left = match &fact {
            Fact::Bits(offset) => facts.bits.contains_key(offset),
            Fact::Values(field) => facts.values.contains_key(field),
            Fact::Equal(first, second) => facts.equal.contains(&(*first, *second)),
            Fact::MinLength | Fact::MaxLength | Fact::HeadRoom | Fact::Metadata => true,
        };
        if !left || stop.reason().is_some() {
            continue;
        }
        let Ok(Established { branches, stores, .. }) = found.explain(&fact, stop) else { continue };
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

/// Facts in words, bytes that lie together and are established by the same lines as one.
pub(crate) fn list(
    facts: &PacketFacts,
    established: &BTreeMap<Fact, Vec<LineReport>>,
) -> Vec<FactReport> {
    let lines = |fact: &Fact| established.get(fact).cloned().unwrap_or_default();
    let mut of_length = lines(&Fact::MinLength);
    of_length.extend(lines(&Fact::MaxLength));
    of_length.sort();
    of_length.dedup();
    let length = FactText::Length { min: facts.min_length, max: facts.max_length };
    let mut list = vec![FactReport::of(length, of_length)];
    for (&at, bits) in &facts.bits {
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
    for (&field, values) in &facts.values {
        let width = 2 * usize::from(field.bytes);
        let values = values.iter().map(|value| format!("{value:0width$x}")).collect();
        let fact = FactText::Values { offset: field.offset, bytes: field.bytes, values };
        list.push(FactReport::of(fact, lines(&Fact::Values(field))));
    }
    for &(first, second) in &facts.equal {
        let (offset, other, bytes) = (first.offset, second.offset, first.bytes);
        let fact = FactText::Equal { offset, other, bytes };
        list.push(FactReport::of(fact, lines(&Fact::Equal(first, second))));
    }
    list
}

/// What lies around packets, where that is neither anything nor what packets have that were just
/// received.
fn list_around(
    around: Surroundings,
    established: &BTreeMap<Fact, Vec<LineReport>>,
) -> Vec<FactReport> {
    let lines = |fact: Fact| established.get(&fact).cloned().unwrap_or_default();
    let (any, received) = (Surroundings::ANY, PacketRoom::KERNEL.received());
    let mut list = Vec::new();
    if ![any.head_room, received.head_room].contains(&around.head_room) {
        let (min, max) = around.head_room;
        list.push(FactReport::of(FactText::Headroom { min, max }, lines(Fact::HeadRoom)));
    }
    if ![any.metadata, received.metadata].contains(&around.metadata) {
        let (min, max) = around.metadata;
        list.push(FactReport::of(FactText::Metadata { min, max }, lines(Fact::Metadata)));
    }
    list
}

/// Why no packet gets to a program from another one, in a sentence.
fn why_never(
    name: &str,
    (from, program): &(String, &BpfProgram),
    on: &str,
    never: &Never,
) -> String {
    let ends = ends(program, never);
    let ends = if ends.is_empty() { String::new() } else { format!(": {}", ends.join(", ")) };
    format!("{name} is never reached: {from} returns {on} for no packet{ends}")
}

/// What becomes of packets that do not go on, and where that is decided, each in a few words.
pub(crate) fn ends(program: &BpfProgram, never: &Never) -> Vec<String> {
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
    // A line with several conditions is one for who reads it.
    let mut ends = Vec::new();
    for end in never.ends.iter().filter_map(end) {
        if !ends.contains(&end) {
            ends.push(end);
        }
    }
    ends
}

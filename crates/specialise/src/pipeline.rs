//! The passes in order, again and again until none finds anything more.

use crate::analysis::{Analysis, FOLLOWED, Reason, Setting};
use crate::error::SpecialiseError;
use crate::fault::{self, Fault};
use crate::frozen::Frozen;
use crate::graph::{Graph, Op};
use crate::guard::{self, Comparison, comparisons, guarded};
use crate::passes::{
    Change, Log, collapse_loops, fold_branches, inline_lookups, merge_bounds_checks,
    remove_dead_code, simplify_jumps, simplify_operands, simplify_values, thread_jumps,
};
use crate::results::{Returned, returned};
use crate::rounds::{Rounds, note_single_rounds, noted};
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::{Receive, Surroundings};
use slowpath_bpf::{BpfProgram, MapDef, Object};
use slowpath_ir::{Field, PacketFacts};
use slowpath_stop::{Reason as StopReason, Stop};
use std::collections::{BTreeMap, BTreeSet};

/// Most rounds of passes. Each but the last makes the program simpler, so that more are not needed
/// but for very large programs.
const ROUNDS: usize = 64;

/// Whether facts are taken for granted.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// They are: for packets that they do not hold of, the program does anything.
    Trust,
    /// The program checks those that it relies on, and runs as it was written where they do not hold.
    Guard,
}

/// A program that was rewritten.
#[derive(Clone, Debug)]
pub struct Specialised {
    /// The program.
    pub program: BpfProgram,
    /// For each of its slots, the slot of the original program that it stands for.
    pub origins: Vec<usize>,
    /// What was changed for a fact's sake, by the slots of the original program.
    pub dropped: Vec<Dropped>,
    /// The loops of which it is known how many rounds they have, if the facts hold.
    pub rounds: Vec<Rounds>,
    /// The calls of helpers of which it is known what they return, if the facts hold.
    pub results: Vec<Returned>,
    /// Offsets of the bytes whose known bits it relies on, ascending.
    pub bytes: Vec<u16>,
    /// Fields on whose few values it relies, ascending.
    pub fields: Vec<Field>,
    /// Whether it relies on the length of packets.
    pub length: bool,
    /// The numbers of the maps on whose content it relies, ascending.
    pub maps: Vec<u32>,
    /// What it checks itself, if anything.
    pub guard: Option<Guard>,
}

/// What a program checks before it relies on it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// The least length of packets, in bytes.
    pub length: u16,
    /// Their bytes, in the order in which it looks at them.
    pub comparisons: Vec<Comparison>,
    /// Fields that have to have one of a few values, in network byte order.
    pub values: BTreeMap<Field, BTreeSet<u64>>,
    /// The number of the map of one element whose first 8 bytes have to be zero, if any.
    pub generation: Option<u32>,
    /// The slot at which the original program begins, as it was written, for packets that are not
    /// like that.
    pub original: usize,
}

impl Guard {
    /// What is known of the packets that it lets through.
    pub fn facts(&self) -> PacketFacts {
        let mut facts = PacketFacts::lengths(self.length, u16::MAX);
        facts.bits = self.comparisons.iter().flat_map(Comparison::bits).collect();
        facts.values.clone_from(&self.values);
        facts
    }

    /// How many instructions a packet executes in it that it lets through, at most: what follows may
    /// use again what it has loaded.
    pub fn instructions(&self) -> usize {
        guard::instructions(self.generation, self.length, &self.comparisons, &self.values)
    }
}

/// What became of an instruction, and why.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Dropped {
    /// Its slot in the original program.
    pub slot: usize,
    /// What became of it.
    pub change: Change,
    /// Offsets of the bytes of the packet whose known bits are the reason, ascending.
    pub bytes: Vec<u16>,
    /// Fields whose few values are the reason, ascending.
    pub fields: Vec<Field>,
    /// Whether the packet's length is part of the reason.
    pub length: bool,
    /// Whether what lies around the packet is part of the reason.
    pub room: bool,
    /// The numbers of the maps whose content is part of the reason, ascending.
    pub maps: Vec<u32>,
}

/// Rewrites a program of an object for packets of which facts hold. If it is time to stop, with what
/// there is so far.
///
/// # Errors
/// For programs with jumps to where nothing is, and for what could not be resolved.
pub fn specialise(
    object: &Object,
    program: &BpfProgram,
    facts: &PacketFacts,
    mode: Mode,
    stop: &Stop,
) -> Result<Specialised, SpecialiseError> {
    specialise_for(object, program, Known::of(facts), mode, stop)
}

/// What is known of what a program gets.
#[derive(Clone, Copy, Debug)]
pub struct Known<'a> {
    /// Of packets.
    pub facts: &'a PacketFacts,
    /// Of maps.
    pub frozen: Option<&'a Frozen>,
    /// How they arrive, but for their lengths, which nothing in them tells.
    pub receive: Receive,
}

impl<'a> Known<'a> {
    /// Facts about packets, which any device delivers.
    pub fn of(facts: &'a PacketFacts) -> Known<'a> {
        Known { facts, frozen: None, receive: Receive::ANY }
    }
}

/// The same for what is known of maps, too: as long as their content is as it is said to be.
///
/// # Errors
/// As [`specialise`].
pub fn specialise_for<'a>(
    object: &'a Object,
    program: &BpfProgram,
    Known { facts, frozen, mut receive }: Known<'a>,
    mode: Mode,
    stop: &Stop,
) -> Result<Specialised, SpecialiseError> {
    let original = Graph::of(program)?;
    let constant = |map: &'a MapDef| map.constant();
    let constants: Vec<_> = object.maps.iter().map(constant).collect();
    let mut facts = facts.clone();
    if mode == Mode::Guard {
        // Nothing checks it.
        facts.max_length = u16::MAX;
        receive = Receive::ANY;
    }
    // What would have to be checked, and is not, is not known.
    let checkable = |frozen: &&Frozen| mode == Mode::Trust || frozen.generation.is_some();
    let frozen = frozen.filter(checkable);
    if program.runs_behind_a_map() {
        receive = receive.with_around(Surroundings::ANY);
    }
    let setting = Setting {
        facts: &facts,
        constants: constants.clone(),
        frozen,
        receive,
        whole: !program.takes_fragments(),
    };
    let (mut graph, mut log) = rewrite(original.clone(), &setting, stop);
    let mut results = Vec::new();
    if (has_calls(&original) || original.loops(0).is_some_and(|loops| !loops.is_empty()))
        && let Ok(mut analysis) = Analysis::of(&original, &setting, stop)
    {
        note_single_rounds(&original, &mut analysis, &mut log);
        results = returned(&original, &mut analysis);
    }
    let rounds = noted(&original, &graph, &log);
    let reason = log.reason();
    let bytes: Vec<u16> = reason.bytes().filter(|&offset| offset < FOLLOWED).collect();
    let fields = of_reason(&facts, reason);
    let (mut length, mut compared, mut values) = (0, Vec::new(), BTreeMap::new());
    let mut generation = None;
    if mode == Mode::Guard {
        compared = comparisons(&facts, &bytes, &fields);
        values.extend(fields.iter().map(|field| (*field, facts.values[field].clone())));
        let ends = compared.iter().map(Comparison::end);
        let fields = fields.iter().map(|field| field.offset + u16::from(field.bytes));
        let end = ends.chain(fields).max();
        length = end.unwrap_or(0).max(if reason.length { facts.min_length } else { 0 });
        let nothing = PacketFacts::lengths(0, u16::MAX);
        let known = if fault::has(Fault::GuardTrusted) { &facts } else { &nothing };
        let frozen = frozen.filter(|_| reason.maps().next().is_some());
        generation = frozen.and_then(|frozen| frozen.generation);
        let setting = Setting { facts: known, constants, frozen, ..setting };
        let start = match (length, generation) {
            (0, None) => original,
            _ => guarded(&original, generation, length, &compared, &values),
        };
        (graph, _) = rewrite(start, &setting, stop);
        #[cfg(feature = "faults")]
        crate::guard::spoil(&mut graph);
    }
    let emitted = graph.emit(program)?;
    let guard = |original| Guard { length, comparisons: compared, values, generation, original };
    Ok(Specialised {
        program: emitted.program,
        origins: emitted.origins,
        dropped: log.changes.into_iter().map(|(what, why)| dropped(&facts, what, why)).collect(),
        rounds,
        results,
        bytes,
        fields,
        length: reason.length,
        maps: reason.maps().collect(),
        guard: emitted.original.map(guard),
    })
}

fn dropped(facts: &PacketFacts, (slot, change): (usize, Change), why: Reason) -> Dropped {
    Dropped {
        slot,
        change,
        bytes: why.bytes().collect(),
        fields: of_reason(facts, why),
        length: why.length,
        room: why.room,
        maps: why.maps().collect(),
    }
}

/// The fields with few values that something rests on.
fn of_reason(facts: &PacketFacts, reason: Reason) -> Vec<Field> {
    reason.fields().filter_map(|number| facts.values.keys().nth(number).copied()).collect()
}

/// The program after all passes, as far as there was time.
fn rewrite(graph: Graph, setting: &Setting<'_>, stop: &Stop) -> (Graph, Log) {
    let mut best = (graph, Log::default());
    if has_legacy_access(&best.0) {
        return best;
    }
    for _ in 0..ROUNDS {
        let (mut graph, mut log) = best.clone();
        match round(&mut graph, setting, &mut log, stop) {
            Ok(true) => best = (graph, log),
            Ok(false) => break,
            Err(_) => return best,
        }
    }
    best
}

/// Whether it calls helpers.
fn has_calls(graph: &Graph) -> bool {
    let mut insns = graph.blocks.iter().flat_map(|block| &block.insns);
    insns.any(|instr| matches!(instr.op, Op::Insn(Insn::Call(Call::Helper(_)))))
}

/// Instructions of classic BPF read the packet in a way of their own.
fn has_legacy_access(graph: &Graph) -> bool {
    let mut insns = graph.blocks.iter().flat_map(|block| &block.insns);
    insns.any(|instr| matches!(instr.op, Op::Insn(Insn::LoadPacket { .. })))
}

/// One round of all passes; whether anything changed.
fn round(
    graph: &mut Graph,
    setting: &Setting<'_>,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool, StopReason> {
    let mut known = Kept { setting, stop, analysis: None };
    let mut changed = false;
    changed |= known.pass(graph, |graph, analysis| fold_branches(graph, analysis, log))?;
    changed |= known.pass(graph, |graph, analysis| simplify_values(graph, analysis, log))?;
    changed |= known.pass(graph, |graph, analysis| simplify_operands(graph, analysis, log))?;
    changed |= known.pass(graph, remove_dead_code)?;
    changed |= simplify_jumps(graph, stop)?;
    if changed {
        return Ok(true);
    }
    changed |= known.pass(graph, |graph, analysis| thread_jumps(graph, analysis, log))?;
    if !changed {
        changed |= collapse_loops(graph, setting, log, stop)?;
    }
    if !changed {
        let values = setting.frozen.map(|frozen| frozen.values);
        if known.pass(graph, |graph, analysis| inline_lookups(graph, analysis, values, log))? {
            return Ok(true);
        }
        let mut trial = graph.clone();
        if known.pass(&mut trial, merge_bounds_checks)? {
            *graph = trial;
            changed = true;
        }
    }
    Ok(changed)
}

/// What is known of a program, which has to be found out anew whenever a pass has changed it.
struct Kept<'a> {
    setting: &'a Setting<'a>,
    stop: &'a Stop,
    analysis: Option<Analysis<'a>>,
}

impl<'a> Kept<'a> {
    /// Runs a pass; whether it changed anything.
    fn pass(
        &mut self,
        graph: &mut Graph,
        pass: impl FnOnce(&mut Graph, &mut Analysis<'a>) -> bool,
    ) -> Result<bool, StopReason> {
        let mut analysis = match self.analysis.take() {
            Some(analysis) => analysis,
            None => Analysis::of(graph, self.setting, self.stop)?,
        };
        let changed = pass(graph, &mut analysis);
        self.analysis = Some(analysis).filter(|_| !changed);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests;

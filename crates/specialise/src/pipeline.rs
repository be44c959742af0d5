//! Rewrites a program: runs all passes in order, again and again, until no pass changes the
//! program.

use crate::analysis::{Analysis, AnalysisInputs, FOLLOWED, FactSet};
use crate::error::SpecialiseError;
use crate::fault::{self, Fault};
use crate::frozen::Frozen;
use crate::graph::{Graph, Op};
use crate::guard::{self, Comparison, comparisons, guarded};
use crate::iterations::{IterationBounds, iteration_bounds, note_single_rounds};
use crate::passes::{
    Change, Log, collapse_loops, fold_branches, inline_lookups, merge_bounds_checks,
    remove_dead_code, simplify_jumps, simplify_operands, simplify_values, thread_jumps,
};
use crate::results::{KnownResult, known_results};
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::{PacketEnvironment, Receive};
use slowpath_bpf::{BpfProgram, MapDef, Object};
use slowpath_ir::{Field, PacketFacts};
use slowpath_stop::{Reason as StopReason, Stop};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of rounds; each runs all passes. Each round except the last one simplifies the
/// program, so only very large programs need more.
const ROUNDS: usize = 64;

/// Mode of rewriting, which decides whether a program checks the facts on which it relies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// The facts are assumed to hold and not checked. The program may do anything with packets for
    /// which they do not hold.
    Trust,
    /// The program checks the facts on which it relies. If one of them does not hold, the original
    /// code runs.
    Guard,
}

/// A rewritten program, with the changes that were made and the facts on which it relies.
#[derive(Clone, Debug)]
pub struct Specialised {
    /// The rewritten program.
    pub program: BpfProgram,
    /// Slot of the original program that each slot of `program` comes from.
    pub origins: Vec<usize>,
    /// Changes that facts about packets and maps made possible, in the order of the original
    /// program's slots.
    pub changes: Vec<ChangeRecord>,
    /// Known bounds on the number of iterations of loops, for packets for which the facts hold.
    pub iterations: Vec<IterationBounds>,
    /// Helper calls whose results are known for packets for which the facts hold.
    pub results: Vec<KnownResult>,
    /// Offsets of the packet bytes on whose known bits the rewritten program relies, in ascending
    /// order.
    pub bytes: Vec<u16>,
    /// Packet fields on whose possible values the rewritten program relies, in ascending order.
    pub fields: Vec<Field>,
    /// True if the rewritten program relies on facts about the packet length.
    pub length: bool,
    /// Indices in the object of the maps on whose content the rewritten program relies, in
    /// ascending order.
    pub maps: Vec<u32>,
    /// Checks at the entry of the rewritten program; `None` if it has none.
    pub guard: Option<Guard>,
}

/// The checks at the entry of a rewritten program. They check the facts on which the rewritten code
/// relies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Guard {
    /// Minimum length in bytes of packets that pass the checks.
    pub length: u16,
    /// Comparisons of packet bytes, in the order in which they are executed.
    pub comparisons: Vec<Comparison>,
    /// Values that the checks accept in packet fields with few possible values, in network byte
    /// order.
    pub values: BTreeMap<Field, BTreeSet<u64>>,
    /// Index of the map whose only element contains the generation, a number that a control plane
    /// sets before it changes a frozen map. The first 8 bytes of the element must be zero. `None`
    /// if no map is checked.
    pub generation: Option<u32>,
    /// First slot of the unchanged copy of the original program, which runs for packets that fail a
    /// check.
    pub original: usize,
}

impl Guard {
    /// Returns the facts that hold for every packet that passes the guard.
    pub fn facts(&self) -> PacketFacts {
        let mut facts = PacketFacts::lengths(self.length, u16::MAX);
        facts.bits = self.comparisons.iter().flat_map(Comparison::bits).collect();
        facts.values.clone_from(&self.values);
        facts
    }

    /// Returns the maximum number of instructions that the guard executes for a packet that passes
    /// it. Some of them may also serve the code after the guard, which can use values that the
    /// guard has loaded.
    pub fn instructions(&self) -> usize {
        guard::instructions(self.generation, self.length, &self.comparisons, &self.values)
    }
}

/// A change that rewriting made to one instruction, with the facts on which the change relies.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangeRecord {
    /// Slot of the instruction in the original program.
    pub slot: usize,
    /// Kind of the change that was made.
    pub change: Change,
    /// Offsets of the packet bytes on whose known bits the change relies, in ascending order.
    pub bytes: Vec<u16>,
    /// Packet fields on whose possible values the change relies, in ascending order.
    pub fields: Vec<Field>,
    /// True if the change relies on facts about the packet length.
    pub length: bool,
    /// True if the change relies on facts about the buffer space around the packet.
    pub room: bool,
    /// Indices in the object of the maps on whose content the change relies, in ascending order.
    pub maps: Vec<u32>,
}

/// Rewrites a program of an object for packets for which the facts hold. If `stop` ends the work
/// early, returns the best program found so far.
///
/// # Errors
/// If a jump leads to a slot without an instruction, or a symbol is not resolved.
pub fn specialise(
    object: &Object,
    program: &BpfProgram,
    facts: &PacketFacts,
    mode: Mode,
    stop: &Stop,
) -> Result<Specialised, SpecialiseError> {
    specialise_for(object, program, Facts::of(facts), mode, stop)
}

/// Known facts about the packets and maps of a program.
#[derive(Clone, Copy, Debug)]
pub struct Facts<'a> {
    /// Facts that hold for every packet that reaches the program.
    pub facts: &'a PacketFacts,
    /// Maps whose content is known; `None` if no content is known.
    pub frozen: Option<&'a Frozen>,
    /// The way in which the device driver delivers packets, such as the free buffer space around
    /// them; lengths of packets are not part of it. A guard cannot check these facts.
    pub receive: Receive,
}

impl<'a> Facts<'a> {
    /// Creates facts that are only about packets. Maps can have any content, and any device may
    /// deliver the packets.
    pub fn of(facts: &'a PacketFacts) -> Facts<'a> {
        Facts { facts, frozen: None, receive: Receive::ANY }
    }
}

/// Rewrites a program like [`specialise`], but also uses known content of maps. The rewritten
/// program is correct as long as the maps have this content.
///
/// # Errors
/// The same as those of [`specialise`].
pub fn specialise_for<'a>(
    object: &'a Object,
    program: &BpfProgram,
    Facts { facts, frozen, mut receive }: Facts<'a>,
    mode: Mode,
    stop: &Stop,
) -> Result<Specialised, SpecialiseError> {
    let original = Graph::of(program)?;
    let constant = |map: &'a MapDef| map.constant();
    let constants: Vec<_> = object.maps.iter().map(constant).collect();
    let mut facts = facts.clone();
    if mode == Mode::Guard {
        // The guard cannot check the maximum length or the way in which packets were delivered.
        facts.max_length = u16::MAX;
        receive = Receive::ANY;
    }
    // Without a generation, the guard cannot check the content of maps.
    let checkable = |frozen: &&Frozen| mode == Mode::Trust || frozen.generation.is_some();
    let frozen = frozen.filter(checkable);
    if program.runs_on_map_entry() {
        receive = receive.with_packet_environment(PacketEnvironment::ANY);
    }
    let inputs = AnalysisInputs {
        facts: &facts,
        constants: constants.clone(),
        frozen,
        receive,
        contiguous: !program.accepts_fragments(),
    };
    let (mut graph, mut log) = rewrite(original.clone(), &inputs, stop);
    let mut results = Vec::new();
    if (has_calls(&original) || original.loops(0).is_some_and(|loops| !loops.is_empty()))
        && let Ok(mut analysis) = Analysis::of(&original, &inputs, stop)
    {
        note_single_rounds(&original, &mut analysis, &mut log);
        results = known_results(&original, &mut analysis);
    }
    let iterations = iteration_bounds(&original, &graph, &log);
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
        let inputs = AnalysisInputs { facts: known, constants, frozen, ..inputs };
        let start = match (length, generation) {
            (0, None) => original,
            _ => guarded(&original, generation, length, &compared, &values),
        };
        (graph, _) = rewrite(start, &inputs, stop);
        #[cfg(feature = "faults")]
        crate::guard::spoil(&mut graph);
    }
    let emitted = graph.emit(program)?;
    let guard = |original| Guard { length, comparisons: compared, values, generation, original };
    Ok(Specialised {
        program: emitted.program,
        origins: emitted.origins,
        changes: log
            .changes
            .into_iter()
            .map(|(what, why)| change_record(&facts, what, why))
            .collect(),
        iterations,
        results,
        bytes,
        fields,
        length: reason.length,
        maps: reason.maps().collect(),
        guard: emitted.original.map(guard),
    })
}

fn change_record(
    facts: &PacketFacts,
    (slot, change): (usize, Change),
    why: FactSet,
) -> ChangeRecord {
    ChangeRecord {
        slot,
        change,
        bytes: why.bytes().collect(),
        fields: of_reason(facts, why),
        length: why.length,
        room: why.buffer_space,
        maps: why.maps().collect(),
    }
}

/// Returns the packet fields whose possible values are among the facts in `reason`.
fn of_reason(facts: &PacketFacts, reason: FactSet) -> Vec<Field> {
    reason.fields().filter_map(|number| facts.values.keys().nth(number).copied()).collect()
}

/// Repeats rounds of all passes until no pass changes the program. If time runs out, returns the
/// result of the last complete round.
fn rewrite(graph: Graph, inputs: &AnalysisInputs<'_>, stop: &Stop) -> (Graph, Log) {
    let mut best = (graph, Log::default());
    if has_legacy_access(&best.0) {
        return best;
    }
    for _ in 0..ROUNDS {
        let (mut graph, mut log) = best.clone();
        match round(&mut graph, inputs, &mut log, stop) {
            Ok(true) => best = (graph, log),
            Ok(false) => break,
            Err(_) => return best,
        }
    }
    best
}

fn has_calls(graph: &Graph) -> bool {
    let mut insns = graph.blocks.iter().flat_map(|block| &block.insns);
    insns.any(|instr| matches!(instr.op, Op::Insn(Insn::Call(Call::Helper(_)))))
}

/// Returns true if the program contains packet loads of classic BPF (`BPF_ABS` and `BPF_IND`).
fn has_legacy_access(graph: &Graph) -> bool {
    let mut insns = graph.blocks.iter().flat_map(|block| &block.insns);
    insns.any(|instr| matches!(instr.op, Op::Insn(Insn::LoadPacket { .. })))
}

/// Runs one round of passes. Returns true if any of them changed the program.
fn round(
    graph: &mut Graph,
    inputs: &AnalysisInputs<'_>,
    log: &mut Log,
    stop: &Stop,
) -> Result<bool, StopReason> {
    let mut known = CachedAnalysis { inputs, stop, analysis: None };
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
        changed |= collapse_loops(graph, inputs, log, stop)?;
    }
    if !changed {
        let values = inputs.frozen.map(|frozen| frozen.values);
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

/// An analysis of the program that is reused until a pass changes the program.
struct CachedAnalysis<'a> {
    inputs: &'a AnalysisInputs<'a>,
    stop: &'a Stop,
    analysis: Option<Analysis<'a>>,
}

impl<'a> CachedAnalysis<'a> {
    /// Runs a pass with an analysis of the current program. Returns true if the pass changed the
    /// program.
    ///
    /// # Errors
    /// The reason why the pass or the analysis stopped early.
    fn pass(
        &mut self,
        graph: &mut Graph,
        pass: impl FnOnce(&mut Graph, &mut Analysis<'a>) -> bool,
    ) -> Result<bool, StopReason> {
        let mut analysis = match self.analysis.take() {
            Some(analysis) => analysis,
            None => Analysis::of(graph, self.inputs, self.stop)?,
        };
        let changed = pass(graph, &mut analysis);
        self.analysis = Some(analysis).filter(|_| !changed);
        Ok(changed)
    }
}

#[cfg(test)]
mod tests;

//! Serialises the control-flow graphs of programs before and after rewriting, so that a report can
//! draw them.

use crate::report::{DroppedReport, LineReport, dropped_reports, line};
use serde::Serialize;
use slowpath_bpf::insn::Insn;
use slowpath_bpf::{BpfProgram, Object};
use slowpath_specialise::Specialised;
use slowpath_specialise::flow::{Compared, EdgeKind, Fate, FlowBlock, Part, compare};
use std::collections::BTreeMap;

/// Control-flow graphs of a chain's programs.
#[derive(Debug, Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Graphs"))]
pub struct GraphReports {
    /// Graphs of each program before and after rewriting, in the order of the chain's description;
    /// null for unchanged programs.
    pub programs: Vec<Option<PairReport>>,
    /// Graphs of the fused program before and after the optimisation that removes duplicate work;
    /// null if the programs were not fused.
    pub fused: Option<PairReport>,
}

/// Control-flow graphs of a program before and after rewriting.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Pair"))]
pub struct PairReport {
    /// Source lines of the instructions; instructions refer to them by position in this list.
    pub lines: Vec<LineReport>,
    /// Graph of the original program.
    pub before: GraphReport,
    /// Graph of the rewritten program; null if no rewritten program was requested, but only facts.
    pub after: Option<GraphReport>,
    /// Instructions that were changed or removed, with the facts that are the reasons.
    pub dropped: Vec<DroppedReport>,
}

/// Control-flow graph of a program, as basic blocks.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Graph"))]
pub struct GraphReport {
    /// Basic blocks, in the order of their instructions.
    pub blocks: Vec<BlockReport>,
    /// Number of instructions of the program, in 8-byte slots.
    pub slots: usize,
}

/// A basic block of a program's control-flow graph.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Block"))]
pub struct BlockReport {
    /// Number of the block's first 8-byte instruction slot in the program.
    pub first: usize,
    /// Number of 8-byte instruction slots in the block.
    pub slots: usize,
    /// Fate of the block. For the original: `kept`, `changed`, `gone` (no instruction is left), or
    /// `unreached` (no packet gets there). For the rewritten program: `kept`, `changed`, `guard`,
    /// or `original` (all of the original program in one block).
    #[cfg_attr(test, schemars(extend("enum" = [
        "kept", "changed", "gone", "unreached", "guard", "original",
    ])))]
    pub part: &'static str,
    /// Instructions of the block; empty for the block that stands for the whole original program
    /// (`part` is `original`).
    pub instructions: Vec<InstructionReport>,
    /// Edges to the blocks that may run next.
    pub next: Vec<WayReport>,
}

/// An instruction in a basic block.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Instruction"))]
pub struct InstructionReport {
    /// Number of the instruction's first 8-byte slot in the program.
    pub slot: usize,
    /// Instruction in assembly language.
    pub text: String,
    /// Source line of the instruction, as a position in the list of lines; null if it is not known.
    pub line: Option<usize>,
    /// Fate of the instruction: `kept`, `changed` or, in the original program, `gone`; null in a
    /// guard.
    #[cfg_attr(test, schemars(extend("enum" = ["kept", "changed", "gone", null])))]
    pub fate: Option<&'static str>,
    /// Slot of the original instruction that this instruction comes from; null in the original
    /// program, and in a guard.
    pub origin: Option<usize>,
}

/// An edge from one basic block to another.
#[derive(Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Way"))]
pub struct WayReport {
    /// Next block, as a position in the list of blocks.
    pub to: usize,
    /// Condition of the edge: `always`, `taken` (the branch is taken) or `otherwise`.
    #[cfg_attr(test, schemars(extend("enum" = ["always", "taken", "otherwise"])))]
    pub way: &'static str,
    /// True if no packet takes the edge.
    pub never: bool,
}

impl PairReport {
    /// Compares a program with its rewritten version. `name` is the name of the program in the
    /// chain. Returns `None` if a jump leads out of the program.
    pub(crate) fn of(
        name: &str,
        object: &Object,
        program: &BpfProgram,
        made: &Specialised,
    ) -> Option<PairReport> {
        let compared = compare(program, made).ok()?;
        let mut lines = Lines { name, known: BTreeMap::new(), lines: Vec::new() };
        let before = before(object, program, &compared, &mut lines);
        let after = after(object, made, &compared, &mut lines);
        let dropped = dropped_reports(name, object, program, made);
        Some(PairReport { lines: lines.lines, before, after: Some(after), dropped })
    }

    /// Drops the graph of the rewritten program, and keeps that of the original.
    pub(crate) fn before_only(self) -> PairReport {
        PairReport { after: None, ..self }
    }
}

/// A list of source lines without duplicates, to which instructions refer by index.
struct Lines<'a> {
    name: &'a str,
    known: BTreeMap<LineReport, usize>,
    lines: Vec<LineReport>,
}

impl Lines<'_> {
    fn of(&mut self, program: &BpfProgram, slot: usize) -> Option<usize> {
        let line = line(self.name, program, slot)?;
        let next = self.lines.len();
        let place = *self.known.entry(line.clone()).or_insert(next);
        if place == next {
            self.lines.push(line);
        }
        Some(place)
    }
}

fn before(
    object: &Object,
    program: &BpfProgram,
    compared: &Compared,
    lines: &mut Lines<'_>,
) -> GraphReport {
    let block = |(number, block): (usize, &FlowBlock)| {
        let instruction = |slot: usize| InstructionReport {
            slot,
            text: program.disassemble(object, slot),
            line: lines.of(program, slot),
            fate: Some(word(compared.fates[slot])),
            origin: None,
        };
        let way = |(place, &(to, way)): (usize, &(usize, EdgeKind))| WayReport {
            to,
            way: way_word(way),
            never: compared.never.contains(&(number, place)),
        };
        BlockReport {
            first: block.slots.start,
            slots: block.slots.len(),
            part: fate(program, compared, number),
            instructions: whole(program, block).map(instruction).collect(),
            next: block.next.iter().enumerate().map(way).collect(),
        }
    };
    let blocks = compared.before.iter().enumerate().map(block).collect();
    GraphReport { blocks, slots: program.insns.len() }
}

fn after(
    object: &Object,
    made: &Specialised,
    compared: &Compared,
    lines: &mut Lines<'_>,
) -> GraphReport {
    // All blocks of the copied original become one block, at the position of the first.
    let is_original = |&number: &usize| compared.parts[number] == Part::Original;
    let shown = |number: usize| !is_original(&number) || number == 0 || !is_original(&(number - 1));
    let mut places = Vec::with_capacity(compared.after.len());
    let mut count = 0;
    for number in 0..compared.after.len() {
        count += usize::from(shown(number));
        places.push(count - 1);
    }
    let original: usize = (0..compared.after.len())
        .filter(is_original)
        .map(|number| compared.after[number].slots.len())
        .sum();
    let block = |number: usize| {
        let (block, part) = (&compared.after[number], compared.parts[number]);
        let way = |&(to, way): &(usize, EdgeKind)| WayReport {
            to: places[to],
            way: way_word(way),
            never: false,
        };
        let instruction = |slot: usize| InstructionReport {
            slot,
            text: made.program.disassemble(object, slot),
            line: lines.of(&made.program, slot).filter(|_| part == Part::Rewritten),
            fate: (part == Part::Rewritten)
                .then(|| if compared.changed.contains(&slot) { "changed" } else { "kept" }),
            origin: made.origins.get(slot).copied().filter(|_| part == Part::Rewritten),
        };
        let (part, slots, instructions, next) = match part {
            Part::Original => ("original", original, Vec::new(), Vec::new()),
            _ => (
                match part {
                    Part::Guard => "guard",
                    _ if compared.changed.range(block.slots.clone()).next().is_some() => "changed",
                    _ => "kept",
                },
                block.slots.len(),
                whole(&made.program, block).map(instruction).collect(),
                block.next.iter().map(way).collect(),
            ),
        };
        BlockReport { first: block.slots.start, slots, part, instructions, next }
    };
    let blocks = (0..compared.after.len()).filter(|&number| shown(number)).map(block).collect();
    GraphReport { blocks, slots: made.program.insns.len() }
}

/// Lists the first 8-byte slot of each instruction in a basic block. Some instructions have two
/// slots.
fn whole<'a>(program: &'a BpfProgram, block: &FlowBlock) -> impl Iterator<Item = usize> + 'a {
    block.slots.clone().filter(|&slot| program.insns[slot] != Insn::SecondSlot)
}

/// Returns the word that reports use for the fate of a block of the original program. `number` is
/// the index of the block.
fn fate(program: &BpfProgram, compared: &Compared, number: usize) -> &'static str {
    if compared.unreached.contains(&number) {
        return "unreached";
    }
    let slots = || compared.before[number].slots.clone();
    // Jumps depend on the order of blocks, so they do not make a block changed.
    let jump = |&slot: &usize| matches!(program.insns[slot], Insn::Jump { .. });
    let fates = |fate| slots().filter(|slot| !jump(slot)).all(|slot| compared.fates[slot] == fate);
    match (slots().all(|slot| jump(&slot)), fates(Fate::Kept), fates(Fate::Removed)) {
        (true, _, _) | (_, true, _) => "kept",
        (_, _, true) => "gone",
        _ => "changed",
    }
}

fn word(fate: Fate) -> &'static str {
    match fate {
        Fate::Kept => "kept",
        Fate::Changed => "changed",
        Fate::Removed => "gone",
    }
}

fn way_word(way: EdgeKind) -> &'static str {
    match way {
        EdgeKind::Always => "always",
        EdgeKind::Taken => "taken",
        EdgeKind::NotTaken => "otherwise",
    }
}

//! Divides the cost of a path among its instructions and source lines.
//!
//! Prices come from the cost automaton, event by event in the order of the path, so the price of an
//! instruction depends on its position on the path. For example, a branch waits for condition
//! codes, and a memory access waits for the previous one. The instruction that waits is charged for
//! the waiting time. The parts must add up to the path's cost; otherwise an error is returned
//! instead of a result.

use super::costs::costs;
use super::lines;
use super::measure::Measure;
use crate::Error;
use crate::frontend::Lifted;
use crate::result::{
    CodeBlock, CodeInsn, CodeLine, Profile, ProfileInsn, ProfileLine, ProfileProgram,
};
use indexmap::IndexMap;
use slowpath_exec::ArcId;
use slowpath_ir::Destination;
use slowpath_search::Unrolled;
use slowpath_target::{CostModel, CostVector};
use std::collections::{BTreeMap, HashMap};

/// Number of executions of one instruction, or of all instructions of a program, with the total
/// cost of these executions.
#[derive(Clone)]
struct Share {
    runs: u64,
    cost: CostVector,
}

impl Share {
    fn add(&mut self, price: CostVector) {
        self.runs += 1;
        self.cost += price;
    }
}

impl Measure<'_> {
    /// Divides the cost of a path among its instructions and source lines.
    ///
    /// # Errors
    /// If the parts do not add up to `cost`, which is a defect.
    pub fn profile(
        &self,
        lifted: &Lifted,
        unrolled: &Unrolled,
        model: &CostModel,
        path: &[ArcId],
        cost: &CostVector,
    ) -> Result<Profile, Error> {
        let mut shares: BTreeMap<u32, Share> = BTreeMap::new();
        let mut context = model.start();
        let mut sum = model.overhead();
        let mut programs: IndexMap<&str, Share> = IndexMap::new();
        for event in lines::events(unrolled, path) {
            let mut price = model.zero();
            context = model.step(context, event.class.0, &mut price);
            sum += price;
            let new = || Share { runs: 0, cost: model.zero() };
            shares.entry(event.insn.0).or_insert_with(new).add(price);
            if let Some(member) = lifted.member(event.insn.0) {
                programs.entry(member).or_insert_with(new).add(price);
            }
        }
        if sum != *cost {
            return Err(Error::Replay("the costs of its instructions do not add up".into()));
        }
        let mut table = Table { measure: self, lifted, lines: Vec::new(), known: HashMap::new() };
        let mut instructions = Vec::with_capacity(shares.len());
        for (&insn, share) in &shares {
            instructions.push(ProfileInsn {
                instruction: insn,
                text: unrolled.executor.program().insns[insn as usize].text.clone(),
                function: lifted.function(insn).map(str::to_owned),
                line: table.add(insn, share),
                runs: share.runs,
                cost: costs(self.target, &share.cost),
            });
        }
        Ok(Profile {
            cost: costs(self.target, cost),
            overhead: costs(self.target, &model.overhead()),
            programs: programs
                .into_iter()
                .map(|(program, share)| ProfileProgram {
                    program: program.to_owned(),
                    instructions: share.runs,
                    cost: costs(self.target, &share.cost),
                })
                .collect(),
            lines: table.finish(),
            instructions,
        })
    }
}

/// Key of a source line: its function (`None` if not known), file and line number.
type LineKey<'a> = (Option<&'a str>, &'a str, u32);

/// The source lines of a path with their costs, in the order of their first instructions.
struct Table<'a> {
    measure: &'a Measure<'a>,
    lifted: &'a Lifted,
    lines: Vec<(ProfileLine, CostVector)>,
    known: HashMap<LineKey<'a>, usize>,
}

impl Table<'_> {
    /// Adds the cost of an instruction to its source line. Returns the index of the line, or `None`
    /// if the line is not known.
    fn add(&mut self, insn: u32, share: &Share) -> Option<usize> {
        let info = self.lifted.line(insn)?;
        let function = self.lifted.function(insn);
        let index = *self.known.entry((function, &info.file, info.line)).or_insert_with(|| {
            let line = ProfileLine {
                file: info.file.to_string(),
                line: info.line,
                text: info.text.to_string(),
                function: function.map(str::to_owned),
                runs: 0,
                instructions: 0,
                cost: Default::default(),
            };
            self.lines.push((line, CostVector::zero(share.cost.len())));
            self.lines.len() - 1
        });
        let (line, cost) = &mut self.lines[index];
        line.runs = line.runs.max(share.runs);
        line.instructions += share.runs;
        *cost += share.cost;
        Some(index)
    }

    fn finish(self) -> Vec<ProfileLine> {
        let target = self.measure.target;
        let priced = |(line, cost)| ProfileLine { cost: costs(target, &cost), ..line };
        self.lines.into_iter().map(priced).collect()
    }
}

/// Lists all instructions of the program with their source lines, including those that no path
/// executes.
pub(crate) fn code(lifted: &Lifted) -> Vec<CodeInsn> {
    let insns = lifted.program.insns.iter().enumerate();
    let written = insns.filter(|(_, insn)| !insn.text.is_empty());
    let code = written.map(|(number, insn)| CodeInsn {
        instruction: number as u32,
        text: insn.text.clone(),
        source: lifted.line(number as u32).map(|info| CodeLine {
            file: info.file.to_string(),
            line: info.line,
            text: info.text.to_string(),
        }),
    });
    code.collect()
}

/// Lists the basic blocks of the program with their successors. Copies of a block, such as those of
/// an inlined function, are one block here.
pub(crate) fn blocks(lifted: &Lifted) -> Vec<CodeBlock> {
    let program = &lifted.program;
    let mut found: BTreeMap<u32, CodeBlock> = BTreeMap::new();
    for block in &program.blocks {
        let first = block.first.0;
        let known = found.entry(first).or_insert_with(|| CodeBlock {
            first,
            instructions: block.insns.iter().map(|insn| insn.0).collect(),
            next: Vec::new(),
            ends: false,
        });
        for edge in block.terminator.edges() {
            match edge.target {
                Destination::Block(next) => {
                    let next = program.block(next).first.0;
                    if !known.next.contains(&next) {
                        known.next.push(next);
                    }
                }
                Destination::Exit(_) => known.ends = true,
                Destination::Never => {}
            }
        }
    }
    found.into_values().collect()
}

//! A path in stretches, each with the case that ends where it does.
//!
//! What a stretch takes is the difference of two whole runs: of the path up to its end and up to its
//! start. So stretches add up to the path, work is counted where it delays the end, and a stretch
//! whose work the CPU does beside that of others takes nothing. Both runs are of the same code, which
//! asks at each point whether to end there ([`slowpath_kernel::cuts`]); what asking takes, the whole
//! path tells, with and without it.

use std::collections::HashMap;
use std::sync::Arc;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Insn, helper_name};
use slowpath_kernel::timing::{Attachments, Station};
use slowpath_kernel::{Kernel, LoadError, witness};

use crate::case::Case;
use crate::cuts::{accepted, beginnings};
use crate::error::MeasureError;
use crate::points::Way;

/// A path in stretches.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// In order of execution.
    pub stretches: Vec<Stretch>,
    /// Instructions at which it could not be cut, because the kernel does not let the program end
    /// there or because what runs change up to there cannot be taken back.
    pub uncut: Vec<usize>,
}

/// A part of a path.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// The path up to its end; of the last one all of it, with the questions at all points.
    pub case: Arc<Case>,
    /// How many questions the case asks.
    pub questions: usize,
    /// Slot of its first instruction.
    pub from: usize,
    /// Slot of the first instruction behind it; `None`: the end of the program.
    pub to: Option<usize>,
    /// How many instructions it executes.
    pub instructions: usize,
    /// What it calls, if that is one thing: a helper, or a function of the kernel or the program.
    pub call: Option<String>,
    /// Source file, line and its text: of the call, or the line with the most instructions.
    pub source: Option<(String, u32, String)>,
}

impl Case {
    /// Cuts the path into stretches, on the thread of a station.
    ///
    /// # Errors
    /// If it is not known which instructions it takes, or the kernel does not take the program any
    /// more.
    pub fn stretches(
        self: &Arc<Self>,
        station: &Station,
        kernel: &Arc<Kernel>,
    ) -> Result<Stretches, MeasureError> {
        let (case, kernel) = (Arc::clone(self), Arc::clone(kernel));
        let attachments = station.attachments().clone();
        station.perform(move |_| case.stretches_here(&kernel, &attachments))?
    }

    fn stretches_here(
        &self,
        kernel: &Kernel,
        attachments: &Attachments,
    ) -> Result<Stretches, MeasureError> {
        let trace = self.trace.as_deref().ok_or_else(|| MeasureError::NoTrace {
            depends: witness::open(&self.witness).into_iter().collect(),
        })?;
        let program = self.object.link(self.program, None).map_err(LoadError::from)?;
        let wanted = Way::new(&program, trace).points();
        let points = accepted(self, kernel, trace, &wanted)?;
        let cases = beginnings(self, (kernel, attachments), trace, &points)?;
        if cases.last().is_none_or(Option::is_none) {
            let why = "with questions where to end it takes another path".to_owned();
            return Err(MeasureError::NotRepeatable { why });
        }
        let mut stretches = Vec::new();
        let mut start = 0;
        let ends = points.iter().copied().chain([trace.len()]);
        let mut cut = Vec::new();
        for (number, (end, case)) in ends.zip(cases).enumerate() {
            let Some(case) = case else { continue };
            cut.push(end);
            let (call, at) = called(&program, &trace[start..end]);
            let line = program.lines.get(at).and_then(Option::as_ref);
            stretches.push(Stretch {
                case: Arc::new(case),
                questions: (number + 1).min(points.len()),
                from: trace[start],
                to: trace.get(end).copied(),
                instructions: end - start,
                call,
                source: line.map(|line| (line.file.to_string(), line.line, line.text.to_string())),
            });
            start = end;
        }
        let left = wanted.iter().filter(|point| !cut.contains(point));
        Ok(Stretches { uncut: left.map(|&point| trace[point]).collect(), stretches })
    }
}

/// The only call of a stretch that is not made by what it calls; and the slot that it stands for: of
/// the call, or one of the line with the most instructions.
fn called(program: &BpfProgram, slots: &[usize]) -> (Option<String>, usize) {
    let end = program.subprograms.get(1).map_or(program.insns.len(), |function| function.first);
    let calls = slots.iter().filter_map(|&slot| match program.insns.get(slot) {
        Some(Insn::Call(call)) if slot < end => Some((slot, name(program, slot, *call))),
        _ => None,
    });
    let calls: Vec<(usize, Option<String>)> = calls.collect();
    match calls.as_slice() {
        [(slot, name)] => (name.clone(), *slot),
        _ => (None, most(program, slots)),
    }
}

fn most(program: &BpfProgram, slots: &[usize]) -> usize {
    let mut lines: HashMap<(&str, u32), (usize, usize)> = HashMap::new();
    let mut best = (0, slots.first().copied().unwrap_or(0));
    for &slot in slots {
        let Some(Some(line)) = program.lines.get(slot) else { continue };
        let count = lines.entry((&line.file, line.line)).or_insert((0, slot));
        count.0 += 1;
        if count.0 > best.0 {
            best = *count;
        }
    }
    best.1
}

fn name(program: &BpfProgram, slot: usize, call: Call) -> Option<String> {
    match call {
        Call::Helper(number) => helper_name(number).map(str::to_owned),
        Call::Subprogram { .. } => {
            let first = program.insns.get(slot)?.function_target(slot)?;
            program.subprograms.iter().find(|s| s.first == first).map(|s| s.name.clone())
        }
        Call::Kfunc { id, .. } => program.kfuncs.get(usize::try_from(id).ok()?).cloned(),
    }
}

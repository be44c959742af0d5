//! Cuts a path into pieces, called stretches. For each stretch, a case covers the path up to its
//! end.
//!
//! The time of a stretch is the time of a run up to its end, minus the time of a run up to its
//! start. Therefore the times of all stretches add up to the time of the path. Work of the CPU
//! counts in the stretch whose end it delays. Work that overlaps with other stretches costs
//! nothing. Both runs execute the same code, which has a check at each point
//! ([`slowpath_kernel::early_exit`]). The cost of the checks is measured by timing the whole path
//! with and without them.

use std::collections::HashMap;
use std::sync::Arc;

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Insn, helper_name};
use slowpath_kernel::timing::{Attachments, TimingThread};
use slowpath_kernel::{Kernel, LoadError, witness};

use crate::case::Case;
use crate::cuts::{accepted, beginnings};
use crate::error::MeasureError;
use crate::points::CuttablePath;

/// A path that is cut into pieces, called stretches.
#[derive(Clone, Debug)]
pub struct Stretches {
    /// The stretches in execution order.
    pub stretches: Vec<Stretch>,
    /// Indices of instructions before which the path should be cut, but cannot be. Either the
    /// kernel does not let the program end there, or the changes up to this point cannot be undone.
    pub uncut: Vec<usize>,
}

/// A piece of a path. Its cost is the difference of two measured times.
#[derive(Clone, Debug)]
pub struct Stretch {
    /// Case that runs the path up to the end of the stretch; for the last stretch, this is the
    /// whole path. Its runs include the inserted code that decides whether a run ends early.
    pub case: Arc<Case>,
    /// Number of times that a run of `case` executes inserted code that decides whether the run
    /// ends early.
    pub queries: usize,
    /// Index of the first instruction of the stretch.
    pub from: usize,
    /// Index of the first instruction after the stretch; `None` at the end of the program.
    pub to: Option<usize>,
    /// Number of instructions that the stretch executes.
    pub instructions: usize,
    /// Name of the function that the stretch calls, if it contains exactly one call. This is a
    /// helper, a function of the kernel, or a function of the program.
    pub call: Option<String>,
    /// Source file, line number and text of the source line with the call. If the stretch does not
    /// contain exactly one call, this is the line with the most instructions.
    pub source: Option<(String, u32, String)>,
}

impl Case {
    /// Cuts the path into stretches, whose costs can be measured. The work is done on the timing
    /// thread.
    ///
    /// # Errors
    /// If it is unknown which instructions the path executes, or the kernel rejects a program that
    /// it accepted before.
    pub fn stretches(
        self: &Arc<Self>,
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
    ) -> Result<Stretches, MeasureError> {
        let (case, kernel) = (Arc::clone(self), Arc::clone(kernel));
        let attachments = timing_thread.attachments().clone();
        timing_thread.run_job(move |_| case.stretches_on_thread(&kernel, &attachments))?
    }

    fn stretches_on_thread(
        &self,
        kernel: &Kernel,
        attachments: &Attachments,
    ) -> Result<Stretches, MeasureError> {
        let trace = self.trace.as_deref().ok_or_else(|| MeasureError::NoTrace {
            depends: witness::open_dependencies(&self.witness).into_iter().collect(),
        })?;
        let program = self.object.link(self.program, None).map_err(LoadError::from)?;
        let all_points = CuttablePath::new(&program, trace).points();
        let points = accepted(self, kernel, trace, &all_points)?;
        let cases = beginnings(self, (kernel, attachments), trace, &points)?;
        if cases.last().is_none_or(Option::is_none) {
            let reason = "with added checks for the end, the packet takes another path".to_owned();
            return Err(MeasureError::NotRepeatable { reason });
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
                queries: (number + 1).min(points.len()),
                from: trace[start],
                to: trace.get(end).copied(),
                instructions: end - start,
                call,
                source: line.map(|line| (line.file.to_string(), line.line, line.text.to_string())),
            });
            start = end;
        }
        let uncut = all_points.iter().filter(|point| !cut.contains(point));
        Ok(Stretches { uncut: uncut.map(|&point| trace[point]).collect(), stretches })
    }
}

/// Finds the name of the function that the stretch calls, if the main function makes exactly one
/// call in it. Also returns the index of an instruction whose source line describes the stretch:
/// the call, or else an instruction of the line with the most instructions.
fn called(program: &BpfProgram, slots: &[usize]) -> (Option<String>, usize) {
    let end = program.subprograms.get(1).map_or(program.insns.len(), |function| function.first);
    let calls = slots.iter().filter_map(|&slot| match program.insns.get(slot) {
        Some(Insn::Call(call)) if slot < end => Some((slot, name(program, slot, *call))),
        _ => None,
    });
    let calls: Vec<(usize, Option<String>)> = calls.collect();
    match calls.as_slice() {
        [(slot, name)] => (name.clone(), *slot),
        _ => (None, most_frequent_line(program, slots)),
    }
}

/// Returns the index of the first executed instruction of that source line which has the most
/// executed instructions.
fn most_frequent_line(program: &BpfProgram, slots: &[usize]) -> usize {
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

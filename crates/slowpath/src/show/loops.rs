//! Finds the loops of a program and the bounds on their iterations, by unrolling the program.

use crate::frontend::Lifted;
use crate::loops;
use serde::Serialize;
use slowpath_ir::{BlockId, FlowGraph, Program};
use slowpath_search::{SearchError, UnrollLimits, Unrolled, unroll};
use slowpath_stop::{Reason, Stop};
use std::collections::BTreeMap;
use std::rc::Rc;

/// A loop, identified by its first instruction. A loop in a function that is called several times
/// appears once.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Loop"))]
pub(super) struct ShownLoop {
    /// Number of the loop's first instruction in the program.
    instruction: u32,
    /// File of the loop's source line; null if not known.
    file: Option<String>,
    /// Number of the loop's source line; null if not known.
    line: Option<u32>,
    /// Text of the source line; empty if the object does not contain it.
    text: String,
    /// Maximum number of iterations per execution of the loop, counted at its first instruction;
    /// null if not known.
    iterations: Option<u64>,
    /// Reason why the number of iterations is not known; null if it is known.
    reason: Option<String>,
}

/// Number of iterations to which loops without a known bound are unrolled, so that the analysis
/// also reaches the loops behind them.
const FEW: u32 = 2;

pub(super) fn of(lifted: &Lifted, stop: &Stop) -> Vec<ShownLoop> {
    let Ok(flow) = FlowGraph::of(&lifted.program) else { return Vec::new() };
    let header = |block: BlockId| lifted.program.block(block).first.0;
    let mut known: BTreeMap<u32, Result<u64, String>> = BTreeMap::new();
    if flow.loops.is_empty() {
        return Vec::new();
    }
    let program = Rc::new(lifted.program.clone());
    let mut limits = UnrollLimits::default();
    let failure = loop {
        match unroll(Rc::clone(&program), &limits, stop) {
            Ok(unrolled) => {
                count(&lifted.program, &flow, &unrolled, &mut known);
                break None;
            }
            // If the same loop is reported again, its limit did not help. The last arm handles this
            // case.
            Err(
                SearchError::UnboundedLoop { location, iterations }
                | SearchError::LoopTooLarge { location, iterations, .. },
            ) if !known.contains_key(&location) => {
                let place = loops::name(lifted, location);
                let reason = format!(
                    "no bound found within {iterations} iterations; state one: --unroll N@{place}"
                );
                known.insert(location, Err(reason));
                limits.at.push((location, FEW));
                limits.underivable.push(location);
            }
            Err(SearchError::Stopped(Reason::Memory)) => {
                break Some("not found within the memory limit (--memory)".to_owned());
            }
            Err(SearchError::Stopped(_)) => {
                break Some("not found in time (--deadline)".to_owned());
            }
            Err(error) => break Some(error.to_string()),
        }
    };
    let mut shown: BTreeMap<u32, ShownLoop> = BTreeMap::new();
    for inside in &flow.loops {
        let instruction = header(inside.header);
        let found = known.get(&instruction).cloned();
        let found = found.unwrap_or_else(|| failure.clone().map_or(Ok(0), Err));
        let line = loops::line(lifted, instruction);
        shown.insert(
            instruction,
            ShownLoop {
                instruction,
                file: line.map(|line| line.file.to_string()),
                line: line.map(|line| line.line),
                text: line.map_or_else(String::new, |line| line.text.to_string()),
                iterations: found.as_ref().ok().copied(),
                reason: found.err(),
            },
        );
    }
    shown.into_values().collect()
}

/// Finds the number of iterations of each loop: the number of copies of the loop's first basic
/// block in the unrolled program. The first block of a loop inside a helper has no instruction and
/// is copied once more than the loop's body, so one copy is not counted.
fn count(
    program: &Program,
    flow: &FlowGraph,
    unrolled: &Unrolled,
    known: &mut BTreeMap<u32, Result<u64, String>>,
) {
    for inside in &flow.loops {
        let outer_header = inside.parent.map(|parent| flow.loops[parent.index()].header);
        let header = program.block(inside.header);
        let (mut most, mut times) = (0u64, 0);
        // Nodes are in the order of iterations.
        for node in &unrolled.dag.nodes {
            if Some(node.block) == outer_header {
                times = 0;
            } else if node.block == inside.header {
                times += 1;
                most = most.max(times);
            }
        }
        let iterations = most.saturating_sub(u64::from(header.insns.is_empty()));
        let entry = known.entry(header.first.0).or_insert(Ok(0));
        if let Ok(count) = entry {
            *count = (*count).max(iterations);
        }
    }
}

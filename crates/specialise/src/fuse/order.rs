//! Sorts programs for fusing, so that each comes after all programs that hand over to it.

use std::collections::HashSet;

use slowpath_bpf::BpfProgram;

use super::error::FuseError;
use super::handover::Handover;

/// Returns the indices of the programs, sorted so that each comes after all programs that hand over
/// to it. Program 0 comes first.
///
/// # Errors
/// If handovers form a cycle, no handover leads to a program, or two handovers name the same return
/// value of the same program.
pub(super) fn order(
    programs: &[BpfProgram],
    handovers: &[Handover],
) -> Result<Vec<usize>, FuseError> {
    let available = programs.len();
    let name = |number: usize| programs[number].name.clone();
    let mut seen = HashSet::new();
    let mut waits = vec![0usize; available];
    for Handover { from, results, to } in handovers {
        if let Some(&number) = [from, to].into_iter().find(|number| **number >= available) {
            return Err(FuseError::NoProgram { number, available });
        }
        if let Some(&result) = results.iter().find(|result| !seen.insert((*from, **result))) {
            return Err(FuseError::Ambiguous { program: name(*from), result });
        }
        waits[*to] += 1;
    }
    // A handover without results never runs its next program, so it does not count.
    let mut reached = vec![false; available];
    let mut work = vec![0];
    while let Some(number) = work.pop() {
        if !std::mem::replace(&mut reached[number], true) {
            let next = handovers.iter().filter(|h| h.from == number && !h.results.is_empty());
            work.extend(next.map(|handover| handover.to));
        }
    }
    if let Some(number) = reached.iter().position(|reached| !reached) {
        return Err(FuseError::Unreached { program: name(number) });
    }
    // Kahn's algorithm; among programs that can come next, the lowest index is chosen.
    let mut order = Vec::with_capacity(available);
    let mut placed = vec![false; available];
    while order.len() < available {
        let next = (0..available).find(|&number| !placed[number] && waits[number] == 0);
        let Some(next) = next else {
            let number = placed.iter().position(|placed| !placed).unwrap_or(0);
            return Err(FuseError::Circle { program: name(number) });
        };
        placed[next] = true;
        order.push(next);
        for handover in handovers.iter().filter(|handover| handover.from == next) {
            waits[handover.to] -= 1;
        }
    }
    Ok(order)
}

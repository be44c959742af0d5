//! Formats the outcomes of replays as Markdown tables and JSON.

use crate::outcome::Outcome;
use crate::result::{Entry, Guarantee, Surveyed};
use serde_json::{Value, json};
use std::collections::BTreeMap;

type Row = (Entry, Surveyed, Outcome);

/// Returns the kind of result that slowpath has for the program, as in [`ANSWERS`].
fn answer(surveyed: &Surveyed) -> &'static str {
    match surveyed {
        Surveyed::Guarantee(Guarantee { assumptions, .. }) if assumptions.is_empty() => "exact",
        Surveyed::Guarantee(_) => "conditional",
        Surveyed::Bound(_) => "bounds",
        Surveyed::Refused => "refused",
    }
}

const ANSWERS: [&str; 4] = ["exact", "conditional", "bounds", "refused"];
const OUTCOMES: [&str; 7] =
    ["replayed", "answered", "open", "no witness", "not run", "rejected", "DIFFERENT"];

/// Formats Markdown tables: the numbers of outcomes for each kind of result, and the reasons for
/// the outcomes.
pub fn markdown(rows: &[Row]) -> String {
    let mut text = String::from("| answer | programs |");
    for name in OUTCOMES {
        text.push_str(&format!(" {name} |"));
    }
    text.push_str(&format!("\n|{}\n", "---|".repeat(OUTCOMES.len() + 2)));
    for wanted in ANSWERS.into_iter().chain(["**all**"]) {
        let here = || {
            rows.iter().filter(|(_, surveyed, _)| wanted == "**all**" || answer(surveyed) == wanted)
        };
        text.push_str(&format!("| {wanted} | {} |", here().count()));
        for name in OUTCOMES {
            let count = here().filter(|(_, _, outcome)| outcome.name() == name).count();
            text.push_str(&format!(" {count} |"));
        }
        text.push('\n');
    }
    let open = |outcome: &Outcome| match outcome {
        Outcome::Open { on, .. } => on.clone(),
        _ => Vec::new(),
    };
    let answered = |outcome: &Outcome| match outcome {
        Outcome::Answered(on) => on.clone(),
        _ => Vec::new(),
    };
    text.push_str(&reasons("answered in place of the kernel", rows, &answered));
    text.push_str(&reasons("open because of", rows, &open));
    let rejected = |outcome: &Outcome| match outcome {
        Outcome::Rejected(reason) => vec![general(reason)],
        _ => Vec::new(),
    };
    text.push_str(&reasons("rejected by the kernel because", rows, &rejected));
    for (entry, _, outcome) in rows {
        if matches!(outcome, Outcome::Different(_) | Outcome::NotRun(_)) {
            let Entry { object, program, .. } = entry;
            let name = outcome.name();
            text.push_str(&format!("\n{name}: {object} {program}: {}", outcome.reason()));
        }
    }
    text
}

/// Formats a table of reasons, with the number of programs for each reason, most frequent first.
fn reasons(heading: &str, rows: &[Row], of: &dyn Fn(&Outcome) -> Vec<String>) -> String {
    let mut counts: BTreeMap<String, usize> = BTreeMap::new();
    for reason in rows.iter().flat_map(|(_, _, outcome)| of(outcome)) {
        *counts.entry(reason).or_default() += 1;
    }
    let mut counts: Vec<(String, usize)> = counts.into_iter().collect();
    counts.sort_by_key(|(_, count)| std::cmp::Reverse(*count));
    let mut text = format!("\n| {heading} | programs |\n|---|---|\n");
    for (reason, count) in counts {
        text.push_str(&format!("| {} | {count} |\n", reason.replace('|', "\\|")));
    }
    text
}

/// Generalises an error message, so that equal causes have equal texts: drops the name of the
/// program, the location and numbers.
fn general(error: &str) -> String {
    let error = error.split(" (instruction ").next().unwrap_or(error);
    let named = error.strip_prefix("program ").and_then(|rest| rest.split_once(": "));
    let error = named.map_or(error, |(_, reason)| reason);
    let mut text = String::new();
    for c in error.chars().take(160) {
        match c.is_ascii_digit() {
            true if text.ends_with('N') => {}
            true => text.push('N'),
            false => text.push(c),
        }
    }
    text
}

/// Formats one JSON object for each program.
pub fn json(rows: &[Row]) -> String {
    let row = |(entry, surveyed, outcome): &Row| {
        let Entry { project, object, section, program } = entry;
        json!({
            "project": project,
            "object": object,
            "section": section,
            "program": program,
            "answer": answer(surveyed),
            "outcome": outcome.name(),
            "reason": outcome.reason(),
        })
    };
    let all: Vec<Value> = rows.iter().map(row).collect();
    format!("{:#}\n", Value::Array(all))
}

//! Reads assumption files, which contain prices for work that a target does not price.
//!
//! An assumption file has `[price."class"]` tables like those of target descriptions, with two
//! differences. A bare number may replace `{ cycles = … }`, and sources are optional, because the
//! file itself is the source. Another crate reads and checks the tables under `helper`.

use super::prices::{self, Scope};
use super::problem::Problems;
use super::schema;
use super::table::Table;
use crate::price::{ClassPrice, Price, Rule};
use crate::{Target, TargetKind};

/// The price that an assumption file states for one cost class.
pub(super) struct Assumed {
    class: String,
    price: ClassPrice,
    source: Option<String>,
}

/// Reads an assumption file for `target`. Returns the assumed prices, and adds errors in the file
/// to `problems`.
pub(super) fn read(text: &str, target: &Target, problems: &mut Problems<'_>) -> Vec<Assumed> {
    let Some(document) = schema::parse(text, problems) else { return Vec::new() };
    let mut root = Table::new(String::new(), &document, 0..0);
    let has_helpers = root.optional("helper").is_some();
    if has_helpers && root.optional("price").is_none() {
        root.finish(problems);
        return Vec::new();
    }
    let Some(table) = root.table("price", problems) else { return Vec::new() };
    if target.kind == TargetKind::Counts {
        let what = format!("target {} counts events: it has no prices to assume", target.name);
        problems.error(table.span(), what);
        return Vec::new();
    }
    let scope = Scope { components: &target.components, marks: &target.marks, bare_numbers: true };
    let entries = prices::read(&table, &scope, problems, &mut |_, _, _| ());
    root.finish(problems);
    let assumed = entries.into_iter().map(|entry| Assumed {
        class: entry.class.to_owned(),
        price: entry.price,
        source: entry.source.map(str::to_owned),
    });
    assumed.collect()
}

/// A price that the user assumes for a cost class which the target does not price.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Assumption {
    /// Name of the cost class.
    pub class: String,
    /// The assumption, as a sentence for reports.
    pub sentence: String,
}

/// Sets the assumed prices in `target`, and returns one assumption, with a sentence for reports,
/// for each price. `file` is the file name in the sentences.
pub(super) fn apply(target: &mut Target, assumed: Vec<Assumed>, file: &str) -> Vec<Assumption> {
    let mut assumptions = Vec::new();
    for Assumed { class, price, source } in assumed {
        let known = target.prices.entry(class.clone()).or_default();
        known.prices.resize(target.components.len(), None);
        for (index, stated) in price.prices.iter().enumerate() {
            let Some(stated) = stated else { continue };
            let component = &target.components[index];
            let cycles = |ticks| decimal(ticks, component.kind.ticks_per_cycle());
            let mut sentence =
                format!("`{class}` costs {} cycles on {}", cycles(stated.ticks), component.name);
            sentence += &rules(stated, target.marks.as_slice());
            if let Some(replaced) = known.prices[index].filter(|price| price != stated) {
                sentence += &format!(", not the target's {}", cycles(replaced.ticks));
                sentence += &rules(&replaced, target.marks.as_slice());
            }
            let reason = source.as_ref().map_or(String::new(), |text| format!(": {text}"));
            let sentence = format!("{sentence} ({file}{reason})");
            assumptions.push(Assumption { class: class.clone(), sentence });
            known.prices[index] = Some(*stated);
        }
        if let Some(sets) = price.sets {
            known.sets = Some(sets);
        }
    }
    assumptions
}

/// Returns the end of a sentence that describes how a price depends on earlier events.
fn rules(price: &Price, marks: &[crate::price::Mark]) -> String {
    let name = |rule: Rule| marks[rule.mark].name.as_str();
    // Names all fields, so that a new field causes a compile error here.
    let Price { ticks: _, just_after, spacing } = *price;
    let mut text = String::new();
    if let Some(rule) = just_after {
        text += &format!(", {} just after `{}`", rule.cycles, name(rule));
    }
    if let Some(rule) = spacing {
        text += &format!(", ending at least {} after the last `{}`", rule.cycles, name(rule));
    }
    text
}

/// Formats `ticks / per_cycle`, a number of cycles, as an exact decimal number. `per_cycle` must be
/// a power of ten.
fn decimal(ticks: u64, per_cycle: u64) -> String {
    if per_cycle == 1 {
        return ticks.to_string();
    }
    let digits = per_cycle.ilog10() as usize;
    let text = format!("{}.{:0digits$}", ticks / per_cycle, ticks % per_cycle);
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

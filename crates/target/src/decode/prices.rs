//! Reads the tables `[price."class"]` of target descriptions and assumption files.

use super::problem::Problems;
use super::table::{Table, as_table, scaled, whole};
use crate::price::{ClassPrice, MAX_RULE_CYCLES, Mark, Price, Rule};
use crate::{Component, ComponentKind};
use std::ops::Range;
use toml::Spanned;
use toml::de::DeValue;

/// Maximum number of cycles that one event can cost. The limit keeps sums far below 64 bits.
const MAX_CYCLES: u64 = 1_000_000_000;

/// Names that a price table can refer to: the components and the marks (kinds of earlier events) of
/// the target.
pub(super) struct Scope<'s> {
    pub(super) components: &'s [Component],
    pub(super) marks: &'s [Mark],
    /// True if a bare number may replace `{ cycles = … }`.
    pub(super) bare_numbers: bool,
}

impl Scope<'_> {
    /// Returns the index of the mark (a kind of earlier event on which prices depend) called
    /// `name`. `key` and `at` locate the name in the file. Returns `None`, and adds a problem, if
    /// there is no such mark.
    fn mark(
        &self,
        name: &str,
        key: &str,
        at: Range<usize>,
        problems: &mut Problems<'_>,
    ) -> Option<usize> {
        let mark = self.marks.iter().position(|mark| mark.name == name);
        if mark.is_none() {
            problems.error(at, format!("`{key}`: there is no mark {name:?}"));
        }
        mark
    }
}

/// A price table that was read from a file.
pub(super) struct PriceEntry<'t> {
    pub(super) class: &'t str,
    pub(super) price: ClassPrice,
    pub(super) source: Option<&'t str>,
}

/// Reads all tables under the key `price`. Calls `on_source` for each table that contains numbers.
/// Its arguments include the value of the key `source`, or `None` if the table has no such key.
pub(super) fn read<'t>(
    prices: &Table<'t>,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
    on_source: &mut dyn FnMut(&Table<'t>, Option<&'t str>, &mut Problems<'_>),
) -> Vec<PriceEntry<'t>> {
    let mut entries = Vec::new();
    for (class, value) in prices.entries() {
        let path = prices.key(class);
        let allowed = |b: u8| b.is_ascii_alphanumeric() || matches!(b, b'_' | b'.' | b'-');
        if class.is_empty() || !class.bytes().all(allowed) {
            problems.error(value.span(), format!("`{path}` is not the name of a cost class"));
            continue;
        }
        let Some(mut table) = as_table(path, value, problems) else { continue };
        let source = optional_string(&mut table, "source", problems);
        let mut price = ClassPrice { prices: Vec::new(), sets: None };
        let mut priced = false;
        for component in scope.components {
            let read = table.optional(&component.name).and_then(|value| {
                priced = true;
                let path = table.key(&component.name);
                if !component.serves(class) {
                    let what = format!(
                        "`{path}`: component {} does not serve this class, see its `serves`",
                        component.name
                    );
                    problems.error(value.span(), what);
                }
                read_price(path, value, component, scope, source, problems, on_source)
            });
            price.prices.push(read);
        }
        if let Some(names) = table.strings("sets", problems) {
            let key = table.key("sets");
            let at = table.optional("sets").map_or(table.span(), Spanned::span);
            let mark = |name: &&str| scope.mark(name, &key, at.clone(), problems);
            price.sets = Some(names.iter().filter_map(mark).collect());
        }
        if !priced {
            problems.error(table.span(), format!("`{}` has no price", prices.key(class)));
        }
        table.finish(problems);
        entries.push(PriceEntry { class, price, source });
    }
    entries
}

fn read_price<'t>(
    path: String,
    value: &'t Spanned<DeValue<'t>>,
    component: &Component,
    scope: &Scope<'_>,
    class_source: Option<&'t str>,
    problems: &mut Problems<'_>,
    on_source: &mut dyn FnMut(&Table<'t>, Option<&'t str>, &mut Problems<'_>),
) -> Option<Price> {
    if scope.bare_numbers && !value.get_ref().is_table() {
        let ticks = read_ticks(&path, value, component.kind, problems)?;
        return Some(Price { ticks, just_after: None, spacing: None });
    }
    let mut table = as_table(path, value, problems)?;
    let source = optional_string(&mut table, "source", problems).or(class_source);
    on_source(&table, source, problems);
    let cycles = table.required("cycles", problems);
    let ticks =
        cycles.and_then(|value| read_ticks(&table.key("cycles"), value, component.kind, problems));
    let (mut just_after, mut spacing) = (None, None);
    if component.kind == ComponentKind::Cores {
        just_after = read_rule(&mut table, "just_after", scope, problems);
        spacing = read_rule(&mut table, "spacing", scope, problems);
    }
    table.finish(problems);
    Some(Price { ticks: ticks?, just_after, spacing })
}

fn read_ticks(
    path: &str,
    value: &Spanned<DeValue<'_>>,
    kind: ComponentKind,
    problems: &mut Problems<'_>,
) -> Option<u64> {
    if kind == ComponentKind::Cores {
        return whole(path, value, 0..=MAX_CYCLES, problems);
    }
    // A tick is 10^-9 cycles, see `ComponentKind::ticks_per_cycle`.
    let ticks = scaled(path, value, 9, problems)?;
    if ticks > MAX_CYCLES * kind.ticks_per_cycle() {
        problems.error(value.span(), format!("`{path}` must be at most {MAX_CYCLES}"));
        return None;
    }
    Some(ticks)
}

fn read_rule(
    table: &mut Table<'_>,
    key: &str,
    scope: &Scope<'_>,
    problems: &mut Problems<'_>,
) -> Option<Rule> {
    let mut rule = table.optional_table(key, problems)?;
    let name = rule.string("mark", problems);
    let cycles = rule.integer("cycles", 0..=MAX_RULE_CYCLES, problems);
    let mark = name.and_then(|name| scope.mark(name, &rule.key("mark"), rule.span(), problems));
    rule.finish(problems);
    Some(Rule { mark: mark?, cycles: cycles? })
}

/// Reads a key that may be absent and whose value is a string.
pub(super) fn optional_string<'t>(
    table: &mut Table<'t>,
    key: &str,
    problems: &mut Problems<'_>,
) -> Option<&'t str> {
    table.optional(key)?;
    table.string(key, problems)
}

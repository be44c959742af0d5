//! Decodes target descriptions in version 1 of the format, which
//! `docs/reference/targets.md` describes.

use super::prices::{self, Scope, optional_string};
use super::problem::Problems;
use super::table::Table;
use super::{counters, interpreter, timing};
use crate::price::{ClassPrice, Mark, PriceTable};
use crate::{
    Component, ComponentKind, Cycles, InstructionSet, Limit, LimitKind, MAX_COMPONENTS, MAX_MARKS,
    Target, TargetKind,
};
use std::collections::BTreeSet;
use std::ops::RangeInclusive;
use toml::de::DeTable;

const SCHEMA: u64 = 1;
const CLOCK_HZ: RangeInclusive<u64> = 1..=1_000_000_000_000;
const CORES: RangeInclusive<u64> = 1..=1_000_000;
const OVERHEAD_CYCLES: RangeInclusive<u64> = 0..=1_000_000_000;
const PACKET_BYTES: RangeInclusive<u64> = 0..=1_000_000;
const LIMIT_RATE: RangeInclusive<u64> = 1..=1_000_000_000_000_000;
const FRAME_OVERHEAD_BYTES: RangeInclusive<u64> = 0..=10_000;

/// Reads a target description. Returns `None` if essential parts are missing. The result is usable
/// only if `problems` contains no fatal problem.
pub(super) fn read(text: &str, problems: &mut Problems<'_>) -> Option<Target> {
    let document = parse(text, problems)?;
    let span = 0..0;
    let mut root = Table::new(String::new(), &document, span);
    let schema = root.integer("schema", 0..=u64::MAX, problems)?;
    if schema != SCHEMA {
        let at = root.optional("schema").map_or(0..0, toml::Spanned::span);
        problems.error(at, format!("`schema` is {schema}; this version reads schema {SCHEMA}"));
        return None;
    }
    let name = root.string("name", problems);
    let description = root.string("description", problems);
    let sources = Sources::read(&mut root, problems);
    let packet = read_packet(&mut root, &sources, problems);
    let kinds = [("rates", TargetKind::Rates), ("counts", TargetKind::Counts)];
    let kind = read_choice(&mut root, "kind", kinds, TargetKind::Rates, problems)?;
    let sets =
        [("bpf", InstructionSet::Bpf), ("nfp", InstructionSet::Nfp), ("swx", InstructionSet::Swx)];
    let default = match kind {
        TargetKind::Rates => InstructionSet::Nfp,
        TargetKind::Counts => InstructionSet::Bpf,
    };
    let instruction_set = read_choice(&mut root, "instruction_set", sets, default, problems)?;
    if kind == TargetKind::Counts {
        let components = counters::read(&mut root, problems);
        let timing = timing::read(&mut root, problems);
        let interpreter = interpreter::read(&mut root, problems);
        for (key, needed, name, instructions) in [
            ("timing", InstructionSet::Bpf, "bpf", "BPF instructions"),
            ("interpreter", InstructionSet::Swx, "swx", "pipelines"),
        ] {
            if instruction_set != needed
                && let Some(table) = root.optional(key)
            {
                let what =
                    format!("`{key}` needs {instructions}: `instruction_set` must be {name:?}");
                problems.error(table.span(), what);
            }
        }
        root.finish(problems);
        let (min_packet, max_packet) = packet?;
        return Some(Target {
            name: name?.to_owned(),
            description: description?.to_owned(),
            kind,
            instruction_set,
            cores: 0,
            components,
            limits: Vec::new(),
            min_packet,
            max_packet,
            timing,
            interpreter,
            marks: Vec::new(),
            prices: PriceTable::new(),
        });
    }
    let mut cores = None;
    let components = read_components(&mut root, &sources, &mut cores, problems);
    let limits = read_limits(&mut root, &sources, &components, problems);
    let marks = read_marks(&mut root, &sources, problems);
    let prices = read_prices(&mut root, &sources, &components, &marks, problems);
    root.finish(problems);
    let (min_packet, max_packet) = packet?;
    Some(Target {
        name: name?.to_owned(),
        description: description?.to_owned(),
        kind,
        instruction_set,
        cores: cores?,
        components,
        limits,
        min_packet,
        max_packet,
        timing: None,
        interpreter: None,
        marks,
        prices,
    })
}

/// Parses a TOML file to a syntax tree. Returns `None` after a syntax error, and adds the error to
/// `problems`.
pub(super) fn parse<'t>(text: &'t str, problems: &mut Problems<'_>) -> Option<DeTable<'t>> {
    match DeTable::parse(text) {
        Ok(document) => Some(document.into_inner()),
        Err(error) => {
            problems.error(error.span().unwrap_or(0..0), format!("not TOML: {}", error.message()));
            None
        }
    }
}

/// The names that the table `[sources]` of a description defines. The values of `source` keys must
/// start with one of these names.
struct Sources<'t>(BTreeSet<&'t str>);

impl<'t> Sources<'t> {
    fn read(root: &mut Table<'t>, problems: &mut Problems<'_>) -> Self {
        let mut names = BTreeSet::new();
        if let Some(table) = root.optional_table("sources", problems) {
            for (name, value) in table.entries() {
                if value.get_ref().as_str().is_none_or(|text| text.trim().is_empty()) {
                    let what = format!("`{}` must name the source", table.key(name));
                    problems.error(value.span(), what);
                }
                names.insert(name);
            }
        }
        Sources(names)
    }

    /// Adds a warning if the numbers of a table have no source, or if the source starts with an
    /// unknown name.
    fn expect(&self, table: &Table<'t>, source: Option<&str>, problems: &mut Problems<'_>) {
        let key = table.key("source");
        let Some(text) = source else {
            problems
                .lint(table.span(), format!("`{key}` is missing; name a source of `[sources]`"));
            return;
        };
        let name = text.split([',', ';', ':', ' ']).next().unwrap_or_default();
        if !self.0.contains(name) {
            let what = format!("`{key}` must begin with a name from `[sources]`, not {name:?}");
            problems.lint(table.span(), what);
        }
    }

    /// Reads the key `source` of a table, and adds a warning if it is missing or starts with an
    /// unknown name.
    fn expect_in(&self, table: &mut Table<'t>, problems: &mut Problems<'_>) {
        let source = optional_string(table, "source", problems);
        self.expect(table, source, problems);
    }
}

/// Reads a key whose value must be one of a few strings. Returns `default` if the key is absent,
/// and `None` if its value is invalid.
fn read_choice<T: Copy, const N: usize>(
    root: &mut Table<'_>,
    key: &str,
    choices: [(&str, T); N],
    default: T,
    problems: &mut Problems<'_>,
) -> Option<T> {
    let Some(value) = root.optional(key) else { return Some(default) };
    let text = root.string(key, problems)?;
    let choice = choices.iter().find(|(name, _)| *name == text).map(|(_, choice)| *choice);
    if choice.is_none() {
        let names = choices.map(|(name, _)| format!("{name:?}")).join(" or ");
        let what = format!("`{key}` must be {names}, not {text:?}");
        problems.error(value.span(), what);
    }
    choice
}

fn read_packet<'t>(
    root: &mut Table<'t>,
    sources: &Sources<'t>,
    problems: &mut Problems<'_>,
) -> Option<(u32, u32)> {
    let mut table = root.table("packet", problems)?;
    let min = table.integer("min_size_bytes", PACKET_BYTES, problems);
    let max = table.integer("max_size_bytes", PACKET_BYTES, problems);
    sources.expect_in(&mut table, problems);
    let (min, max) = (u32::try_from(min?).ok()?, u32::try_from(max?).ok()?);
    if min > max {
        let what = format!("`{}` is above `max_size_bytes`", table.key("min_size_bytes"));
        problems.error(table.span(), what);
    }
    table.finish(problems);
    Some((min, max))
}

fn read_components<'t>(
    root: &mut Table<'t>,
    sources: &Sources<'t>,
    cores: &mut Option<u32>,
    problems: &mut Problems<'_>,
) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::new();
    let mut with_cores = 0;
    for mut table in root.tables("component", problems) {
        let name = table.string("name", problems);
        let kind = match table.string("kind", problems) {
            Some("cores") => Some(ComponentKind::Cores),
            Some("engine") => Some(ComponentKind::Engine),
            Some(other) => {
                let what = format!(
                    "`{}` must be \"cores\" or \"engine\", not {other:?}",
                    table.key("kind")
                );
                problems.error(table.span(), what);
                None
            }
            None => None,
        };
        let clock_hz = table.integer("clock_hz", CLOCK_HZ, problems);
        let mut overhead = None;
        if kind == Some(ComponentKind::Cores) {
            with_cores += 1;
            let count = table.integer("cores", CORES, problems);
            *cores = count.and_then(|count| u32::try_from(count).ok());
            overhead = table.integer("overhead_cycles", OVERHEAD_CYCLES, problems);
        } else if table.optional("overhead_cycles").is_some() {
            overhead = table.integer("overhead_cycles", OVERHEAD_CYCLES, problems);
        }
        let serves = table.strings("serves", problems);
        sources.expect_in(&mut table, problems);
        if let Some(name) = name {
            let taken = components.iter().any(|other| other.name == name);
            if taken || matches!(name, "sets" | "source") {
                let what = format!("`{}`: {name:?} is taken already", table.key("name"));
                problems.error(table.span(), what);
            }
        }
        let at = table.span();
        table.finish(problems);
        // Keeps a component with an invalid clock, so that prices on it cause no further problems.
        if let (Some(name), Some(kind)) = (name, kind) {
            components.push(Component {
                name: name.to_owned(),
                kind,
                clock_hz: clock_hz.unwrap_or(1),
                overhead: Cycles(overhead.unwrap_or(0)),
                serves: serves.map(|list| list.into_iter().map(str::to_owned).collect()),
            });
        }
        if components.len() > MAX_COMPONENTS {
            let what = format!("`component`: there can be at most {MAX_COMPONENTS}");
            problems.error(at, what);
            components.truncate(MAX_COMPONENTS);
        }
    }
    if with_cores != 1 {
        let what = format!("`component`: exactly one must be of kind \"cores\", not {with_cores}");
        problems.error(root.span(), what);
    }
    components
}

fn read_limits<'t>(
    root: &mut Table<'t>,
    sources: &Sources<'t>,
    components: &[Component],
    problems: &mut Problems<'_>,
) -> Vec<Limit> {
    let mut limits: Vec<Limit> = Vec::new();
    for mut table in root.tables("limit", problems) {
        let name = table.string("name", problems);
        let kind = if table.optional("packets_per_second").is_some() {
            let rate = table.integer("packets_per_second", LIMIT_RATE, problems);
            rate.map(|packets_per_second| LimitKind::PacketRate { packets_per_second })
        } else if table.optional("bits_per_second").is_some() {
            let rate = table.integer("bits_per_second", LIMIT_RATE, problems);
            let extra = table.integer("frame_overhead_bytes", FRAME_OVERHEAD_BYTES, problems);
            let extra = extra.and_then(|bytes| u32::try_from(bytes).ok());
            rate.zip(extra).map(|(bits_per_second, frame_overhead_bytes)| LimitKind::LineRate {
                bits_per_second,
                frame_overhead_bytes,
            })
        } else {
            let what = format!(
                "`{}` or `bits_per_second` with `frame_overhead_bytes` is missing",
                table.key("packets_per_second")
            );
            problems.error(table.span(), what);
            None
        };
        sources.expect_in(&mut table, problems);
        if let Some(name) = name
            && (limits.iter().any(|l| l.name == name) || components.iter().any(|c| c.name == name))
        {
            let what = format!("`{}`: {name:?} is taken already", table.key("name"));
            problems.error(table.span(), what);
        }
        table.finish(problems);
        if let (Some(name), Some(kind)) = (name, kind) {
            limits.push(Limit { name: name.to_owned(), kind });
        }
    }
    limits
}

fn read_marks<'t>(
    root: &mut Table<'t>,
    sources: &Sources<'t>,
    problems: &mut Problems<'_>,
) -> Vec<Mark> {
    let mut marks = Vec::new();
    let Some(mut all) = root.optional_table("mark", problems) else { return marks };
    let entries: Vec<_> = all.entries().collect();
    for (name, value) in entries {
        let Some(mut table) = super::table::as_table(all.key(name), value, problems) else {
            continue;
        };
        table.string("description", problems);
        let set_at_start = table.flag("set_at_start", problems).unwrap_or(false);
        sources.expect_in(&mut table, problems);
        table.finish(problems);
        marks.push(Mark { name: name.to_owned(), set_at_start });
        all.optional(name);
    }
    if marks.len() > MAX_MARKS {
        problems.error(all.span(), format!("`mark`: there can be at most {MAX_MARKS}"));
        marks.truncate(MAX_MARKS);
    }
    marks
}

fn read_prices<'t>(
    root: &mut Table<'t>,
    sources: &Sources<'t>,
    components: &[Component],
    marks: &[Mark],
    problems: &mut Problems<'_>,
) -> PriceTable {
    let Some(table) = root.table("price", problems) else { return PriceTable::new() };
    let scope = Scope { components, marks, bare_numbers: false };
    let mut on_source =
        |table: &Table<'t>, source: Option<&'t str>, problems: &mut Problems<'_>| {
            sources.expect(table, source, problems);
        };
    let entries = prices::read(&table, &scope, problems, &mut on_source);
    // In a description, a class without `sets` sets no mark.
    let complete =
        |price: ClassPrice| ClassPrice { sets: Some(price.sets.unwrap_or_default()), ..price };
    entries.into_iter().map(|entry| (entry.class.to_owned(), complete(entry.price))).collect()
}

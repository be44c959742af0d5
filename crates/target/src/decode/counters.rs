//! Reads the components of targets that count events instead of predicting rates. These components
//! list the cost classes that they count, but have no clock and no prices.

use super::problem::Problems;
use super::table::Table;
use crate::{Component, ComponentKind, Cycles, MAX_COMPONENTS};

/// Reads the tables `[[component]]` of a target of kind `"counts"`. Adds errors in them to
/// `problems`.
pub(super) fn read(root: &mut Table<'_>, problems: &mut Problems<'_>) -> Vec<Component> {
    let mut components: Vec<Component> = Vec::new();
    for mut table in root.tables("component", problems) {
        let name = table.string("name", problems);
        let counts = table.strings("counts", problems);
        let at = table.span();
        let key = table.key("name");
        table.finish(problems);
        let Some(name) = name else { continue };
        let component = Component {
            name: name.to_owned(),
            kind: ComponentKind::Counter,
            clock_hz: 0,
            overhead: Cycles(0),
            serves: counts.map(|list| list.into_iter().map(str::to_owned).collect()),
        };
        let metric = component.metric();
        let taken = components.iter().any(|other| other.metric() == metric);
        // The name `ns` is reserved for times, which are printed with counts.
        if taken || matches!(metric.as_str(), "bitrate" | "packetrate" | "ns") {
            problems.error(at.clone(), format!("`{key}`: {name:?} is taken already"));
        }
        components.push(component);
        if components.len() > MAX_COMPONENTS {
            let what = format!("`component`: there can be at most {MAX_COMPONENTS}");
            problems.error(at, what);
            components.truncate(MAX_COMPONENTS);
        }
    }
    if components.is_empty() {
        let what = "`component` is missing: a target of kind \"counts\" needs one".to_owned();
        problems.error(root.span(), what);
    }
    components
}

#[cfg(test)]
mod tests;

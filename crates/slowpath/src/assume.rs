//! Reads the `[helper.NAME]` tables of assumption files. The analysis assumes that these helpers do
//! nothing but return.
//!
//! The target reads the prices of helpers from the same file. `docs/reference/targets.md` describes
//! the format.

use crate::Error;
use slowpath_codes as codes;
use std::collections::BTreeMap;
use toml::Spanned;
use toml::de::{DeTable, DeValue};

/// Reads the helpers and kernel functions that are assumed to have no effect. The result has, for
/// each function name, the reason that the file states.
pub(crate) fn helpers(text: &str) -> Result<BTreeMap<String, String>, Error> {
    let fail = |at: usize, what: String| {
        let before = text.as_bytes().iter().take(at).filter(|&&byte| byte == b'\n').count();
        Error::OptionFile {
            code: codes::ASSUMPTION_INVALID,
            option: "--assume",
            line: Some(before + 1),
            what,
        }
    };
    let document = DeTable::parse(text)
        .map_err(|error| fail(error.span().map_or(0, |span| span.start), first_line(&error)))?;
    let mut found = BTreeMap::new();
    let Some(all) = document.get_ref().get("helper") else { return Ok(found) };
    let at = |value: &Spanned<DeValue>| value.span().start;
    let tables = all.get_ref().as_table();
    let tables = tables
        .ok_or_else(|| fail(at(all), "`helper` must be a table: write [helper.NAME]".into()))?;
    for (name, value) in tables {
        let name: &str = name.get_ref();
        // Only the prefix is checked: the names of kernel functions depend on the kernel.
        if !name.starts_with("bpf_") {
            let what = format!("`helper.{name}`: names of helpers begin with `bpf_`");
            return Err(fail(at(value), what));
        }
        let table = value.get_ref().as_table();
        let reason = table.and_then(|table| table.get("reason")?.get_ref().as_str());
        let others = table.is_some_and(|table| table.len() > 1);
        let Some(reason) = reason.filter(|text| !text.trim().is_empty() && !others) else {
            let what = format!("`helper.{name}` has one key: `reason`, a sentence");
            return Err(fail(at(value), what));
        };
        found.insert(name.to_owned(), reason.trim().trim_end_matches('.').to_owned());
    }
    Ok(found)
}

fn first_line(error: &toml::de::Error) -> String {
    format!("not TOML: {}", error.message().lines().next().unwrap_or_default())
}

#[cfg(test)]
mod tests;

//! Reads the tables `[timing.model]` of target descriptions, which contain models of times that
//! `slowpath calibrate` fits.

use super::problem::Problems;
use super::table::{Table, as_table};
use crate::fitted::{Fitted, Residual, Segment, Template};
use std::collections::BTreeMap;

/// Reads all models of times, and returns them by name.
pub(super) fn read(mut models: Table<'_>, problems: &mut Problems<'_>) -> BTreeMap<String, Fitted> {
    let names: Vec<&str> = models.entries().map(|(name, _)| name).collect();
    let mut read = BTreeMap::new();
    for name in names {
        let table = models.table(name, problems);
        if let Some(fitted) = table.and_then(|table| read_model(table, problems)) {
            read.insert(name.to_owned(), fitted);
        }
    }
    read
}

fn read_model(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<Fitted> {
    let description = table.string("description", problems).map(str::to_owned);
    let parameter = table.string("parameter", problems).map(str::to_owned);
    let calls = table.strings("calls", problems).unwrap_or_default();
    let calls = calls.into_iter().map(str::to_owned).collect();
    let found = table.flag("found", problems).unwrap_or(true);
    let entry_bytes = optional_number(&mut table, "entry_bytes", problems);
    if entry_bytes.is_some_and(|bytes| bytes < 1.0) {
        let what = format!("`{}` must be 1 or more", table.key("entry_bytes"));
        problems.error(table.span(), what);
    }
    let error = number(&mut table, "smape", problems);
    let held_out = optional_number(&mut table, "held_out_smape", problems);
    for (key, share) in [("smape", error), ("held_out_smape", held_out)] {
        if share.is_some_and(|share| share < 0.0) {
            let what = format!("`{}` must not be negative", table.key(key));
            problems.error(table.span(), what);
        }
    }
    let data = table.string("data_sha256", problems).map(str::to_owned);
    let segments = read_segments(&mut table, problems);
    let residuals = match table.optional_table("residuals", problems) {
        Some(residuals) => read_residuals(residuals, problems),
        None => Some(Vec::new()),
    };
    table.finish(problems);
    let [description, parameter, data] = [description?, parameter?, data?];
    let (error, segments, residuals) = (error?, segments?, residuals?);
    Some(Fitted {
        description,
        parameter,
        calls,
        entry_bytes,
        found,
        error,
        held_out,
        data,
        segments,
        residuals,
    })
}

fn read_segments(table: &mut Table<'_>, problems: &mut Problems<'_>) -> Option<Vec<Segment>> {
    let path = table.key("segments");
    let value = table.required("segments", problems)?;
    let Some(list) = value.get_ref().as_array() else {
        problems.error(value.span(), format!("`{path}` must be a list of tables"));
        return None;
    };
    let mut segments: Vec<Segment> = Vec::new();
    for (at, item) in list.iter().enumerate() {
        let segment = read_segment(as_table(format!("{path}[{at}]"), item, problems)?, problems)?;
        if segments.last().is_some_and(|before| before.to >= segment.from) {
            problems.error(
                item.span(),
                format!("`{path}[{at}]` begins before the previous segment ends"),
            );
            return None;
        }
        segments.push(segment);
    }
    if segments.is_empty() {
        problems.error(value.span(), format!("`{path}` is empty"));
        return None;
    }
    Some(segments)
}

fn read_segment(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<Segment> {
    let from = number(&mut table, "from", problems);
    let to = number(&mut table, "to", problems);
    let name = table.string("template", problems);
    let parameters = numbers(&mut table, "parameters", problems);
    let origin = optional_number(&mut table, "origin", problems).unwrap_or(0.0);
    let at_least = optional_number(&mut table, "at_least", problems);
    let at_most = optional_number(&mut table, "at_most", problems);
    let extrapolates = table.flag("extrapolates", problems).unwrap_or(false);
    let (path, span) = (table.key("template"), table.span());
    table.finish(problems);
    let (from, to, name, parameters) = (from?, to?, name?, parameters?);
    let Some(template) = Template::named(name) else {
        problems.error(span, format!("`{path}`: {name} is not a function template"));
        return None;
    };
    let wrong = if from > to {
        Some("`from` is above `to`".to_owned())
    } else if parameters.len() != template.parameters {
        Some(format!("{name} has {} parameters", template.parameters))
    } else if at_least.zip(at_most).is_some_and(|(least, most)| least > most) {
        Some("`at_least` is above `at_most`".to_owned())
    } else {
        None
    };
    if let Some(what) = wrong {
        problems.error(span, format!("`{path}`: {what}"));
        return None;
    }
    Some(Segment { from, to, template, parameters, origin, at_least, at_most, extrapolates })
}

fn read_residuals(mut table: Table<'_>, problems: &mut Problems<'_>) -> Option<Vec<Residual>> {
    let (path, span) = (table.key("share"), table.span());
    let (x, share) = (numbers(&mut table, "x", problems), numbers(&mut table, "share", problems));
    table.finish(problems);
    let (x, share) = (x?, share?);
    let wrong = if x.len() != share.len() || x.is_empty() {
        Some("has as many values as `x`, and some")
    } else if !x.is_sorted_by(|left, right| left < right) {
        Some("is for values of `x` that ascend")
    } else if share.iter().any(|share| *share <= -1.0) {
        Some("is more than -1")
    } else {
        None
    };
    if let Some(what) = wrong {
        problems.error(span, format!("`{path}` {what}"));
        return None;
    }
    Some(x.into_iter().zip(share).map(|(x, share)| Residual { x, share }).collect())
}

/// Reads a required key whose value is a finite number of any sign.
fn number(table: &mut Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<f64> {
    table.required(key, problems)?;
    optional_number(table, key, problems)
}

fn optional_number(table: &mut Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<f64> {
    let value = table.optional(key)?;
    finite(&table.key(key), value, problems)
}

fn numbers(table: &mut Table<'_>, key: &str, problems: &mut Problems<'_>) -> Option<Vec<f64>> {
    let (path, value) = (table.key(key), table.required(key, problems)?);
    let Some(list) = value.get_ref().as_array() else {
        problems.error(value.span(), format!("`{path}` must be a list of numbers"));
        return None;
    };
    list.iter().map(|item| finite(&path, item, problems)).collect()
}

fn finite(
    path: &str,
    value: &toml::Spanned<toml::de::DeValue<'_>>,
    problems: &mut Problems<'_>,
) -> Option<f64> {
    use toml::de::DeValue::{Float, Integer};
    let number = match value.get_ref() {
        Float(float) => float.as_str().parse().ok(),
        Integer(integer) => {
            i64::from_str_radix(integer.as_str(), integer.radix()).ok().map(|whole| whole as f64)
        }
        _ => None,
    };
    let finite = number.filter(|number: &f64| number.is_finite());
    if finite.is_none() {
        problems.error(value.span(), format!("`{path}` must be a finite number"));
    }
    finite
}

#[cfg(test)]
mod tests;

//! Reads target descriptions, and the assumption files that add prices to them.
//!
//! Both are TOML. The modules decode the parser's syntax tree without `serde`. They need the lines
//! of values, the exact digits of numbers, and all problems of a file.
//!
//! `table` reads keys of known types from one table, with the help of `decimal` and `problem`.
//! `schema` decodes targets, and `counters` decodes the components of counting targets. `timing`,
//! `interpreter` and `models` decode the measurements for time estimates. `prices` decodes price tables, and
//! `assume` decodes assumption files. `docs/reference/targets.md` describes the formats.

mod assume;
mod counters;
mod decimal;
mod interpreter;
mod models;
mod prices;
mod problem;
mod schema;
mod table;
mod timing;

pub use assume::Assumption;

use crate::{Target, TargetError};
use problem::Problems;

impl Target {
    /// Parses a target description. `file` is the name of its file, for error messages.
    ///
    /// # Errors
    /// [`TargetError::Malformed`] with the first problem. Missing sources of numbers are not an
    /// error here; [`check`] reports them.
    pub fn parse(text: &str, file: &str) -> Result<Target, TargetError> {
        let mut problems = Problems::new(text);
        let target = schema::read(text, &mut problems);
        match target {
            Some(target) if !problems.any_fatal() => Ok(target),
            _ => Err(problems.into_error(file)),
        }
    }

    /// Adds the prices of an assumption file to the target, where they replace existing prices.
    /// `file` is the file's name, for error messages. Returns an assumption, with a sentence for
    /// reports, for each price.
    ///
    /// # Errors
    /// [`TargetError::Malformed`] if the file is invalid. The target is then unchanged.
    pub fn apply_assumptions(
        &mut self,
        text: &str,
        file: &str,
    ) -> Result<Vec<Assumption>, TargetError> {
        let mut problems = Problems::new(text);
        let assumed = assume::read(text, self, &mut problems);
        if problems.any_fatal() {
            return Err(problems.into_error(file));
        }
        Ok(assume::apply(self, assumed, file))
    }
}

/// Returns all problems of a target description, with one line each. Problems are syntax errors,
/// unknown or missing keys, wrong types, values out of range, references to unknown names, and
/// numbers without a source.
pub fn check(text: &str) -> Vec<String> {
    let mut problems = Problems::new(text);
    schema::read(text, &mut problems);
    problems.lines()
}

#[cfg(test)]
mod tests;

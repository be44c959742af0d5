//! Reading of target descriptions and assumption files.
//!
//! Both are TOML, read by hand over the parser's syntax tree, because that keeps what `serde`
//! drops: the line of every value, the exact digits of every number, and all problems of a file
//! instead of its first. Layout: `table` reads keys of known types out of one table, `decimal` and
//! `problem` serve it, `schema` is the format of targets, `counters` that of components which only
//! count, `timing` what estimates are made with, `prices` that of price tables, `assume` that of assumption files. `docs/targets.md` describes the formats for users.

mod assume;
mod counters;
mod decimal;
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
    /// Reads a target description; `file` is what to call it in messages.
    ///
    /// # Errors
    /// [`TargetError::Malformed`] with the first problem. Missing sources are no obstacle here;
    /// [`check`] reports them.
    pub fn parse(text: &str, file: &str) -> Result<Target, TargetError> {
        let mut problems = Problems::new(text);
        let target = schema::read(text, &mut problems);
        match target {
            Some(target) if !problems.any_fatal() => Ok(target),
            _ => Err(problems.into_error(file)),
        }
    }

    /// Adds the prices of an assumption file, over the ones that are there; `file` is what to call
    /// it in messages. Returns what is assumed, price by price.
    ///
    /// # Errors
    /// [`TargetError::Malformed`]; the target is unchanged then.
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

/// All problems of a target description, one line each: syntax, unknown or missing keys, values of
/// the wrong type or out of range, dangling references, numbers without a source.
///
/// An empty list means that the description is fine.
pub fn check(text: &str) -> Vec<String> {
    let mut problems = Problems::new(text);
    schema::read(text, &mut problems);
    problems.lines()
}

#[cfg(test)]
mod tests;

//! Collects the problems of a description or assumption file, with their lines.

use crate::TargetError;
use std::ops::Range;

#[derive(Clone, Debug)]
struct Problem {
    line: usize,
    what: String,
    /// True if the problem makes the file unusable, false if it is only a warning.
    fatal: bool,
}

/// The problems of one file. The text of the file is kept to convert byte offsets to line numbers.
pub(super) struct Problems<'a> {
    text: &'a str,
    list: Vec<Problem>,
}

impl<'a> Problems<'a> {
    pub(super) fn new(text: &'a str) -> Self {
        Problems { text, list: Vec::new() }
    }

    /// Adds a problem that makes the file unusable.
    pub(super) fn error(&mut self, at: Range<usize>, what: String) {
        self.push(at, what, true);
    }

    /// Adds a warning: a problem that reviewers should see but that leaves the file usable.
    pub(super) fn lint(&mut self, at: Range<usize>, what: String) {
        self.push(at, what, false);
    }

    fn push(&mut self, at: Range<usize>, what: String, fatal: bool) {
        let start = at.start.min(self.text.len());
        let line = 1 + self.text.as_bytes()[..start].iter().filter(|&&b| b == b'\n').count();
        // Messages of the parser can have several lines; a problem has one.
        let what = what.split_whitespace().collect::<Vec<_>>().join(" ");
        self.list.push(Problem { line, what, fatal });
    }

    pub(super) fn any_fatal(&self) -> bool {
        self.list.iter().any(|problem| problem.fatal)
    }

    /// Converts the first fatal problem to an error, which also states the number of other fatal
    /// problems.
    pub(super) fn into_error(mut self, file: &str) -> TargetError {
        self.list.retain(|problem| problem.fatal);
        self.list.sort_by_key(|problem| problem.line);
        let further = self.list.len().saturating_sub(1);
        let (line, what) = match self.list.into_iter().next() {
            Some(problem) => (problem.line, problem.what),
            None => (1, "not a target description".into()),
        };
        TargetError::Malformed { file: file.into(), line, what, further }
    }

    /// Returns the messages of all problems, each with its line number, in the order of the lines.
    pub(super) fn lines(mut self) -> Vec<String> {
        self.list.sort_by_key(|problem| problem.line);
        self.list.into_iter().map(|p| format!("line {}: {}", p.line, p.what)).collect()
    }
}

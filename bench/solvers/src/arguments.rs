//! Command-line arguments.

/// How it is called.
pub const USAGE: &str = "usage: solvers [--repeat N] [--programs N] [--markdown]";

/// What is wanted.
pub struct Arguments {
    /// Runs of each solver.
    pub repeat: usize,
    /// Random programs.
    pub programs: u64,
    /// Whether to print a table for a page.
    pub markdown: bool,
}

impl Arguments {
    /// Reads them.
    ///
    /// # Errors
    ///
    /// What is not known, or no number.
    pub fn parse(mut words: impl Iterator<Item = String>) -> Result<Self, String> {
        let mut read = Arguments { repeat: 5, programs: 200, markdown: false };
        while let Some(word) = words.next() {
            let mut number = || {
                let value = words.next().and_then(|value| value.parse().ok());
                value.filter(|&value| value > 0).ok_or(format!("{word} takes a number"))
            };
            match word.as_str() {
                "--repeat" => read.repeat = number()? as usize,
                "--programs" => read.programs = number()?,
                "--markdown" => read.markdown = true,
                _ => return Err(format!("{word} is not known")),
            }
        }
        Ok(read)
    }
}

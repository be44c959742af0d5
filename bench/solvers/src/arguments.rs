//! Command-line arguments.

pub const USAGE: &str = "usage: solvers [--repeat N] [--programs N] [--markdown]";

pub struct Arguments {
    /// Number of runs of each solver.
    pub repeat: usize,
    /// Number of random programs.
    pub programs: u64,
    pub markdown: bool,
}

impl Arguments {
    /// Parses the arguments.
    ///
    /// # Errors
    ///
    /// If an argument is unknown or not a number.
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

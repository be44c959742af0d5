//! Result of a replay.

/// Result of a replay.
#[derive(Debug)]
pub enum Outcome {
    /// The kernel executed as many instructions as guaranteed.
    Replayed,
    /// The kernel did so with replaced results of these calls, which a test run cannot produce.
    Answered(Vec<String>),
    /// The kernel executed fewer instructions, because the path depends on inputs that a test run
    /// cannot provide.
    Open {
        /// These inputs, in the words of the witness.
        on: Vec<String>,
        /// Number of executed instructions.
        executed: u64,
    },
    /// The program has no witness.
    NoWitness,
    /// The kernel rejected the program.
    Rejected(String),
    /// The kernel rejected the program with counters, or cannot run it alone.
    NotRun(String),
    /// The kernel contradicted the witness or the guarantee.
    Different(String),
}

impl Outcome {
    /// Returns a name for tables.
    pub fn name(&self) -> &'static str {
        match self {
            Outcome::Replayed => "replayed",
            Outcome::Answered(_) => "answered",
            Outcome::Open { .. } => "open",
            Outcome::NoWitness => "no witness",
            Outcome::Rejected(_) => "rejected",
            Outcome::NotRun(_) => "not run",
            Outcome::Different(_) => "DIFFERENT",
        }
    }

    /// Returns the reason for this result.
    pub fn reason(&self) -> String {
        match self {
            Outcome::Replayed | Outcome::NoWitness => String::new(),
            Outcome::Answered(on) => on.join(", "),
            Outcome::Open { on, executed } => format!("{}: {executed} executed", on.join(", ")),
            Outcome::Rejected(reason) | Outcome::NotRun(reason) | Outcome::Different(reason) => {
                reason.clone()
            }
        }
    }
}

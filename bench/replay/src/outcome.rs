//! What a replay came to.

/// What a replay came to.
#[derive(Debug)]
pub enum Outcome {
    /// The kernel executed as many instructions as the guarantee says.
    Replayed,
    /// It did so with the answers of the witness put in place of calls which a test run cannot be
    /// made to answer so.
    Answered(Vec<String>),
    /// It executed fewer: the path depends on what a test run cannot be made to have.
    Open {
        /// What, in the words of the witness.
        on: Vec<String>,
        /// So many instructions.
        executed: u64,
    },
    /// There is no witness to replay.
    NoWitness,
    /// The kernel does not take the program.
    Rejected(String),
    /// It takes the program, but not with counters, or does not run it by itself.
    NotRun(String),
    /// It did something else.
    Different(String),
}

impl Outcome {
    /// One word.
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

    /// Why it is not another.
    pub fn reason(&self) -> String {
        match self {
            Outcome::Replayed | Outcome::NoWitness => String::new(),
            Outcome::Answered(on) => on.join(", "),
            Outcome::Open { on, executed } => format!("{}: {executed} executed", on.join(", ")),
            Outcome::Rejected(why) | Outcome::NotRun(why) | Outcome::Different(why) => why.clone(),
        }
    }
}

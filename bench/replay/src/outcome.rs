//! Outcomes of replaying the witness packet of a guarantee in the kernel.

/// Outcome of replaying the witness packet of one program's guarantee in the kernel.
#[derive(Debug)]
pub enum Outcome {
    /// The kernel executed as many instructions as guaranteed.
    Replayed,
    /// The kernel executed as many instructions as guaranteed, after the results of these helper
    /// calls were replaced by those in the witness. A test run in the kernel cannot produce these
    /// results.
    Answered(Vec<String>),
    /// The kernel executed fewer instructions, because the path depends on inputs that a test run
    /// cannot provide.
    Open {
        /// Inputs that a test run in the kernel cannot provide, as the witness names them.
        on: Vec<String>,
        /// Number of instructions that the kernel executed.
        executed: u64,
    },
    /// The program has no witness.
    NoWitness,
    /// The kernel rejected the original program, with this message.
    Rejected(String),
    /// The program was not run: the kernel rejected the version with counters in its blocks, or
    /// cannot run it alone. Contains the reason.
    NotRun(String),
    /// The kernel contradicted the witness or the guarantee, in the way that the text describes.
    Different(String),
}

impl Outcome {
    /// Returns the name of this kind of outcome, as printed in tables.
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

    /// Returns the reason for this outcome; empty if there is none.
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

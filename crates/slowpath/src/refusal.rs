//! Describes the reasons why a device cannot run a program, as data. `docs/json.md` documents the
//! format.

use serde::Serialize;
use slowpath_nfp::Refusals;

/// A reason why the device cannot run the program.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refusal {
    /// Number of the first instruction that is refused for this reason, as in `slowpath show`. Null
    /// if the reason concerns the whole program.
    pub instruction: Option<usize>,
    /// Section of that instruction, its number in the section, and its source line. Empty if the
    /// reason concerns the whole program.
    pub place: String,
    /// The missing feature of the target.
    pub reason: String,
    /// Advice; empty if only another target helps.
    pub hint: String,
    /// Number of instructions that are refused for this reason.
    pub times: usize,
    /// All refused instructions; not part of the documents.
    #[serde(skip)]
    pub instructions: Vec<usize>,
}

impl Refusal {
    /// Creates the refusal of a program that cannot be compiled because its meaning is unknown.
    pub(crate) fn not_understood(reason: String) -> Self {
        Refusal {
            instruction: None,
            place: String::new(),
            reason,
            hint: String::new(),
            times: 1,
            instructions: Vec::new(),
        }
    }

    /// Converts all reasons that the compiler has found.
    pub(crate) fn all(refusals: &Refusals) -> Vec<Self> {
        let shown = |refusal: &slowpath_nfp::Refusal| Refusal {
            instruction: refusal.slots.first().copied(),
            place: refusal.location.clone(),
            reason: refusal.reason.clone(),
            // The error text already advises another target, so the hints omit this advice.
            hint: Some(&refusal.hint)
                .filter(|hint| !hint.contains("--target ebpf"))
                .cloned()
                .unwrap_or_default(),
            times: refusal.times(),
            instructions: refusal.slots.clone(),
        };
        refusals.iter().map(shown).collect()
    }
}

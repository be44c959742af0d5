//! What a device lacks for a program, as data; the format is documented in `docs/json.md`.

use serde::Serialize;
use slowpath_nfp::Refusals;

/// Something that the device cannot run.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refusal {
    /// The first instruction that is refused for this reason, as `slowpath show` numbers them; null
    /// where it is the program as a whole.
    pub instruction: Option<usize>,
    /// Its section, its number there, its source line; empty where it is the program as a whole.
    pub place: String,
    /// What the target lacks.
    pub reason: String,
    /// What may help; empty when nothing does but another target.
    pub hint: String,
    /// How many instructions are refused for this reason.
    pub times: usize,
    /// All of them, which no document has.
    #[serde(skip)]
    pub instructions: Vec<usize>,
}

impl Refusal {
    /// What cannot be compiled because nobody knows what it does.
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

    /// All of them.
    pub(crate) fn all(refusals: &Refusals) -> Vec<Self> {
        let shown = |refusal: &slowpath_nfp::Refusal| Refusal {
            instruction: refusal.slots.first().copied(),
            place: refusal.place.clone(),
            reason: refusal.what.clone(),
            // That there is another target is said once.
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

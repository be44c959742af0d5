//! Describes the reasons why a device cannot run a program, as data.
//! `docs/reference/json.md` documents the format.

use serde::Serialize;
use slowpath_codes as codes;
use slowpath_nfp::Refusals;

/// A reason why the device cannot run the program, such as a missing feature.
#[derive(Clone, Debug, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Refusal {
    /// Code of the cause, such as `SP0602`, which `slowpath explain` describes.
    #[serde(serialize_with = "as_text")]
    #[cfg_attr(test, schemars(with = "String", extend("default" = null)))]
    pub code: codes::Code,
    /// Number of the first instruction that is refused for this reason, as in `slowpath show`. Null
    /// if the reason concerns the whole program.
    pub instruction: Option<usize>,
    /// Section of the first refused instruction, its number in the section, and its source line.
    /// Empty if the reason concerns the whole program.
    pub place: String,
    /// The feature that the target lacks, in words.
    pub reason: String,
    /// Advice for the user; empty if only another target helps.
    pub hint: String,
    /// Number of instructions that are refused for this reason.
    pub times: usize,
    /// Numbers of all refused instructions. They are not part of the JSON output.
    #[serde(skip)]
    pub(crate) instructions: Vec<usize>,
}

impl Refusal {
    /// Creates the refusal of a whole program that cannot be compiled because the compiler does not
    /// understand a part of it. `reason` names this part in words.
    pub(crate) fn not_understood(reason: String) -> Self {
        Refusal {
            code: codes::CARD_NOT_UNDERSTOOD,
            instruction: None,
            place: String::new(),
            reason,
            hint: String::new(),
            times: 1,
            instructions: Vec::new(),
        }
    }

    /// Converts the reasons for which the compiler for the SmartNIC refuses a program, in their
    /// order.
    pub(crate) fn all(refusals: &Refusals) -> Vec<Self> {
        let shown = |refusal: &slowpath_nfp::Refusal| Refusal {
            code: refusal.code,
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

fn as_text<S: serde::Serializer>(code: &codes::Code, serializer: S) -> Result<S::Ok, S::Error> {
    serializer.collect_str(code)
}

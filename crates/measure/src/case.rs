//! A path, and how the kernel can be made to take it again and again.

use std::fmt;
use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{Answer, Context, Kernel, Loaded};

use slowpath_kernel::timing::Undo;

use crate::error::MeasureError;

/// How repetitions are made to take the same path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Arrangement {
    /// They do by themselves.
    Repeated,
    /// A wrapper in front of the program takes back what the run before has changed.
    Restored(Undo),
}

impl fmt::Display for Arrangement {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Arrangement::Repeated => "repeated",
            Arrangement::Restored(_) => "restored",
        })
    }
}

/// A path of a program that can be timed.
#[derive(Clone, Debug)]
pub struct Case {
    pub(crate) object: Arc<Object>,
    pub(crate) program: usize,
    pub(crate) witness: Value,
    pub(crate) packet: Vec<u8>,
    pub(crate) context: Context,
    pub(crate) answers: Vec<Answer>,
    pub(crate) arrangement: Arrangement,
    pub(crate) action: u32,
    pub(crate) instructions: u64,
    pub(crate) later_instructions: Option<u64>,
}

impl Case {
    /// How repetitions are made to take the path.
    pub fn arrangement(&self) -> &Arrangement {
        &self.arrangement
    }

    /// What the program returns (`enum xdp_action`).
    pub fn action(&self) -> u32 {
        self.action
    }

    /// How many instructions the path takes, a 64-bit immediate load as one, as the kernel counts.
    pub fn instructions(&self) -> u64 {
        self.instructions
    }

    /// How many instructions a second packet takes if nothing is restored; `None` if it takes the
    /// same path.
    pub fn later_instructions(&self) -> Option<u64> {
        self.later_instructions
    }

    /// Helpers that are not asked, or whose answer is replaced, because the path needs another.
    pub fn answered(&self) -> Vec<&str> {
        let mut helpers: Vec<&str> = self.answers.iter().map(|a| a.helper.as_str()).collect();
        helpers.sort_unstable();
        helpers.dedup();
        helpers
    }

    /// The program in the kernel, its maps as the witness says.
    pub(crate) fn load(&self, kernel: &Kernel) -> Result<(Loaded, Installed), MeasureError> {
        let loaded = kernel.load_with_answers(&self.object, self.program, &self.answers)?;
        let installed = witness::install(&loaded, &self.witness)?;
        Ok((loaded, installed))
    }
}

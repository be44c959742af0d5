//! Options for planning a topology.

use slowpath_bpf::lift::LiftOptions;
use slowpath_specialise::Mode;
use std::path::PathBuf;

/// Options for planning a topology.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Mode of rewriting.
    pub mode: Mode,
    /// True to rewrite a program for facts from the program directly before it, whatever packets
    /// arrive there. False to use facts from the whole path.
    pub neighbours: bool,
    /// Maximum number of variants of a program at a node.
    pub variants: usize,
    /// Knowledge about maps and helpers, and the kernel's types.
    pub lift: LiftOptions,
    /// Number of threads.
    pub threads: usize,
    /// Folder for results that the next plan can use, if there is one.
    pub cache: Option<PathBuf>,
    /// Identity of this version of slowpath and of the contents of `lift`; results with another
    /// identity are not used. Besides it, results depend on programs, facts and mode.
    pub build: String,
    /// Identity of this topology.
    pub topology: String,
}

impl Default for PlanOptions {
    fn default() -> Self {
        PlanOptions {
            mode: Mode::Guard,
            neighbours: false,
            variants: 2,
            lift: LiftOptions::any_device(),
            threads: 1,
            cache: None,
            build: String::new(),
            topology: String::new(),
        }
    }
}

//! Options for planning a topology.

use slowpath_bpf::lift::LiftOptions;
use slowpath_specialise::Mode;
use std::path::PathBuf;

/// Options for planning a topology.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Mode of rewriting.
    pub mode: Mode,
    /// If true, programs are rewritten only for facts that the program directly before them
    /// establishes for any arriving packets. If false, facts from the whole path are used.
    pub neighbours: bool,
    /// Maximum number of variants of the program at one node.
    pub variants: usize,
    /// Knowledge about maps and helpers, and the kernel's types.
    pub lift: LiftOptions,
    /// Number of threads.
    pub threads: usize,
    /// Folder for results that later plans can use; `None` to store nothing.
    pub cache: Option<PathBuf>,
    /// Identity of this version of slowpath and of the contents of `lift`. Stored results with
    /// another identity are not used.
    pub build: String,
    /// Identity of this topology, to find its previous plan.
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

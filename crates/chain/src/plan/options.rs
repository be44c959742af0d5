//! Options for planning a topology.

use slowpath_bpf::lift::LiftOptions;
use slowpath_specialise::Mode;
use std::path::PathBuf;

/// Options for planning a topology.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Mode of rewriting, which decides whether rewritten programs check the facts with guards.
    pub mode: Mode,
    /// If true, programs are rewritten only for facts that the program directly before them
    /// establishes for any arriving packets. If false, facts from the whole path are used.
    pub neighbours: bool,
    /// Maximum number of rewritten versions of the program on one node.
    pub variants: usize,
    /// Assumptions about maps and helpers, and the kernel's types.
    pub lift: LiftOptions,
    /// Number of threads.
    pub threads: usize,
    /// Folder for results that later plans can use; `None` to store nothing.
    pub cache: Option<PathBuf>,
    /// Identifies this version of slowpath and the contents of `lift`. Stored results with another
    /// identity are not used.
    pub build: String,
    /// Identifies this topology, so that its previous plan can be found.
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

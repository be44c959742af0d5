//! Options for planning which nodes of a topology run rewritten programs.

use slowpath_bpf::lift::LiftOptions;
use slowpath_specialise::Mode;
use std::path::PathBuf;

/// Options for planning which nodes of a topology run rewritten programs.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// Mode of rewriting, which decides whether rewritten programs check the facts with guards.
    pub mode: Mode,
    /// If true, facts about a node's packets come only from the program directly before the node,
    /// which may receive any packets. If false, they come from the whole path.
    pub neighbours: bool,
    /// Maximum number of rewritten versions of the program on one node.
    pub variants: usize,
    /// Assumptions about maps and helpers, and the kernel's types, for the analysis of programs.
    pub lift: LiftOptions,
    /// Number of threads that work on the plan.
    pub threads: usize,
    /// Folder for results that later plans can use; `None` to store nothing.
    pub cache: Option<PathBuf>,
    /// Text that identifies this version of slowpath and the contents of `lift`. Stored results are
    /// reused only if they have the same text.
    pub build: String,
    /// Text that identifies this topology, so that its previous plan can be found.
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

//! How a topology is planned.

use slowpath_bpf::lift::LiftOptions;
use slowpath_specialise::Mode;
use std::path::PathBuf;

/// How a topology is planned.
#[derive(Clone, Debug)]
pub struct PlanOptions {
    /// How programs are rewritten.
    pub mode: Mode,
    /// Whether a program is rewritten for what the one program directly before it establishes,
    /// whatever arrives there; else for all of the path.
    pub neighbours: bool,
    /// How many rewritten variants of a program there may be at a node.
    pub variants: usize,
    /// What is known of maps and helpers, and the kernel's types.
    pub lift: LiftOptions,
    /// How many threads work.
    pub threads: usize,
    /// Where results are kept from one plan to the next, if anywhere.
    pub cache: Option<PathBuf>,
    /// Tells this slowpath, and what is in `lift`, from others, whose results are not used: that is
    /// what results rest on besides programs, facts and mode.
    pub build: String,
    /// Tells this topology from others.
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

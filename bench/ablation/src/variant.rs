//! Variants of the search: the complete one, and others with one part left out or replaced.
//!
//! Modelled on Table 4 (§ 6.3) of Krude et al., "Determination of Throughput Guarantees for
//! Processor-based SmartNICs" (CoNEXT 2021). Its variants with checks at each branch, without
//! static analysis and with separate analysis of components have counterparts here.

use slowpath_search::SearchOptions;

/// The order in which paths are examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Slowest path first. The slowness is the maximum over all components of the target, such as
    /// cores and DRAM.
    SlowestFirst,
    /// Slowest path first, in a separate search for each component of the target.
    Separate,
    /// Depth first through all paths, with a solver query at every branch, as symbolic execution
    /// does.
    EveryBranch,
}

/// The SMT solver that decides path conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// The solver of this project, [`slowpath_smt::BitSolver`].
    InHouse,
    /// The Z3 solver, called by [`slowpath_smt::Z3Solver`].
    Z3,
}

/// A configuration of the search that the study compares with others.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name of the variant in tables.
    pub name: &'static str,
    /// Enabled optimisations of the search.
    pub options: SearchOptions,
    pub order: Order,
    pub backend: Backend,
}

/// Returns all variants. The first one is the search in its default form.
pub fn variants() -> Vec<Variant> {
    let whole = Variant {
        name: "whole",
        options: SearchOptions::default(),
        order: Order::SlowestFirst,
        backend: Backend::InHouse,
    };
    let without = |name, leave_out: fn(&mut SearchOptions)| {
        let mut variant = Variant { name, ..whole };
        leave_out(&mut variant.options);
        variant
    };
    let solver_only = without("solver only", |options| {
        (options.facts, options.guess) = (false, false);
    });
    vec![
        whole,
        without("no generalisation", |options| options.generalise = false),
        without("no facts", |options| options.facts = false),
        without("no guesses", |options| options.guess = false),
        without("no folding", |options| options.fold = false),
        without("no prices", |options| options.relax = false),
        Variant { name: "separate components", order: Order::Separate, ..whole },
        Variant { name: "every branch", order: Order::EveryBranch, ..whole },
        Variant { name: "Z3", backend: Backend::Z3, ..whole },
        solver_only,
        Variant { name: "Z3 only", backend: Backend::Z3, ..solver_only },
    ]
}

//! Variants of the search: the complete one, and others with one part left out or replaced.
//!
//! Modelled on Table 4 of "throughput guarantees" (§ 6.3). Its checks at each branch, lack of
//! static analysis and separate analysis of components have counterparts here.

use slowpath_search::SearchOptions;

/// The order in which paths are examined.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// Slowest first, for all components together.
    SlowestFirst,
    /// Slowest first, for one component after the other.
    Separate,
    /// Depth first with a check at every branch, through all paths, like symbolic execution.
    EveryBranch,
}

/// The solver for conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// [`slowpath_smt::BitSolver`].
    InHouse,
    /// [`slowpath_smt::Z3Solver`].
    Z3,
}

/// A variant of the search.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Name in tables.
    pub name: &'static str,
    /// Enabled optimisations of the search.
    pub options: SearchOptions,
    /// Order of paths.
    pub order: Order,
    /// Solver.
    pub backend: Backend,
}

/// Returns all variants, starting with the search in its default form.
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

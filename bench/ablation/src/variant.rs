//! The searches that are compared: all of it, and each with one part left out or done otherwise.
//!
//! In the manner of Table 4 of "throughput guarantees" (§ 6.3), whose checks at each branch, lack
//! of static analysis and separate analysis of components have their counterparts here.

use slowpath_search::SearchOptions;

/// In which order paths are looked at.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Order {
    /// The slowest first, by all components together.
    SlowestFirst,
    /// The same, by one component after the other.
    Separate,
    /// Depth first with a check at every branch, as symbolic execution does: all paths.
    EveryBranch,
}

/// What decides conditions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Backend {
    /// [`slowpath_smt::BitSolver`].
    InHouse,
    /// [`slowpath_smt::Z3Solver`].
    Z3,
}

/// A way to search.
#[derive(Clone, Copy, Debug)]
pub struct Variant {
    /// Its name in tables.
    pub name: &'static str,
    /// What the search does to be quick.
    pub options: SearchOptions,
    /// The order of paths.
    pub order: Order,
    /// The solver.
    pub backend: Backend,
}

/// All of them; the first one is the search as users have it.
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
    let asking = without("solver only", |options| {
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
        asking,
        Variant { name: "Z3 only", backend: Backend::Z3, ..asking },
    ]
}

//! Bit-vector terms of 1 to 64 bits, and solvers for conditions over them.
//!
//! Terms are hash-consed in a [`TermPool`] and simplified on construction; each carries what is
//! known about its value ([`Domain`]: bits and an interval). Most questions of the executor are
//! answered by that alone; the rest goes to a [`Solver`], of which [`Z3Solver`] is one.
//!
//! The semantics are those of SMT-LIB's `QF_BV`, the same as `slowpath-ir`'s, extended by bytes of
//! arrays (unconstrained, or with known content) and by numbers for pairs of values. This crate knows no programs, memory, paths or costs.

mod array;
mod display;
mod error;
mod eval;
mod model;
mod pool;
mod rebuild;
mod semantics;
mod simplify;
mod solver;
mod term;
mod unsat_core;
mod z3_solver;

use slowpath_domain as domain;

pub use crate::error::SolverError;
pub use crate::eval::Evaluator;
pub use crate::model::Model;
pub use crate::pool::TermPool;
pub use crate::simplify::sum::Sum;
pub use crate::solver::{Interrupter, Outcome, Solver, SolverStatistics};
pub use crate::term::{ArrayId, Node, TermId, VarId};
pub use crate::unsat_core::minimise_core;
pub use crate::z3_solver::Z3Solver;
pub use slowpath_domain::Domain;

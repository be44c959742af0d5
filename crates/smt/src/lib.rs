//! Bit-vector terms of 1 to 64 bits, and solvers for conditions over them.
//!
//! Terms are created in a [`TermPool`], which simplifies them and stores equal terms only once. The
//! pool knows the possible values of each term as known bits and an interval ([`Domain`]). For most
//! conditions of the executor, this suffices. All other conditions go to a [`Solver`]:
//! [`BitSolver`] needs no other library; `Z3Solver` (feature `z3`) serves for comparison.
//!
//! The semantics of operators are those of SMT-LIB's `QF_BV`, as in `slowpath-ir`. Two extensions
//! are bytes of arrays (unconstrained, or with known content) and unique numbers for pairs of
//! values. The crate does not know programs, memory, paths or costs.

mod array;
mod bit_solver;
mod cross_check;
mod display;
mod error;
mod eval;
mod layered;
mod local_search;
mod model;
mod operation;
mod pool;
#[cfg(feature = "proof")]
mod proof;
mod rebuild;
mod sat;
mod semantics;
mod simplify;
mod solver;
mod term;
mod term_map;
mod unsat_core;
#[cfg(feature = "z3")]
mod z3_solver;

use slowpath_domain as domain;

pub use crate::bit_solver::BitSolver;
pub use crate::cross_check::CrossCheck;
pub use crate::error::SolverError;
pub use crate::eval::{Evaluator, EvaluatorCache};
pub use crate::local_search::nearby_model;
pub use crate::model::Model;
pub use crate::operation::Operation;
pub use crate::pool::TermPool;
#[cfg(feature = "proof")]
pub use crate::proof::{Checker, ClauseSolver, Event, Fault, Proof, Trace};
pub use crate::simplify::sum::Sum;
pub use crate::solver::{Outcome, Solver, SolverStatistics};
pub use crate::term::{ArrayId, Node, TermId, VarId};
pub use crate::unsat_core::minimise_core;
#[cfg(feature = "z3")]
pub use crate::z3_solver::Z3Solver;
pub use slowpath_domain::Domain;

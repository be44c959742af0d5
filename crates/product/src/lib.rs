//! Compares two programs: finds the paths that the same packets take in both, and asks the solver
//! for differences at the ends of these paths.
//!
//! [`Side`] is one of the two programs; both share one pool of terms. [`PathEnumerator`] enumerates
//! the satisfiable paths of a program, or only those that packets of a given path of the other
//! program take. [`lockstep()`] follows all paths of both programs together, and
//! [`StructuralEquality`] finds equal values. [`Queries`] asks the solver, and [`Equivalence`] is
//! the result. The caller chooses the initial state and the values to compare: this crate knows no
//! instruction sets, devices or maps.
//!
//! After Pnueli, Siegel and Singerman, "Translation validation" (TACAS 1998).

mod lockstep;
mod multiplications;
mod paths;
mod preconditions;
mod queries;
mod side;
mod structural_equality;
mod verdict;

pub use lockstep::{Lockstep, Order, lockstep};
pub use paths::{DrawSource, FixedDraws, NextPath, Path, PathEnumerator};
pub use preconditions::{Precondition, Preconditions};
pub use queries::{Answer, Queries};
pub use side::Side;
pub use structural_equality::{StructuralEquality, TermPair};
pub use verdict::{Equivalence, add_reason, difference};

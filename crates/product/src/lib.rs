//! Two programs over the same terms: the paths that the same packets take, and solver queries about
//! differences at their ends.
//!
//! [`Side`] is one of the programs. [`PathEnumerator`] enumerates its satisfiable paths, or those
//! that the packets of a path of the other program take. [`lockstep()`] follows all paths of both
//! programs in lockstep, and [`StructuralEquality`] finds equal values. [`Queries`] asks the
//! solver, and [`Equivalence`] is the result. The caller chooses the initial state and the values
//! to compare: this crate knows no instruction sets, devices or maps.
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

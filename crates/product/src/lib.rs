//! Two programs over the same terms: the paths that the same packets take, and solver queries about
//! differences at their ends.
//!
//! [`Side`] is one of the programs. [`PathEnumerator`] enumerates its satisfiable paths, or those
//! that the packets of a path of the other program take. [`abreast()`] follows all paths of both
//! programs in lockstep, and [`Alike`] finds equal values. [`Queries`] asks the solver, and
//! [`Equivalence`] is the result. The caller chooses the initial state and the values to compare:
//! this crate knows no instruction sets, devices or maps.
//!
//! After Pnueli, Siegel and Singerman, "Translation validation" (TACAS 1998).

mod abreast;
mod alike;
mod multiplications;
mod paths;
mod preconditions;
mod queries;
mod side;
mod verdict;

pub use abreast::{Abreast, Order, abreast};
pub use alike::{Alike, Alone};
pub use paths::{Drawing, NextPath, Path, PathEnumerator, Sequence};
pub use preconditions::{Precondition, Preconditions};
pub use queries::{Answer, Queries};
pub use side::Side;
pub use verdict::{Equivalence, difference, leave_open};

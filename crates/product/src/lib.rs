//! Two programs over the same terms: the paths that the same packets take, and questions to the
//! solver about what is different at their end.
//!
//! [`Side`] is one of the programs. [`PathEnumerator`] goes through its satisfiable paths, or through
//! those that the packets of a path of the other program take; [`abreast()`] follows all of both
//! together, and [`Alike`] tells which of their values are equal; [`Queries`] asks the solver, and
//! [`Equivalence`] is what comes out. What is compared, and what both programs start from, is up to
//! who asks: this crate knows no instruction set, no device and no maps.
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

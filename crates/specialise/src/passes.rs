//! The passes, one in each file. A pass changes a program with the help of an analysis, and returns
//! true if it changed anything. It records changes that depend on facts in the [`Log`].

mod bounds;
mod branches;
mod dead;
mod jumps;
mod liveness;
mod log;
mod lookups;
mod operands;
mod threading;
mod unroll;
mod values;

pub(crate) use bounds::merge_bounds_checks;
pub(crate) use branches::fold_branches;
pub(crate) use dead::remove_dead_code;
pub(crate) use jumps::simplify_jumps;
pub use log::Change;
pub(crate) use log::Log;
pub(crate) use lookups::inline_lookups;
pub(crate) use operands::simplify_operands;
pub(crate) use threading::thread_jumps;
pub(crate) use unroll::collapse_loops;
pub(crate) use values::simplify_values;

//! Defines the initial state of an execution. Two executions whose results are compared share this
//! state.

use rustc_hash::FxHashMap as HashMap;
use slowpath_ir::{InputId, RegionId};
use slowpath_smt::{TermId, TermPool};
use std::rc::Rc;

/// Function that returns the initial content of a region, as a term for one byte. Its argument is
/// the offset of the byte, as wide as the region's addresses.
pub type InitialByte = Rc<dyn Fn(&mut TermPool, TermId) -> TermId>;

/// Initial state of an execution: term pool, values of inputs, and memory content.
#[derive(Clone, Default)]
pub struct Start {
    /// The term pool, which the executor owns. To execute two programs over the same terms, callers
    /// move the pool from the first executor to the second one, see
    /// [`Executor::pool`](crate::Executor::pool).
    pub pool: TermPool,
    /// Values of inputs, as terms. A term must have the width of the input and lie within its
    /// limits. Each input that is not listed becomes a new unknown value.
    pub inputs: HashMap<InputId, TermId>,
    /// Initial content of regions. A region that is not listed has the content that the program
    /// states, or unknown content.
    pub initial: HashMap<RegionId, InitialByte>,
    /// True if other programs or CPUs may change shared memory at any time. Each load from shared
    /// memory, or from an unknown region, then returns a new unknown value.
    pub volatile: bool,
}

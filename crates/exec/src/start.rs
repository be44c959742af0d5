//! Common start of two executions that will be compared: terms, inputs and memory.

use rustc_hash::FxHashMap as HashMap;
use slowpath_ir::{InputId, RegionId};
use slowpath_smt::{TermId, TermPool};
use std::rc::Rc;

/// Initial content of a region: a function from the offset of a byte, as wide as the region's
/// addresses, to the term of the byte.
pub type InitialByte = Rc<dyn Fn(&mut TermPool, TermId) -> TermId>;

/// Term pool and known part of the initial state of an execution.
#[derive(Clone, Default)]
pub struct Start {
    /// The term pool. The executor owns it; callers can exchange
    /// [`Executor::pool`](crate::Executor::pool) between executors that start from the same terms.
    pub pool: TermPool,
    /// Values of inputs, with the width of the input and within its limits. All other inputs become
    /// new unknowns.
    pub inputs: HashMap<InputId, TermId>,
    /// Initial content of regions. Other regions have the content that the program states, or
    /// unknown content.
    pub initial: HashMap<RegionId, InitialByte>,
    /// True if other programs or CPUs may write to shared state at any time. Each load from shared
    /// state, or from an unknown region, then returns a new unknown.
    pub volatile: bool,
}

//! What an execution starts from when it is to be compared with another one: terms, inputs and
//! memory that both have in common.

use rustc_hash::FxHashMap as HashMap;
use slowpath_ir::{InputId, RegionId};
use slowpath_smt::{TermId, TermPool};
use std::rc::Rc;

/// The byte that a region holds at an offset before the first instruction, as a term; the offset is
/// as wide as the region's addresses.
pub type InitialByte = Rc<dyn Fn(&mut TermPool, TermId) -> TermId>;

/// Terms, and what is not unknown at the start of a run.
#[derive(Clone, Default)]
pub struct Start {
    /// Where terms are made. Execution owns it; [`Executor::pool`](crate::Executor::pool) can be
    /// exchanged between executions that start from the same terms.
    pub pool: TermPool,
    /// Values of inputs, as wide as these and within their limits; others are new unknowns.
    pub inputs: HashMap<InputId, TermId>,
    /// Content of regions; others have unknown content, or the one that the program knows.
    pub initial: HashMap<RegionId, InitialByte>,
    /// Whether others write to shared state all the time: each load of it yields anything. So do
    /// loads of which it is open whether they are of shared state.
    pub volatile: bool,
}

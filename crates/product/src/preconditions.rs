//! What the packets of a comparison are restricted to, as the blocks of a program show it.

use slowpath_exec::Executor;
use slowpath_ir::BlockId;
use slowpath_smt::TermId;

/// What has to hold for a case to be compared.
pub struct Precondition {
    /// The condition, one bit.
    pub term: TermId,
    /// What is left out where it does not hold, for the user.
    pub sentence: &'static str,
}

/// Cases that are left out of a comparison.
pub trait Preconditions {
    /// What has to hold in the block that was executed last.
    fn of_block(&self, executor: &mut Executor, block: BlockId) -> Vec<Precondition>;

    /// Notes that a case is left out.
    fn exclude(&mut self, precondition: &Precondition);

    /// Whether a case is left out already.
    fn is_excluded(&self, precondition: &Precondition) -> bool;
}

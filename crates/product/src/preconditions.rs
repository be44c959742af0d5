//! Restrictions of a comparison to some packets, found in the blocks of a program.

use slowpath_exec::Executor;
use slowpath_ir::BlockId;
use slowpath_smt::TermId;

/// A condition under which a case is compared.
pub struct Precondition {
    /// The condition, 1 bit.
    pub term: TermId,
    /// Description, for users, of the cases that are left out where the condition does not hold.
    pub sentence: &'static str,
}

/// The restrictions of a comparison, and the cases that they leave out.
pub trait Preconditions {
    /// Returns the preconditions of the block that was executed last.
    fn of_block(&self, executor: &mut Executor, block: BlockId) -> Vec<Precondition>;

    /// Records that a case is left out.
    fn exclude(&mut self, precondition: &Precondition);

    /// Returns true if a case is left out already.
    fn is_excluded(&self, precondition: &Precondition) -> bool;
}

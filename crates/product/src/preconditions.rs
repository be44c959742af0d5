//! Preconditions: conditions that restrict a comparison to some packets. They are found in the
//! blocks of a program.

use slowpath_exec::Executor;
use slowpath_ir::BlockId;
use slowpath_smt::TermId;

/// A condition on the packets that are compared.
pub struct Precondition {
    /// The condition, 1 bit.
    pub term: TermId,
    /// Description, for users, of the packets that the condition excludes.
    pub sentence: &'static str,
}

/// Preconditions of a comparison, with a record of the packets that are left out.
pub trait Preconditions {
    /// Returns the preconditions of `block`, which has just been executed.
    fn of_block(&self, executor: &mut Executor, block: BlockId) -> Vec<Precondition>;

    /// Records that packets that violate a precondition are left out.
    fn exclude(&mut self, precondition: &Precondition);

    /// Returns true if packets that violate the precondition are already left out.
    fn is_excluded(&self, precondition: &Precondition) -> bool;
}

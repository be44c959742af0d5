//! Finds preconditions in the blocks of a program. A precondition is a condition that restricts a
//! comparison to some packets.

use slowpath_exec::Executor;
use slowpath_ir::BlockId;
use slowpath_smt::TermId;

/// A condition on packets. Packets that violate it are left out of the comparison.
pub struct Precondition {
    /// The condition, as a term of 1 bit.
    pub term: TermId,
    /// Sentence for users that describes the packets that are left out.
    pub sentence: &'static str,
}

/// The preconditions of a comparison: conditions that packets must meet to be compared.
/// Implementations also record the preconditions that had an effect.
pub trait Preconditions {
    /// Returns the preconditions that follow from a block, which has just been executed.
    fn of_block(&self, executor: &mut Executor, block: BlockId) -> Vec<Precondition>;

    /// Records that the comparison leaves out packets that violate the precondition.
    fn exclude(&mut self, precondition: &Precondition);

    /// Returns true if the comparison already leaves out packets that violate the precondition.
    fn is_excluded(&self, precondition: &Precondition) -> bool;
}

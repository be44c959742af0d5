//! The parts of the solver that concretisation uses: session, inputs and budget.

use crate::layered::budget::Budget;
use crate::layered::inputs::Inputs;
use crate::layered::session::Session;

/// The parts of the solver that concretisation uses.
pub(in crate::layered) struct SolverContext<'a, E> {
    pub(in crate::layered) session: &'a mut Session<E>,
    pub(in crate::layered) inputs: &'a mut Inputs,
    pub(in crate::layered) budget: &'a Budget,
}

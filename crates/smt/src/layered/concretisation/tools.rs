//! What concretisation needs of the solver around it: a session that answers, inputs, how much it may take.

use crate::layered::budget::Budget;
use crate::layered::inputs::Inputs;
use crate::layered::session::Session;

/// What concretisation needs to know of its surroundings.
pub(in crate::layered) struct Tools<'a, E> {
    pub(in crate::layered) session: &'a mut Session<E>,
    pub(in crate::layered) inputs: &'a mut Inputs,
    pub(in crate::layered) budget: &'a Budget,
}

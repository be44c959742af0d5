//! A bundle of the session, inputs and budget of the layered solver, which concretisation needs in
//! every call.

use crate::layered::budget::Budget;
use crate::layered::inputs::Inputs;
use crate::layered::session::Session;

pub(in crate::layered) struct SolverContext<'a, E> {
    pub(in crate::layered) session: &'a mut Session<E>,
    pub(in crate::layered) inputs: &'a mut Inputs,
    pub(in crate::layered) budget: &'a Budget,
}

//! What concretisation needs of the solver around it: a session that answers, inputs, when to stop.

use crate::layered::inputs::Inputs;
use crate::layered::session::Session;
use slowpath_stop::Stop;

/// What concretisation needs to know of its surroundings.
pub(in crate::layered) struct Tools<'a, E> {
    pub(in crate::layered) session: &'a mut Session<E>,
    pub(in crate::layered) inputs: &'a mut Inputs,
    pub(in crate::layered) stop: &'a Stop,
}

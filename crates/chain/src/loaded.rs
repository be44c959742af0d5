//! Objects of a chain, read from their files.

use slowpath_bpf::Object;
use std::sync::Arc;

/// The object of a member, and the number of the member's program in it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The object.
    pub object: Arc<Object>,
    /// The program's number in [`Object::programs`].
    pub program: usize,
}

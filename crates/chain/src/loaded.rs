//! An object of a chain, as read from its file, with the number of the chain's program in it.

use slowpath_bpf::Object;
use std::sync::Arc;

/// An object of a chain, and the index of the chain's program in it.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The object.
    pub object: Arc<Object>,
    /// Index of the program in [`Object::programs`].
    pub program: usize,
}

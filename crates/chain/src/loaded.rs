//! An object of a chain, as read from its file, with the number of the chain's program in it.

use slowpath_bpf::Object;
use std::sync::Arc;

/// A parsed object file of a chain, and the index of the program in it that belongs to the chain.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The parsed object file.
    pub object: Arc<Object>,
    /// Index of the program in [`Object::programs`].
    pub program: usize,
}

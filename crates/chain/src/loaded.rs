//! The objects that a chain names, read.

use slowpath_bpf::Object;
use std::sync::Arc;

/// The object of a member, read, and which of its programs is meant.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The object.
    pub object: Arc<Object>,
    /// The program's number in [`Object::programs`].
    pub program: usize,
}

//! An object of a chain, as read from its file, with the index of the chain's program in it.

use slowpath_bpf::{Object, ProgramType};
use std::sync::Arc;

/// A parsed object file of a chain, and the index of the program in it that belongs to the chain.
#[derive(Clone, Debug)]
pub struct Loaded {
    /// The parsed object file.
    pub object: Arc<Object>,
    /// Index of the program in [`Object::programs`].
    pub program: usize,
}

impl Loaded {
    /// Combines an object with the index of its program.
    ///
    /// # Errors
    /// Returns a message if the program gets a `struct __sk_buff`, because chains consist of XDP
    /// programs.
    pub fn new(object: Arc<Object>, program: usize) -> Result<Loaded, String> {
        match object.programs.get(program) {
            Some(entry) if ProgramType::of(entry.kind).is_some() && !entry.kind.is_xdp() => {
                Err(format!(
                    "program {} is of type {}; only XDP programs form chains",
                    entry.name, entry.kind
                ))
            }
            _ => Ok(Loaded { object, program }),
        }
    }
}

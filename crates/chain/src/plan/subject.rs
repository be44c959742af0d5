//! Programs of a planned network, as read from their files and after linking. Each program is
//! identified by a digest of its content.

use crate::{ChainError, Loaded};
use slowpath_bpf::{BpfProgram, Btf, Object};
use slowpath_cache::Key;
use std::sync::Arc;

/// A program of a topology, as read from its file.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The object, and the index of the program in it.
    pub loaded: Loaded,
    /// Digest of the object's file, in hexadecimal. Programs with equal digests share all results.
    pub digest: String,
}

pub(super) struct Linked {
    pub object: Arc<Object>,
    pub program: BpfProgram,
    /// Digest that identifies the content of the program.
    pub key: Key,
}

impl Linked {
    /// Links a program. `line` is the line of the description that names the program, for error
    /// messages.
    pub fn of(
        subject: &Subject,
        kernel: Option<&Btf>,
        (name, line): (&str, u64),
    ) -> Result<Linked, ChainError> {
        let Loaded { object, program: number } = &subject.loaded;
        let program = object.link(*number, kernel);
        let program = program.map_err(|error| ChainError::at(line, format!("{name}: {error}")))?;
        // The linked code is part of the key, because linking depends on the kernel's types.
        let code = format!("{:?} {:?}", program.insns, program.kfuncs);
        let key = Key::of(&("program", &subject.digest, number, code));
        Ok(Linked { object: Arc::clone(object), program, key })
    }

    /// Links the rewritten version of this program. `bytes` is the object that contains it. Returns
    /// `None` if it cannot be linked.
    pub fn rewritten(&self, bytes: &[u8], kernel: Option<&Btf>) -> Option<Linked> {
        let object = Object::parse(bytes).ok()?;
        let name = &self.program.name;
        let number = object.programs.iter().position(|program| program.name == *name)?;
        let program = object.link(number, kernel).ok()?;
        let key = Key::of(&("rewritten", Key::bytes(bytes), number));
        Some(Linked { object: Arc::new(object), program, key })
    }
}

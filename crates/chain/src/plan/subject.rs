//! A program that is planned for: linked, and told from others by its content.

use super::key::Key;
use crate::{ChainError, Loaded};
use slowpath_bpf::{BpfProgram, Btf, Object};
use std::sync::Arc;

/// A program of a topology, read.
#[derive(Clone, Debug)]
pub struct Subject {
    /// The object, and which of its programs is meant.
    pub loaded: Loaded,
    /// The digest of the object's file, in hexadecimal: what is known of one program is known of all
    /// with the same content.
    pub digest: String,
}

/// A program, linked.
pub(super) struct Linked {
    pub object: Arc<Object>,
    pub program: BpfProgram,
    /// Tells it from programs with another content.
    pub key: Key,
}

impl Linked {
    /// The program of a subject, which the description names in a line.
    pub fn of(
        subject: &Subject,
        kernel: Option<&Btf>,
        (name, line): (&str, u64),
    ) -> Result<Linked, ChainError> {
        let Loaded { object, program: number } = &subject.loaded;
        let program = object.link(*number, kernel);
        let program = program.map_err(|error| ChainError::at(line, format!("{name}: {error}")))?;
        // What the types of the kernel do to it shows there.
        let code = format!("{:?} {:?}", program.insns, program.kfuncs);
        let key = Key::of(&("program", &subject.digest, number, code));
        Ok(Linked { object: Arc::clone(object), program, key })
    }

    /// A program that this one was rewritten to.
    pub fn rewritten(&self, bytes: &[u8], kernel: Option<&Btf>) -> Option<Linked> {
        let object = Object::parse(bytes).ok()?;
        let name = &self.program.name;
        let number = object.programs.iter().position(|program| program.name == *name)?;
        let program = object.link(number, kernel).ok()?;
        let key = Key::of(&("rewritten", Key::bytes(bytes), number));
        Some(Linked { object: Arc::new(object), program, key })
    }
}

//! Reads BPF objects, from the bytes of an ELF file to programs with resolved instructions.
//!
//! [`Object::parse`] reads the parts that do not depend on a kernel. [`Object::link`] builds one
//! program, with CO-RE relocations for the types of a given kernel. A faulty program does not
//! prevent the linking of others. [`Object::join`] merges several objects into one;
//! [`Object::write`] returns the bytes of an object file with linked programs. This module accesses
//! no files.
//!
//! Source: the behaviour of libbpf 1.x, and of older loaders for legacy objects.

mod check;
mod entry;
mod functions;
mod joined;
mod kind;
mod link;
mod parsed;
mod program;
mod references;
mod run_config;
mod settings;
mod stack;
#[cfg(test)]
mod tests;
mod unlinked;
mod write;

pub use entry::ProgramEntry;
pub use joined::{Joined, Part};
pub use kind::ProgramKind;
pub use parsed::Object;
pub use program::{BpfProgram, Subprogram, Unresolved};
pub use run_config::RunConfig;
pub use stack::StackUse;
pub use unlinked::{Referent, UnlinkedObject, UnlinkedProgram, VariableKind};
pub use write::WriteError;

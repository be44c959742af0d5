//! BPF objects: from the bytes of an ELF file to programs with resolved instructions.
//!
//! [`Object::parse`] reads everything that does not depend on a kernel; [`Object::link`] builds one
//! program, with CO-RE relocations against a given kernel's types. A fault in one program does not
//! keep the others from being linked. [`Object::join`] makes one object of several;
//! [`Object::write`] gives the bytes of a file with linked programs. No file is read here.
//!
//! Source: the behaviour of libbpf 1.x, and of the loaders before it for legacy objects.

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
mod write;

pub use entry::ProgramEntry;
pub use joined::{Joined, Part};
pub use kind::ProgramKind;
pub use parsed::Object;
pub use program::{BpfProgram, Subprogram, Unresolved};
pub use run_config::RunConfig;
pub use stack::StackUse;
pub use write::WriteError;

//! Reads, changes and writes BTF, the type information of BPF objects and of the kernel.
//!
//! [`Btf::parse`] reads the section `.BTF` or a file such as `/sys/kernel/btf/vmlinux`. Malformed
//! input gives an error, or a later query finds nothing; it never causes a panic or an endless
//! loop. Split BTF of modules is not supported. [`Btf::encode`] writes a section `.BTF`.
//!
//! Source: the kernel's `Documentation/bpf/btf.rst`.

mod append;
mod edit;
mod encode;
mod ext;
mod parse;
mod query;
mod special;
#[cfg(test)]
mod tests;
mod types;

pub(crate) use append::Shift;
pub(crate) use encode::{Strings, section};
pub(crate) use ext::{BtfExt, CoreRecord, FuncRecord, LineRecord, encode as encode_ext};
pub use query::{Member, essential_name};
pub use types::{
    Btf, EnumType, FuncLinkage, IntType, Kind, Param, RawMember, SecVar, StringId, Type, TypeId,
    VarLinkage, Variant,
};

//! Reads BPF object files as compilers write them, and translates the programs in them for
//! analysis.
//!
//! The crate covers ELF, BTF, map definitions, relocations, the instruction set, and the meaning of
//! instructions.
//!
//! [`Object::parse`] reads an object. [`Object::link`] builds one of its programs in the form that
//! the kernel sees. Maps, global data, calls and CO-RE relocations are then resolved, and each
//! instruction has its source line. [`lift::lift`] translates the instructions to micro-operations.
//! This crate does not deal with prices, solvers or searches. It reads no files and makes no system
//! calls.
//!
//! Sources: RFC 9669 for instructions, the kernel's `Documentation/bpf` for BTF and relocations,
//! and the behaviour of libbpf for conventions.

pub mod btf;
mod context;
mod core_relo;
mod elf;
mod errno;
mod error;
pub mod insn;
pub mod license;
pub mod lift;
mod line_info;
pub mod maps;
mod names;
mod object;

pub use self::object::{
    BpfProgram, Joined, Object, Part, ProgramEntry, ProgramKind, Referent, RunConfig, StackUse,
    Subprogram, UnlinkedObject, UnlinkedProgram, Unresolved, VariableKind, WriteError,
};
pub use btf::Btf;
pub use context::{
    Access, CGROUP_SKB, Content, Field, FirstByte, PROGRAM_TYPES, ProgramType, ReturnCode,
    SCHED_ACT, SCHED_CLS, SOCKET_FILTER, XDP, XDP_ACTIONS,
};
pub use errno::errno_name;
pub use error::ObjectError;
pub use line_info::LineInfo;
pub use maps::{MAPPABLE, MapDef, MapKind, READ_ONLY, SlotRef, StatedValue, Variable};

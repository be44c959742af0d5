//! Applies CO-RE relocations, which adapt instructions to the type layouts of the running kernel.
//!
//! [`apply`] finds the kernel's counterpart of the type, field or constant that an instruction was
//! compiled for. It puts the kernel's offset, size or number into the instruction. A missing
//! counterpart is an error, which the caller turns into an unresolved instruction, as libbpf does.
//!
//! Source: the behaviour of libbpf (`relo_core.c`), and its documentation of the macros in
//! `bpf_core_read.h`.

mod compat;
mod kind;
mod patch;
mod spec;
#[cfg(test)]
mod tests;
mod value;

use crate::Btf;
use crate::btf::CoreRecord;
use crate::insn::Insn;
use kind::RelocationKind;
use spec::Spec;
use value::Value;

/// Applies a CO-RE relocation to the instruction with index `at`. The error names the type, field
/// or constant, and the reason why it cannot be resolved.
pub(crate) fn apply(
    insns: &mut [Insn],
    at: usize,
    record: &CoreRecord,
    local: &Btf,
    kernel: Option<&Btf>,
) -> Result<(), String> {
    let kind = RelocationKind::new(record.kind)
        .ok_or_else(|| format!("unknown kind {} of CO-RE relocation", record.kind))?;
    let spec = Spec::local(local, record.ty, local.string(record.access), kind)
        .ok_or_else(|| "a CO-RE relocation that does not match the object's types".to_owned())?;
    let fault = |what: &str| format!("{}: {what}", spec.describe(local));
    let original = value::of(local, kind, Some(&spec)).map_err(fault)?;
    // A local type number does not depend on the kernel.
    let resolved = if kind == RelocationKind::TypeIdLocal {
        original
    } else {
        let kernel = kernel
            .ok_or_else(|| fault("depends on the kernel's types; name them with --btf FILE"))?;
        find(local, kernel, kind, &spec).map_err(fault)?
    };
    let sizes = value::sizes(local, &original, kernel.unwrap_or(local), &resolved);
    patch::apply(insns, at, &original, &resolved, sizes).map_err(fault)
}

/// Computes the number to put into the instruction, such as a field offset, from the kernel's
/// types. Fails if the kernel has several types of this name that give different numbers.
fn find(
    local: &Btf,
    kernel: &Btf,
    kind: RelocationKind,
    spec: &Spec,
) -> Result<Value, &'static str> {
    let name = crate::btf::essential_name(local.type_name(spec.root));
    if name.is_empty() {
        return Err("types without a name have no counterpart in the kernel");
    }
    let local_kind = local.kind(spec.root);
    let mut found: Option<(Spec, Value)> = None;
    for candidate in kernel.with_essential_name(name) {
        if !compat::same_kind(local_kind, kernel.kind(candidate)) {
            continue;
        }
        let Some(path) = spec.counterpart(local, kernel, candidate, kind) else { continue };
        let value = value::of(kernel, kind, Some(&path))?;
        match &found {
            None => found = Some((path, value)),
            // libbpf rejects such an ambiguity as well (`bpf_core_calc_relo_insn`).
            Some((first, known)) => {
                if first.bit_offset != path.bit_offset || known.number != value.number {
                    return Err("the kernel has several different types of this name");
                }
            }
        }
    }
    match found {
        Some((_, value)) => Ok(value),
        // A missing field can be a valid result (`bpf_core_field_exists`).
        None => value::of(kernel, kind, None),
    }
}

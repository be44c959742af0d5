//! Variables that loaders may set before they load a program: what the object says of them need not be
//! what the program runs with.

use slowpath_bpf::btf::{Kind, TypeId};
use slowpath_bpf::insn::{Imm64, Insn};
use slowpath_bpf::{BpfProgram, Btf, Object};

/// Longest chain of types behind a variable that is followed.
const DEPTH: u32 = 32;

/// What a program, called `name`, relies on where it reads variables that loaders may set
/// (`const volatile`; without types, all read-only ones): a sentence for each, in the order of the
/// object's symbols.
pub(crate) fn settable(name: &str, object: &Object, program: &BpfProgram) -> Vec<String> {
    let reads = |map: usize, first: u64, behind: u64| {
        program.insns.iter().any(|insn| match insn {
            Insn::LoadImm64 { value: Imm64::MapValue { map: number, offset }, .. } => {
                *number as usize == map && (first..behind).contains(&u64::from(*offset))
            }
            _ => false,
        })
    };
    let mut sentences = Vec::new();
    for variable in &object.variables {
        let Some(map) = object.maps.get(variable.map).filter(|map| map.read_only) else { continue };
        let behind = variable.offset.saturating_add(variable.size.max(1));
        let may_be_set = object.btf.as_ref().is_none_or(|btf| is_volatile(btf, &variable.name));
        if may_be_set && reads(variable.map, variable.offset, behind) {
            let what = &variable.name;
            sentences.push(format!("{what} in {} of {name} is as its object has it", map.name));
        }
    }
    sentences
}

/// Whether a variable is volatile, which one that nobody sets need not be.
fn is_volatile(btf: &Btf, name: &str) -> bool {
    let Some(variable) = btf.find(name, |kind| matches!(kind, Kind::Var { .. })) else {
        return false;
    };
    let Kind::Var { ty, .. } = btf.kind(variable) else { return false };
    let mut ty: TypeId = *ty;
    for _ in 0..DEPTH {
        ty = match btf.kind(ty) {
            Kind::Volatile(_) => return true,
            Kind::Const(of) | Kind::Typedef(of) | Kind::Restrict(of) | Kind::TypeTag(of) => *of,
            Kind::Array { element, .. } => *element,
            _ => return false,
        };
    }
    false
}

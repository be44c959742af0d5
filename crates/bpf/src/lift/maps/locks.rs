//! Finds locks in map values (`struct bpf_spin_lock`). Without a lock, updates with `BPF_F_LOCK`
//! fail (`btf_parse_fields` of `kernel/bpf/btf.c`).

use crate::btf::{Kind, TypeId};
use crate::maps::MapDef;
use crate::{Btf, Object};

/// Knowledge about whether the values of a map contain a lock.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::lift) enum Lock {
    Absent,
    Present,
    /// This depends on the kernel or loader: the lock is inside a nested structure, or the value
    /// type has the form that old loaders need.
    Perhaps,
}

/// Maximum nesting depth of types in which locks are searched for.
const DEPTH: u32 = 8;

/// Finds out whether the values of a map contain a lock.
pub(in crate::lift) fn lock_of(object: &Object, def: &MapDef) -> Lock {
    let Some(btf) = &object.btf else { return Lock::Absent };
    let Some(value) = def.value_type else {
        let name = format!("____btf_map_{}", def.name);
        let typed = btf.find(&name, |kind| matches!(kind, Kind::Struct { .. })).is_some();
        return if typed { Lock::Perhaps } else { Lock::Absent };
    };
    let members = btf.members(btf.resolve(value));
    if members.iter().any(|member| is_lock(btf, member.ty)) {
        Lock::Present
    } else if members.iter().any(|member| holds_lock(btf, member.ty, DEPTH)) {
        Lock::Perhaps
    } else {
        Lock::Absent
    }
}

fn is_lock(btf: &Btf, ty: TypeId) -> bool {
    btf.type_name(btf.resolve(ty)) == "bpf_spin_lock"
}

fn holds_lock(btf: &Btf, ty: TypeId, depth: u32) -> bool {
    if is_lock(btf, ty) {
        return true;
    }
    let Some(depth) = depth.checked_sub(1) else { return true };
    let ty = btf.resolve(ty);
    match btf.kind(ty) {
        Kind::Array { element, .. } => holds_lock(btf, *element, depth),
        _ => btf.members(ty).iter().any(|member| holds_lock(btf, member.ty, depth)),
    }
}

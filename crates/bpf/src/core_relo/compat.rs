//! Compares types of the object with types of the kernel, by the rules of libbpf.

use crate::Btf;
use crate::btf::{Kind, TypeId, essential_name};

/// Maximum nesting of a comparison; more deeply nested types count as different.
const DEPTH: u32 = 32;
/// Maximum number of types and members that one comparison visits.
const BUDGET: u32 = 1 << 16;

pub(super) fn same_kind(a: &Kind, b: &Kind) -> bool {
    std::mem::discriminant(a) == std::mem::discriminant(b)
}

/// Returns true if an instruction that accesses a field of the object's type `a` can also access a
/// field of the kernel's type `b`. Does not compare the members of structures.
pub(super) fn fields_compatible(local: &Btf, a: TypeId, kernel: &Btf, b: TypeId) -> bool {
    let (mut a, mut b) = (a, b);
    for _ in 0..DEPTH {
        (a, b) = (local.resolve(a), kernel.resolve(b));
        let composite = |kind: &Kind| matches!(kind, Kind::Struct { .. } | Kind::Union { .. });
        match (local.kind(a), kernel.kind(b)) {
            (x, y) if composite(x) && composite(y) => return true,
            (Kind::Ptr(_), Kind::Ptr(_)) | (Kind::Float { .. }, Kind::Float { .. }) => return true,
            (Kind::Enum(_), Kind::Enum(_)) | (Kind::Fwd { .. }, Kind::Fwd { .. }) => {
                let (x, y) = names(local, a, kernel, b);
                return x.is_empty() || y.is_empty() || x == y;
            }
            // Integers with a bit offset are the old encoding of bit fields.
            (Kind::Int(x), Kind::Int(y)) => return x.offset == 0 && y.offset == 0,
            (Kind::Array { element: x, .. }, Kind::Array { element: y, .. }) => (a, b) = (*x, *y),
            _ => return false,
        }
    }
    false
}

fn names<'a>(local: &'a Btf, a: TypeId, kernel: &'a Btf, b: TypeId) -> (&'a str, &'a str) {
    (essential_name(local.type_name(a)), essential_name(kernel.type_name(b)))
}

/// Returns true if two types of the same name have the same structure of pointers, arrays and
/// parameters. Does not compare members of structures.
pub(super) fn types_compatible(local: &Btf, a: TypeId, kernel: &Btf, b: TypeId) -> bool {
    Comparison { local, kernel, budget: BUDGET }.compatible(a, b, DEPTH)
}

/// Returns true if the kernel's type has every member that the object's type has.
pub(super) fn types_match(local: &Btf, a: TypeId, kernel: &Btf, b: TypeId) -> bool {
    Comparison { local, kernel, budget: BUDGET }.matches(a, b, false, DEPTH)
}

struct Comparison<'a> {
    local: &'a Btf,
    kernel: &'a Btf,
    budget: u32,
}

impl<'a> Comparison<'a> {
    fn spend(&mut self, depth: u32) -> Option<u32> {
        self.budget = self.budget.checked_sub(1)?;
        depth.checked_sub(1)
    }

    fn compatible(&mut self, a: TypeId, b: TypeId, depth: u32) -> bool {
        let Some(depth) = self.spend(depth) else { return false };
        let (local, kernel) = (self.local, self.kernel);
        let (a, b) = (local.resolve(a), kernel.resolve(b));
        match (local.kind(a), kernel.kind(b)) {
            (Kind::Int(x), Kind::Int(y)) => x.offset == 0 && y.offset == 0,
            (Kind::Ptr(x), Kind::Ptr(y)) => self.compatible(*x, *y, depth),
            (Kind::Array { element: x, .. }, Kind::Array { element: y, .. }) => {
                self.compatible(*x, *y, depth)
            }
            (Kind::FuncProto { ret: x, params: xs }, Kind::FuncProto { ret: y, params: ys }) => {
                xs.len() == ys.len()
                    && xs.iter().zip(ys).all(|(x, y)| self.compatible(x.ty, y.ty, depth))
                    && self.compatible(*x, *y, depth)
            }
            (x, y) => {
                same_kind(x, y)
                    && matches!(
                        x,
                        Kind::Void
                            | Kind::Struct { .. }
                            | Kind::Union { .. }
                            | Kind::Enum(_)
                            | Kind::Fwd { .. }
                    )
            }
        }
    }

    fn matches(&mut self, a: TypeId, b: TypeId, behind_pointer: bool, depth: u32) -> bool {
        let Some(depth) = self.spend(depth) else { return false };
        let (local, kernel) = (self.local, self.kernel);
        let (a, b) = (local.resolve(a), kernel.resolve(b));
        let (x, y) = names(local, a, kernel, b);
        if x != y {
            return false;
        }
        match (local.kind(a), kernel.kind(b)) {
            (Kind::Void, Kind::Void) => true,
            (Kind::Fwd { union: x }, Kind::Fwd { union: y }) => x == y,
            (Kind::Fwd { union }, Kind::Struct { .. })
            | (Kind::Struct { .. }, Kind::Fwd { union }) => behind_pointer && !union,
            (Kind::Fwd { union }, Kind::Union { .. })
            | (Kind::Union { .. }, Kind::Fwd { union }) => behind_pointer && *union,
            (Kind::Int(x), Kind::Int(y)) => x.size == y.size && x.signed == y.signed,
            (Kind::Float { size: x }, Kind::Float { size: y }) => x == y,
            (Kind::Ptr(x), Kind::Ptr(y)) => self.matches(*x, *y, true, depth),
            (Kind::Array { element: x, len: n, .. }, Kind::Array { element: y, len: m, .. }) => {
                n == m && self.matches(*x, *y, behind_pointer, depth)
            }
            (Kind::Enum(x), Kind::Enum(y)) => {
                let has = |wanted: &str| {
                    y.variants.iter().any(|v| essential_name(kernel.string(v.name)) == wanted)
                };
                x.size == y.size
                    && x.variants.iter().all(|v| has(essential_name(local.string(v.name))))
            }
            (Kind::Struct { members: xs, .. }, Kind::Struct { members: ys, .. })
            | (Kind::Union { members: xs, .. }, Kind::Union { members: ys, .. }) => {
                behind_pointer
                    || xs.iter().all(|x| {
                        let name = local.string(x.name);
                        let mut same = ys.iter().filter(|y| kernel.string(y.name) == name);
                        same.any(|y| self.matches(x.ty, y.ty, false, depth))
                    })
            }
            (Kind::FuncProto { ret: x, params: xs }, Kind::FuncProto { ret: y, params: ys }) => {
                xs.len() == ys.len()
                    && xs.iter().zip(ys).all(|(x, y)| self.matches(x.ty, y.ty, false, depth))
                    && self.matches(*x, *y, false, depth)
            }
            _ => false,
        }
    }
}

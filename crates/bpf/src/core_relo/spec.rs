//! Describes the access path of a CO-RE relocation, which leads from a type through its members and
//! array elements.

use super::compat;
use super::kind::RelocationKind;
use crate::Btf;
use crate::btf::{Kind, RawMember, TypeId, essential_name};

/// Maximum number of members and elements in an access path; compilers write only a few.
const MAX_ACCESSORS: usize = 64;

/// One step of an access path, as in libbpf (`struct bpf_core_accessor`): a named member or an
/// array element.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Accessor {
    /// Structure that contains the member, or type of the array element.
    pub ty: TypeId,
    /// Index of the member or element.
    pub index: u32,
    /// True for a named member of a structure or a constant of an enumeration; false for an array
    /// element.
    pub named: bool,
}

/// An access path: the type at which it starts, and the members and array elements on the way.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Spec {
    pub root: TypeId,
    pub accessors: Vec<Accessor>,
    /// Offset of the path's end from the start of the root type, in bits.
    pub bit_offset: u64,
}

impl Spec {
    /// Parses the path `access` of a relocation in the object, which consists of indices separated
    /// by colons. Returns `None` if the types do not have this path.
    pub fn local(btf: &Btf, root: TypeId, access: &str, kind: RelocationKind) -> Option<Spec> {
        let mut spec = Spec { root, accessors: Vec::new(), bit_offset: 0 };
        if kind.of_type() {
            return (access == "0").then_some(spec);
        }
        let mut path = Vec::new();
        for number in access.split(':') {
            path.push(number.parse::<u32>().ok()?);
        }
        let (first, rest) = path.split_first()?;
        if rest.len() > MAX_ACCESSORS {
            return None;
        }
        if kind.of_enum() {
            let Kind::Enum(e) = btf.kind(btf.resolve(root)) else { return None };
            if !rest.is_empty() || *first as usize >= e.variants.len() {
                return None;
            }
            spec.accessors.push(Accessor { ty: btf.resolve(root), index: *first, named: true });
            return Some(spec);
        }
        spec.enter_element(btf, root, *first)?;
        let mut ty = root;
        for index in rest {
            let resolved = btf.resolve(ty);
            match btf.kind(resolved) {
                Kind::Struct { members, .. } | Kind::Union { members, .. } => {
                    let member = members.get(*index as usize)?;
                    spec.bit_offset += u64::from(member.bit_offset);
                    if !btf.string(member.name).is_empty() {
                        spec.accessors.push(Accessor { ty: resolved, index: *index, named: true });
                    }
                    ty = member.ty;
                }
                Kind::Array { element, len, .. } => {
                    // A last array of length 0 or 1 may be a flexible array.
                    if *index >= *len && *len > 1 {
                        return None;
                    }
                    spec.enter_element(btf, *element, *index)?;
                    ty = *element;
                }
                _ => return None,
            }
        }
        Some(spec)
    }

    /// Extends the path by the element with this index of an array whose elements have type
    /// `element`. Returns `None` if the size of the elements is unknown or the offset is too large.
    fn enter_element(&mut self, btf: &Btf, element: TypeId, index: u32) -> Option<()> {
        let size = match btf.size(element) {
            Some(size) => size,
            None if index == 0 => 0,
            None => return None,
        };
        let bits = u64::from(index).checked_mul(u64::from(size))?.checked_mul(8)?;
        self.bit_offset = self.bit_offset.checked_add(bits)?;
        self.accessors.push(Accessor { ty: element, index, named: false });
        Some(())
    }

    /// Returns the member that the last step of the path selects; `None` if it selects an array
    /// element.
    pub fn last_member<'b>(&self, btf: &'b Btf) -> Option<&'b RawMember> {
        let accessor = self.accessors.last().filter(|accessor| accessor.named)?;
        btf.members(accessor.ty).get(accessor.index as usize)
    }

    /// Finds the path with the same member names in `root`, a type of the kernel; `None` if that
    /// type lacks a part of the path.
    pub fn counterpart(
        &self,
        local: &Btf,
        kernel: &Btf,
        root: TypeId,
        kind: RelocationKind,
    ) -> Option<Spec> {
        let mut path = Spec { root, accessors: Vec::new(), bit_offset: 0 };
        if kind.of_type() {
            let fits = if kind == RelocationKind::TypeMatches {
                compat::types_match(local, self.root, kernel, root)
            } else {
                compat::types_compatible(local, self.root, kernel, root)
            };
            return fits.then_some(path);
        }
        if kind.of_enum() {
            let name = self.constant_name(local)?;
            let ty = kernel.resolve(root);
            let Kind::Enum(e) = kernel.kind(ty) else { return None };
            let same = |v: &crate::btf::Variant| essential_name(kernel.string(v.name)) == name;
            let index = e.variants.iter().position(same)? as u32;
            path.accessors.push(Accessor { ty, index, named: true });
            return Some(path);
        }
        let mut ty = root;
        for (i, accessor) in self.accessors.iter().enumerate() {
            if accessor.named {
                let member = local.members(accessor.ty).get(accessor.index as usize)?;
                let name = local.string(member.name);
                let mut budget = 65536;
                ty = path.enter_member(kernel, ty, name, &mut budget, 32)?;
                if !compat::fields_compatible(local, member.ty, kernel, ty) {
                    return None;
                }
                continue;
            }
            if i > 0 {
                let Kind::Array { element, len, .. } = *kernel.kind(kernel.resolve(ty)) else {
                    return None;
                };
                if accessor.index >= len && len > 1 {
                    return None;
                }
                ty = element;
            }
            path.enter_element(kernel, ty, accessor.index)?;
        }
        Some(path)
    }

    /// Extends the path by the member `name`, which may be inside anonymous members. Returns the
    /// member's type. Visits at most `budget` members.
    fn enter_member(
        &mut self,
        btf: &Btf,
        ty: TypeId,
        name: &str,
        budget: &mut u32,
        depth: u32,
    ) -> Option<TypeId> {
        let depth = depth.checked_sub(1)?;
        let ty = btf.resolve(ty);
        for (index, member) in btf.members(ty).iter().enumerate() {
            *budget = budget.checked_sub(1)?;
            let found = btf.string(member.name);
            let before = self.bit_offset;
            if found == name {
                self.bit_offset += u64::from(member.bit_offset);
                self.accessors.push(Accessor { ty, index: index as u32, named: true });
                return Some(member.ty);
            }
            if found.is_empty() {
                self.bit_offset += u64::from(member.bit_offset);
                if let Some(inner) = self.enter_member(btf, member.ty, name, budget, depth) {
                    return Some(inner);
                }
                self.bit_offset = before;
            }
        }
        None
    }

    fn constant_name<'b>(&self, btf: &'b Btf) -> Option<&'b str> {
        let accessor = self.accessors.last()?;
        let Kind::Enum(e) = btf.kind(accessor.ty) else { return None };
        Some(essential_name(btf.string(e.variants.get(accessor.index as usize)?.name)))
    }

    /// Describes the path for messages: ``CO-RE relocation of `task_struct.pid` ``.
    pub fn describe(&self, btf: &Btf) -> String {
        let mut text = btf.type_name(self.root).to_owned();
        if text.is_empty() {
            text.push_str("(no name)");
        }
        for (i, accessor) in self.accessors.iter().enumerate() {
            if accessor.named {
                let name = match btf.members(accessor.ty).get(accessor.index as usize) {
                    Some(member) => btf.string(member.name),
                    None => self.constant_name(btf).unwrap_or_default(),
                };
                text.push('.');
                text.push_str(name);
            } else if i > 0 || accessor.index > 0 {
                text.push_str(&format!("[{}]", accessor.index));
            }
        }
        crate::error::printable(format!("CO-RE relocation of `{text}`").as_bytes())
    }
}

//! Questions about types: names, sizes, members.

use super::{Btf, Kind, RawMember, StringId, Type, TypeId};

/// Longest chain of typedefs, qualifiers, arrays or nested structures that is followed.
const DEPTH: u32 = 64;

/// Longer strings are not read: names may share one, and lists of them would be slow.
const STRING: usize = 4096;

/// A member of a structure or union, found by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// From the start of the outermost structure, in bits.
    pub bit_offset: u32,
    /// Its type.
    pub ty: TypeId,
    /// Width in bits of a bit field; 0 for other members.
    pub bitfield: u8,
}

/// A name without its flavour: `task_struct___old` means `task_struct`.
pub fn essential_name(name: &str) -> &str {
    match name.rfind("___") {
        // The suffix starts after a name and is not empty.
        Some(at) if at > 0 && at + 3 < name.len() => name.get(..at).unwrap_or(name),
        _ => name,
    }
}

impl Btf {
    /// The type with this number.
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0 as usize)
    }

    /// What the type with this number is; `void` if there is none.
    pub fn kind(&self, id: TypeId) -> &Kind {
        self.get(id).map_or(&Kind::Void, |ty| &ty.kind)
    }

    /// All types with their numbers, `void` first.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (0u32..).map(TypeId).zip(&self.types)
    }

    /// The string at this offset; empty if there is none, it is not UTF-8 or has 4096 bytes or more.
    pub fn string(&self, id: StringId) -> &str {
        let tail = self.strings.get(id.0 as usize..).unwrap_or_default();
        let len = tail.iter().take(STRING).position(|b| *b == 0).unwrap_or(0);
        tail.get(..len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Name of a type; empty if it has none.
    pub fn type_name(&self, id: TypeId) -> &str {
        self.get(id).map_or("", |ty| self.string(ty.name))
    }

    /// The types with this essential name, in order of their numbers.
    pub fn with_essential_name<'a>(&'a self, name: &'a str) -> impl Iterator<Item = TypeId> + 'a {
        let key = |id: &TypeId| essential_name(self.type_name(*id));
        let start = self.by_name.partition_point(|id| key(id) < name);
        self.by_name
            .get(start..)
            .unwrap_or_default()
            .iter()
            .copied()
            .take_while(move |id| essential_name(self.type_name(*id)) == name)
    }

    /// The first type of exactly this name that `wanted` accepts.
    pub fn find(&self, name: &str, wanted: impl Fn(&Kind) -> bool) -> Option<TypeId> {
        self.with_essential_name(essential_name(name))
            .find(|id| self.type_name(*id) == name && wanted(self.kind(*id)))
    }

    /// The type behind typedefs, qualifiers and tags; `void` if the chain has no end.
    pub fn resolve(&self, mut id: TypeId) -> TypeId {
        for _ in 0..DEPTH {
            match self.kind(id) {
                Kind::Typedef(to)
                | Kind::Volatile(to)
                | Kind::Const(to)
                | Kind::Restrict(to)
                | Kind::TypeTag(to) => id = *to,
                _ => return id,
            }
        }
        TypeId::VOID
    }

    /// Size of a value of the type in bytes, if it has one.
    pub fn size(&self, id: TypeId) -> Option<u32> {
        let (mut id, mut count) = (id, 1u32);
        for _ in 0..DEPTH {
            id = self.resolve(id);
            let size = match self.kind(id) {
                Kind::Array { element, len, .. } => {
                    count = count.checked_mul(*len)?;
                    id = *element;
                    continue;
                }
                Kind::Int(int) => int.size,
                Kind::Struct { size, .. }
                | Kind::Union { size, .. }
                | Kind::DataSec { size, .. }
                | Kind::Float { size } => *size,
                Kind::Enum(e) => e.size,
                Kind::Ptr(_) => 8,
                Kind::Var { ty, .. } => {
                    id = *ty;
                    continue;
                }
                _ => return None,
            };
            return count.checked_mul(size);
        }
        None
    }

    /// The members of a structure or union; none for other types.
    pub fn members(&self, id: TypeId) -> &[RawMember] {
        match self.kind(self.resolve(id)) {
            Kind::Struct { members, .. } | Kind::Union { members, .. } => members,
            _ => &[],
        }
    }

    /// The member with this name, also inside anonymous structures and unions.
    pub fn member(&self, id: TypeId, name: &str) -> Option<Member> {
        self.member_within(id, name, &mut 4096, DEPTH)
    }

    /// `budget` members are looked at in all: nesting that refers to itself must end.
    fn member_within(
        &self,
        id: TypeId,
        name: &str,
        budget: &mut u32,
        depth: u32,
    ) -> Option<Member> {
        let depth = depth.checked_sub(1)?;
        for member in self.members(id) {
            *budget = budget.checked_sub(1)?;
            let RawMember { ty, bit_offset, bitfield, .. } = *member;
            let member_name = self.string(member.name);
            if member_name == name {
                return Some(Member { bit_offset, ty, bitfield });
            }
            if member_name.is_empty()
                && let Some(inner) = self.member_within(ty, name, budget, depth)
            {
                let bit_offset = inner.bit_offset.checked_add(bit_offset)?;
                return Some(Member { bit_offset, ..inner });
            }
        }
        None
    }
}

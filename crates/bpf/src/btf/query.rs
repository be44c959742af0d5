//! Answers queries about types: their names, sizes and members.

use super::{Btf, Kind, RawMember, StringId, Type, TypeId};

/// Maximum number of typedefs, qualifiers, arrays or nested structures that a query follows from
/// one type.
const DEPTH: u32 = 64;

/// Minimum length in bytes of strings that look-ups treat as empty. Many names can share one long
/// string, which would make look-ups slow.
const STRING: usize = 4096;

/// A member of a structure or union, found by name.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Member {
    /// Offset from the start of the outermost structure, in bits.
    pub bit_offset: u32,
    /// Type of the member.
    pub ty: TypeId,
    /// Width in bits of a bit field; 0 for other members.
    pub bitfield: u8,
}

/// Strips the CO-RE flavour from a name: `task_struct___old` becomes `task_struct`.
pub fn essential_name(name: &str) -> &str {
    match name.rfind("___") {
        // A flavour needs a name before it and at least one character after `___`.
        Some(at) if at > 0 && at + 3 < name.len() => name.get(..at).unwrap_or(name),
        _ => name,
    }
}

impl Btf {
    /// Returns the type with this number; `None` if the table has no such type.
    pub fn get(&self, id: TypeId) -> Option<&Type> {
        self.types.get(id.0 as usize)
    }

    /// Returns the kind of a type; `void` if the number is unknown.
    pub fn kind(&self, id: TypeId) -> &Kind {
        self.get(id).map_or(&Kind::Void, |ty| &ty.kind)
    }

    /// Returns all types with their numbers, `void` first.
    pub fn types(&self) -> impl Iterator<Item = (TypeId, &Type)> {
        (0u32..).map(TypeId).zip(&self.types)
    }

    /// Returns the string at an offset; empty if the offset is invalid, the string is not UTF-8 or
    /// has 4096 bytes or more.
    pub fn string(&self, id: StringId) -> &str {
        let tail = self.strings.get(id.0 as usize..).unwrap_or_default();
        let len = tail.iter().take(STRING).position(|b| *b == 0).unwrap_or(0);
        tail.get(..len).and_then(|bytes| std::str::from_utf8(bytes).ok()).unwrap_or_default()
    }

    /// Returns the name of a type; empty for an unnamed type.
    pub fn type_name(&self, id: TypeId) -> &str {
        self.get(id).map_or("", |ty| self.string(ty.name))
    }

    /// Returns the types whose name without CO-RE flavour is `name`, in ascending order of their
    /// numbers.
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

    /// Returns the number of the first type of exactly this name whose kind passes `filter`; `None`
    /// if there is none.
    pub fn find(&self, name: &str, filter: impl Fn(&Kind) -> bool) -> Option<TypeId> {
        self.with_essential_name(essential_name(name))
            .find(|id| self.type_name(*id) == name && filter(self.kind(*id)))
    }

    /// Follows typedefs, qualifiers and tags to the underlying type. Returns `void` if the chain is
    /// too long, for example because it is a cycle.
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

    /// Returns the size of a value of the type in bytes; `None` for a type without size, such as a
    /// function.
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

    /// Returns the members of a structure or union; an empty list for other types.
    pub fn members(&self, id: TypeId) -> &[RawMember] {
        match self.kind(self.resolve(id)) {
            Kind::Struct { members, .. } | Kind::Union { members, .. } => members,
            _ => &[],
        }
    }

    /// Finds a member of a structure or union by name, also inside anonymous structures and unions.
    pub fn member(&self, id: TypeId, name: &str) -> Option<Member> {
        self.member_within(id, name, &mut 4096, DEPTH)
    }

    /// Finds a member as [`Btf::member`] does, but visits at most `budget` members, because a
    /// malformed structure can contain itself.
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

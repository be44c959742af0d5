//! Changes BTF type tables, for the writer of object files.

use super::{Btf, Kind, StringId, Type, TypeId};

impl Btf {
    /// Returns a table that contains only `void`.
    pub(crate) fn empty() -> Btf {
        let void = Type { name: StringId(0), kind: Kind::Void };
        Btf { types: vec![void], strings: vec![0], by_name: Vec::new() }
    }

    /// Appends a string to the table, for the name of a new type, and returns its offset. The empty
    /// string has offset 0.
    pub(crate) fn add_string(&mut self, text: &str) -> StringId {
        if text.is_empty() {
            return StringId(0);
        }
        let offset = u32::try_from(self.strings.len()).unwrap_or(0);
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        StringId(offset)
    }

    /// Adds a type at the end and returns its number. Lookups by name do not find the new type.
    pub(crate) fn add(&mut self, name: &str, kind: Kind) -> TypeId {
        let id = TypeId(u32::try_from(self.types.len()).unwrap_or(0));
        let name = self.add_string(name);
        self.types.push(Type { name, kind });
        id
    }

    pub(crate) fn kind_mut(&mut self, id: TypeId) -> Option<&mut Kind> {
        self.types.get_mut(id.0 as usize).map(|ty| &mut ty.kind)
    }

    /// Overwrites an unused type with a pointer to `void`; later types keep their numbers.
    pub(crate) fn drop_type(&mut self, id: TypeId) {
        if let Some(ty) = self.types.get_mut(id.0 as usize) {
            *ty = Type { name: StringId(0), kind: Kind::Ptr(TypeId::VOID) };
        }
    }
}

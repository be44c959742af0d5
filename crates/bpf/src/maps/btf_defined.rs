//! Reads the maps of the section `.maps`, which are variables whose BTF types encode the properties
//! of the map.
//!
//! `__uint(max_entries, 8)` is a pointer to an array of 8 elements, and `__type(key, T)` a pointer
//! to `T`. `__ulong` is an enumeration, and `__array(values, T)` an array of pointers to `T`.
//! Source: libbpf's `bpf_helpers.h` and its documentation of these macros.

use super::def::MapDef;
use super::kind::MapKind;
use super::table::PlacedMap;
use crate::btf::{Kind, RawMember, TypeId};
use crate::elf::Elf;
use crate::{Btf, ObjectError};

const HINT: &str = "define it as libbpf's bpf_helpers.h shows (SEC(\".maps\"))";

/// Reads the maps that section `index` defines and appends them to `maps`.
pub(super) fn read(
    elf: &Elf,
    index: usize,
    btf: Option<&Btf>,
    maps: &mut Vec<PlacedMap>,
) -> Result<(), ObjectError> {
    let Some(btf) = btf else {
        let text = "the definition of maps needs BTF, which the object lacks";
        return Err(ObjectError::section(".maps", text, "compile with -g, and do not strip .BTF"));
    };
    let section = btf.types().find_map(|(id, ty)| match &ty.kind {
        Kind::DataSec { vars, .. } if btf.type_name(id) == ".maps" => Some(vars),
        _ => None,
    });
    let Some(vars) = section else {
        let text = "BTF does not describe this section";
        return Err(ObjectError::section(".maps", text, "compile with -g"));
    };
    for var in vars {
        let name = btf.type_name(var.ty);
        let Kind::Var { ty, .. } = *btf.kind(var.ty) else {
            return Err(ObjectError::section(
                ".maps",
                "BTF lists something other than a variable",
                HINT,
            ));
        };
        let symbol =
            elf.symbols.iter().find(|s| s.section() == Some(index) && s.name == name).ok_or_else(
                || ObjectError::map(name, "BTF lists the map, but the symbol table does not", HINT),
            )?;
        let def = definition(btf, name, ty)?;
        let values = def.1.and_then(|at| {
            let start = symbol.value.checked_add(at)?;
            Some((start, symbol.value.checked_add(symbol.size)?.max(start)))
        });
        let (offset, numbered) = (symbol.value, None);
        maps.push(PlacedMap { def: def.0, section: index, offset, values, numbered });
    }
    Ok(())
}

/// Returns the map definition that a variable of type `ty` encodes, and the offset in bytes of the
/// member `values` in this type; `None` without this member.
pub(crate) fn definition(
    btf: &Btf,
    name: &str,
    ty: TypeId,
) -> Result<(MapDef, Option<u64>), ObjectError> {
    Reader { btf, name }.definition(ty, true)
}

struct Reader<'a> {
    btf: &'a Btf,
    name: &'a str,
}

impl Reader<'_> {
    fn fault(&self, what: impl Into<String>) -> ObjectError {
        ObjectError::map(self.name, what, HINT)
    }

    /// Reads a map definition, and returns it with the offset in bytes of its member `values`;
    /// `None` without this member. Accepts the member only if `outer` is true, because the
    /// definition of an inner map cannot have it.
    fn definition(&self, ty: TypeId, outer: bool) -> Result<(MapDef, Option<u64>), ObjectError> {
        let btf = self.btf;
        let ty = btf.resolve(ty);
        let Kind::Struct { members, .. } = btf.kind(ty) else {
            return Err(self.fault("its type is not a structure"));
        };
        let mut def = MapDef::new(self.name);
        let mut values = None;
        for member in members {
            let field = btf.string(member.name);
            let small = |value: u64| {
                u32::try_from(value)
                    .map_err(|_| self.fault(format!("{field} = {value} does not fit in 32 bits")))
            };
            // libbpf has these parameters (`parse_btf_map_def`) and rejects all others as well.
            match field {
                "type" => def.kind = MapKind(small(self.number(member)?)?),
                "max_entries" => def.max_entries = small(self.number(member)?)?,
                "map_flags" => def.flags = small(self.number(member)?)?,
                "pinning" => def.pinning = small(self.number(member)?)?,
                "map_extra" => def.extra = self.number(member)?,
                "numa_node" => {
                    self.number(member)?;
                }
                "key_size" => def.key_size = small(self.number(member)?)?,
                "value_size" => def.value_size = small(self.number(member)?)?,
                "key" => (def.key_type, def.key_size) = self.pointee(member)?,
                "value" => (def.value_type, def.value_size) = self.pointee(member)?,
                "values" if outer => {
                    def.inner = self.values(member, def.kind)?;
                    def.value_size = 4;
                    values = Some(u64::from(member.bit_offset / 8));
                }
                _ => return Err(self.fault(format!("unknown parameter `{field}`"))),
            }
        }
        if def.kind == MapKind(0) {
            return Err(self.fault("the definition of the map has no type"));
        }
        // User space reads and writes such values as 4-byte file descriptors, whatever type the
        // definition states.
        if def.kind.holds_maps() || def.kind == MapKind::PROG_ARRAY {
            def.value_size = 4;
            def.key_size = if def.key_size == 0 { 4 } else { def.key_size };
        }
        def.special = def.value_type.map(|ty| btf.special_fields(ty)).unwrap_or_default();
        Ok((def, values))
    }

    /// Reads the number that a member encodes: the length of an array, or the value of the only
    /// constant of an enumeration.
    fn number(&self, member: &RawMember) -> Result<u64, ObjectError> {
        let btf = self.btf;
        let pointee = |ty| match btf.kind(btf.resolve(ty)) {
            Kind::Ptr(to) => btf.kind(btf.resolve(*to)),
            other => other,
        };
        // BTF stores numbers only in types: `__uint(name, number)` is a pointer to an array of this
        // length, `__ulong` an enumeration.
        match pointee(member.ty) {
            Kind::Array { len, .. } => Ok((*len).into()),
            Kind::Enum(e) if e.variants.len() == 1 => Ok(e.variants[0].value),
            _ => Err(self.fault(format!("`{}` is not a number", btf.string(member.name)))),
        }
    }

    /// Returns the type that a member of a map definition points to, and the size of the type in
    /// bytes.
    fn pointee(&self, member: &RawMember) -> Result<(Option<TypeId>, u32), ObjectError> {
        let field = self.btf.string(member.name);
        let Kind::Ptr(to) = *self.btf.kind(self.btf.resolve(member.ty)) else {
            return Err(self.fault(format!("`{field}` is not a pointer to a type")));
        };
        let size = self.btf.size(to);
        let size = size.ok_or_else(|| self.fault(format!("the type of `{field}` has no size")))?;
        Ok((Some(to), size))
    }

    /// Reads the type of the elements of `values`. Returns the definition of inner maps; `None` if
    /// the elements are programs.
    fn values(
        &self,
        member: &RawMember,
        kind: MapKind,
    ) -> Result<Option<Box<MapDef>>, ObjectError> {
        let btf = self.btf;
        let Kind::Array { element, .. } = *btf.kind(btf.resolve(member.ty)) else {
            return Err(self.fault("`values` is not an array"));
        };
        let Kind::Ptr(to) = *btf.kind(btf.resolve(element)) else {
            return Err(self.fault("`values` does not hold pointers"));
        };
        match btf.kind(btf.resolve(to)) {
            Kind::FuncProto { .. } => Ok(None),
            Kind::Struct { .. } if kind != MapKind::PROG_ARRAY => {
                let (mut inner, _) = self.definition(to, false)?;
                inner.name = format!("{}.inner", self.name);
                Ok(Some(Box::new(inner)))
            }
            _ => Err(self.fault("`values` has elements that are neither maps nor programs")),
        }
    }
}

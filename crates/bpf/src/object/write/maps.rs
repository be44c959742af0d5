//! Describes the maps of a written object: global data, and definitions in `.maps`, whatever form
//! the original definitions had.
//!
//! A definition keeps its original BTF type if this type still describes it; otherwise it gets a
//! new type. Loaders since libbpf 1.0 accept no other form (`bpf_object__init_user_maps`).

use super::error::WriteError;
use super::names::Names;
use super::types::Types;
use crate::btf::{Kind, SecVar, TypeId};
use crate::maps::{MapDef, MapKind, Variable, definition, is_data_section};
use crate::{Object, SlotRef};

/// Size in bytes of a pointer in the object file.
const POINTER: u32 = 8;

/// A map definition that is written to the section `.maps`.
#[derive(Clone, Debug)]
pub(super) struct Defined {
    /// Index of the map in the object.
    pub map: usize,
    /// Name of the symbol for the map.
    pub name: String,
    /// Offset of the definition in the section, in bytes.
    pub offset: u32,
    /// Size of the definition in bytes.
    pub size: u32,
    /// Initial elements of the map. Each has the offset in the section at which its pointer is
    /// stored, and the program or map that the pointer refers to.
    pub slots: Vec<(u32, SlotRef)>,
}

/// A section of global data that is written to the object file.
#[derive(Clone, Debug)]
pub(super) struct Data<'a> {
    /// Index of the map in the object.
    pub map: usize,
    pub section: String,
    pub content: &'a [u8],
    /// Variables of the section. The flag is true if the symbol of the variable is global.
    pub variables: Vec<(&'a Variable, bool)>,
}

/// All map definitions and data sections to write.
#[derive(Clone, Debug, Default)]
pub(super) struct Maps<'a> {
    pub defined: Vec<Defined>,
    /// Size of `.maps` in bytes.
    pub size: u32,
    pub data: Vec<Data<'a>>,
}

/// Lays out all maps of the object and creates their BTF types.
pub(super) fn plan<'a>(object: &'a Object, types: &mut Types<'a>) -> Result<Maps<'a>, WriteError> {
    let mut maps = Maps::default();
    let map_names = names(object);
    let mut used = Vec::new();
    let mut vars = Vec::new();
    for (map, def) in object.maps.iter().enumerate().filter(|(_, def)| def.initial.is_none()) {
        let name = map_names[map].clone();
        let known = original(types, def, &used);
        let (ty, values) = match known {
            Some((_, ty, values)) => (ty, values),
            None => defined(types, def)?,
        };
        let fault = |what: &str| WriteError::map(&def.name, what);
        let size = types.btf.size(ty).ok_or_else(|| fault("its definition has no size"))?;
        let end = def.slots.last().map_or(Some(size), |(slot, _)| {
            values?.checked_add(slot.checked_add(1)?.checked_mul(POINTER)?)
        });
        let end = end.ok_or_else(|| fault("its definition has no room for what it contains"))?;
        let size = size.max(end);
        let too_large = || fault("the definitions of maps are too large");
        let offset = maps.size.checked_next_multiple_of(8).ok_or_else(too_large)?;
        maps.size = offset.checked_add(size).filter(|&s| s <= LIMIT).ok_or_else(too_large)?;
        let place = |slot: u32| offset + values.unwrap_or(0) + slot * POINTER;
        let slots = def.slots.iter().map(|&(slot, of)| (place(slot), of)).collect();
        let variable = types.variable(&name, ty, known.map(|(id, _, _)| id));
        used.extend(known.map(|(id, _, _)| id));
        vars.push(SecVar { ty: variable, offset, size });
        maps.defined.push(Defined { map, name, offset, size, slots });
    }
    if !vars.is_empty() {
        types.section(".maps", maps.size, vars);
    }
    for (map, def) in object.maps.iter().enumerate() {
        let Some(content) = def.initial.as_deref().filter(|content| !content.is_empty()) else {
            continue;
        };
        let section = map_names[map].clone();
        if section.starts_with(".bss") && content.iter().any(|byte| *byte != 0) {
            let text = "its content is not zero, and its section has none";
            return Err(WriteError::map(&def.name, text));
        }
        let variables = describe(object, types, map, &section, content.len());
        maps.data.push(Data { map, section, content, variables });
    }
    Ok(maps)
}

/// Returns the names of the maps in the written object, in the order of [`Object::maps`]. Pinned
/// maps keep their names, because other objects find them by name. A map of global data has the
/// name of its section.
pub(super) fn names(object: &Object) -> Vec<String> {
    let mut taken = Names::default();
    let mut names_by_map = vec![String::new(); object.maps.len()];
    for pinned in [true, false] {
        let defined = object.maps.iter().enumerate().filter(|(_, def)| def.initial.is_none());
        for (map, def) in defined.filter(|(_, def)| (def.pinning != 0) == pinned) {
            names_by_map[map] = taken.unique(&def.name);
        }
    }
    let mut sections = Vec::new();
    let is_data = |def: &MapDef| def.initial.as_ref().is_some_and(|content| !content.is_empty());
    for (map, def) in object.maps.iter().enumerate().filter(|(_, def)| is_data(def)) {
        names_by_map[map] = section_name(def, &sections);
        sections.push(names_by_map[map].clone());
    }
    names_by_map
}

/// Maximum size of the section of definitions, in bytes.
const LIMIT: u32 = 64 << 20;

/// Finds a variable of the original object whose type describes the map. Returns the numbers of the
/// variable and of its type, and the offset of the member `values` in bytes. Ignores variables in
/// `used`.
fn original(types: &Types, def: &MapDef, used: &[TypeId]) -> Option<(TypeId, TypeId, Option<u32>)> {
    let btf = types.original?;
    let sections = types.original_sections(".maps");
    sections.into_iter().flatten().map(|var| var.ty).filter(|id| !used.contains(id)).find_map(
        |id| {
            let Kind::Var { ty, .. } = *btf.kind(id) else { return None };
            // In a joined object, the name of the part may precede the map name.
            let name = btf.type_name(id);
            if def.name != name && def.name.rsplit(':').next() != Some(name) {
                return None;
            }
            let (read, values) = definition(btf, name, ty).ok()?;
            let values = values.map(u32::try_from).transpose().ok()?;
            let has_room = def.slots.is_empty() || values.is_some();
            (has_room && matches_definition(&read, def)).then_some((id, ty, values))
        },
    )
}

/// Returns true if the parsed definition `read` is equal to `def`, apart from the name and the
/// initial elements.
fn matches_definition(read: &MapDef, def: &MapDef) -> bool {
    let slots = def.slots.last().map_or(0, |(slot, _)| slot.saturating_add(1));
    let filled = MapDef {
        name: def.name.clone(),
        max_entries: read.max_entries.max(slots),
        slots: def.slots.clone(),
        inner: None,
        ..read.clone()
    };
    let inner = match (&read.inner, &def.inner) {
        (None, None) => true,
        (Some(read), Some(inner)) => matches_definition(read, inner),
        _ => false,
    };
    inner && filled == MapDef { inner: None, ..def.clone() }
}

/// Creates the BTF structure that defines a map. Also returns the offset of its member `values` in
/// bytes; `None` without this member.
fn defined(types: &mut Types, def: &MapDef) -> Result<(TypeId, Option<u32>), WriteError> {
    if def.kind == MapKind(0) {
        return Err(WriteError::map(&def.name, "the definition of the map has no type"));
    }
    let mut members: Vec<(&str, TypeId)> = vec![("type", types.number(def.kind.0))];
    let typed = |ty: Option<TypeId>, size: u32, types: &Types| {
        ty.filter(|ty| types.btf.size(*ty) == Some(size))
    };
    let holds_values = def.inner.is_some() || !def.slots.is_empty();
    match typed(def.key_type, def.key_size, types) {
        Some(key) => members.push(("key", types.pointer(key))),
        None if def.key_size > 0 => members.push(("key_size", types.number(def.key_size))),
        None => {}
    }
    match typed(def.value_type, def.value_size, types) {
        Some(value) => members.push(("value", types.pointer(value))),
        None if holds_values => members.push(("value_size", types.number(4))),
        None if def.value_size > 0 => members.push(("value_size", types.number(def.value_size))),
        None => {}
    }
    let numbers =
        [("max_entries", def.max_entries), ("map_flags", def.flags), ("pinning", def.pinning)];
    for (name, number) in numbers.into_iter().filter(|(_, number)| *number > 0) {
        members.push((name, types.number(number)));
    }
    if def.extra > 0 {
        let extra = u32::try_from(def.extra);
        let text = "its extra parameter has more than 32 bits, and its type is not the object's";
        members.push((
            "map_extra",
            types.number(extra.map_err(|_| WriteError::map(&def.name, text))?),
        ));
    }
    let size = members.len() as u32 * POINTER;
    if !holds_values {
        return Ok((types.structure(size, &members), None));
    }
    let to = match &def.inner {
        Some(inner) if inner.inner.is_none() => defined(types, inner)?.0,
        Some(_) => return Err(WriteError::map(&def.name, "its inner maps hold maps")),
        None => types.procedure(),
    };
    let pointer = types.pointer(to);
    members.push(("values", types.array(0, Some(pointer))));
    Ok((types.structure(size, &members), Some(size)))
}

/// Returns the section name for a map of global data: the map's own name if loaders recognise it
/// and no other map has it, otherwise a new name.
fn section_name(def: &MapDef, taken: &[String]) -> String {
    let free = |name: &String| is_data_section(name) && !taken.contains(name);
    let (part, name) = def.name.rsplit_once(':').unwrap_or(("", &def.name));
    let base = match is_data_section(name) {
        true => name.to_owned(),
        false if def.read_only => format!(".rodata.{name}"),
        false => format!(".data.{name}"),
    };
    let tagged = if part.is_empty() { base } else { format!("{base}.{part}") };
    // The number follows a dot, because loaders do not recognise `.data_2`.
    let valid = Names::default().unique(&tagged);
    let numbered = (2_u32..).map(|number| format!("{valid}.{number}"));
    std::iter::once(valid.clone()).chain(numbered).find(free).unwrap_or(valid)
}

/// Returns the variables of a section of global data, each with a flag that is true if its symbol
/// is global. Adds the section to the BTF types if they describe its variables.
fn describe<'a>(
    object: &'a Object,
    types: &mut Types<'a>,
    map: usize,
    section: &str,
    size: usize,
) -> Vec<(&'a Variable, bool)> {
    let own: Vec<&Variable> = object.variables.iter().filter(|var| var.map == map).collect();
    let name = object.maps[map].name.rsplit(':').next().unwrap_or_default();
    let described = types.original_sections(name).into_iter();
    let described = described.filter_map(|vars| placed(types, vars, &own, size)).next();
    let global = |variable: &Variable| {
        described.iter().flatten().any(|(var, name)| {
            *name == variable.name
                && matches!(
                    types.btf.kind(var.ty),
                    Kind::Var { linkage: crate::btf::VarLinkage::Global, .. }
                )
        })
    };
    let known = !types.original_sections(name).is_empty();
    let new = types.original.is_some() && !known && own.iter().all(|var| var.size == 8);
    let variables = own.iter().map(|&variable| (variable, new || global(variable))).collect();
    let size = u32::try_from(size).unwrap_or(u32::MAX);
    if let Some(vars) = described {
        types.section(section, size, vars.into_iter().map(|(var, _)| var).collect());
    } else if new && !own.is_empty() {
        // Variables that were added after parsing are numbers. They are global so that loaders map
        // them into memory.
        let number = |variable: &&Variable| {
            let ty = types.long();
            let ty = types.variable(&variable.name, ty, None);
            SecVar { ty, offset: u32::try_from(variable.offset).unwrap_or(u32::MAX), size: 8 }
        };
        let vars = own.iter().map(number).collect();
        types.section(section, size, vars);
    }
    variables
}

/// Returns the BTF variables of a section, with the offsets and names that they have in the object.
/// `None` if an offset is unknown, or if variables overlap.
fn placed<'n>(
    types: &Types,
    vars: &[SecVar],
    own: &[&'n Variable],
    size: usize,
) -> Option<Vec<(SecVar, &'n str)>> {
    let mut placed = Vec::with_capacity(vars.len());
    for var in vars {
        let name = types.btf.type_name(var.ty);
        let variable = own.iter().find(|variable| variable.name == name)?;
        let (offset, size) =
            (u32::try_from(variable.offset).ok()?, u32::try_from(variable.size).ok()?);
        if types.btf.size(var.ty)? > size {
            return None;
        }
        placed.push((SecVar { ty: var.ty, offset, size }, variable.name.as_str()));
    }
    placed.sort_by_key(|(var, _)| var.offset);
    let end = |var: &SecVar| u64::from(var.offset) + u64::from(var.size);
    let disjoint = placed.windows(2).all(|pair| end(&pair[0].0) <= u64::from(pair[1].0.offset));
    let inside = placed.last().is_none_or(|(var, _)| end(var) <= size as u64);
    (disjoint && inside && !placed.is_empty()).then_some(placed)
}

#[cfg(test)]
mod tests {
    use super::{MapDef, MapKind, section_name};

    fn named(name: &str) -> MapDef {
        MapDef {
            kind: MapKind::ARRAY,
            key_size: 4,
            value_size: 8,
            max_entries: 1,
            initial: Some(vec![0; 8]),
            ..MapDef::new(name)
        }
    }

    #[test]
    fn sections_of_equal_names_stay_recognisable() {
        let mut taken = Vec::new();
        for expected in [".data", ".data.2", ".data.3"] {
            let name = section_name(&named(".data"), &taken);
            assert_eq!(name, expected);
            taken.push(name);
        }
        assert_eq!(section_name(&named("a b"), &[]), ".data.a_b");
        assert_eq!(section_name(&named("part:.bss"), &[]), ".bss.part");
    }
}

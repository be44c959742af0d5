//! Joins several objects into one, with all their programs, maps, functions and types.
//!
//! Used to analyse chains of programs, and to merge several programs into one. Maps stay separate,
//! unless the caller declares them shared.

use std::collections::HashMap;

use super::entry::ProgramEntry;
use super::functions::Function;
use super::parsed::Object;
use super::references::Reference;
use crate::btf::{BtfExt, Shift};
use crate::maps::{MapDef, SlotRef, Variable};

/// One of the objects that are joined into a single one.
#[derive(Clone, Copy, Debug)]
pub struct Part<'a> {
    /// Prefix for the names of the object's sections. Also the prefix for names of maps that occur
    /// in several objects.
    pub name: &'a str,
    /// The object itself.
    pub object: &'a Object,
}

/// Result of joining several objects into one.
#[derive(Clone, Debug)]
pub struct Joined {
    /// The joined object; its sections are named `PART:SECTION`, after [`Part::name`].
    pub object: Object,
    /// For each of the original objects, the index of its first program in [`Object::programs`] of
    /// the joined object.
    pub programs: Vec<usize>,
    /// For each of the original objects, the indices of its maps in [`Object::maps`] of the joined
    /// object.
    pub maps: Vec<Vec<usize>>,
}

impl Object {
    /// Joins several objects. `shared` takes two maps, each given by the index of its object in
    /// `parts` and its index in that object. `shared` returns true if the loader creates one map
    /// for both.
    ///
    /// A map whose name occurs in several objects is renamed to `PART:MAP`.
    pub fn join(
        parts: &[Part<'_>],
        shared: impl Fn((usize, usize), (usize, usize)) -> bool,
    ) -> Joined {
        let mut joiner = Joiner::default();
        let mut names = HashMap::<&str, usize>::new();
        for map in parts.iter().flat_map(|part| &part.object.maps) {
            *names.entry(map.name.as_str()).or_default() += 1;
        }
        for (number, part) in parts.iter().enumerate() {
            let maps = joiner.place_maps(number, part, &shared);
            joiner.add(part, maps, |name| names.get(name).is_some_and(|&count| count > 1));
        }
        joiner.joined
    }
}

struct Joiner {
    joined: Joined,
    /// For each map of the joined object, the index of the original object and the map's index in
    /// that object.
    origins: Vec<(usize, usize)>,
}

impl Default for Joiner {
    fn default() -> Self {
        let object = Object {
            license: None,
            programs: Vec::new(),
            maps: Vec::new(),
            variables: Vec::new(),
            btf: None,
            ext: None,
            functions: Vec::new(),
            references: HashMap::new(),
        };
        Joiner {
            joined: Joined { object, programs: Vec::new(), maps: Vec::new() },
            origins: Vec::new(),
        }
    }
}

impl Joiner {
    /// Returns the index in the joined object for each map of a part. If the loader creates one map
    /// for this map and an earlier one, both have the same index.
    fn place_maps(
        &mut self,
        number: usize,
        part: &Part<'_>,
        shared: impl Fn((usize, usize), (usize, usize)) -> bool,
    ) -> Vec<usize> {
        let known = self.origins.len();
        let mut places = Vec::with_capacity(part.object.maps.len());
        for map in 0..part.object.maps.len() {
            let same = self.origins[..known].iter().position(|&other| shared(other, (number, map)));
            places.push(same.unwrap_or_else(|| {
                self.origins.push((number, map));
                self.origins.len() - 1
            }));
        }
        places
    }

    /// Adds an object to the joined one. `maps` are the indices that its maps have in the joined
    /// object; `ambiguous` returns true if several parts have a map of this name.
    fn add(&mut self, part: &Part<'_>, maps: Vec<usize>, ambiguous: impl Fn(&str) -> bool) {
        let Object { license, programs, variables, btf, ext, functions, references, .. } =
            part.object;
        let into = &mut self.joined.object;
        let sections = into.functions.iter().map(|f| f.section + 1).max().unwrap_or(0);
        let (first_function, first_program) = (into.functions.len(), into.programs.len());
        let section_name = |name: &str| format!("{}:{name}", part.name);
        if into.license.is_none() {
            into.license.clone_from(license);
        }
        let shift = btf.as_ref().map(|btf| match &mut into.btf {
            Some(all) => all.append(btf),
            none => {
                *none = Some(btf.clone());
                Shift::default()
            }
        });
        if let (Some(shift), Some(ext)) = (shift, ext) {
            let all = into.ext.get_or_insert_with(BtfExt::default);
            let BtfExt { functions, lines, core } = shift.ext(ext);
            let functions = functions.into_iter().map(|(name, of)| (section_name(&name), of));
            all.functions.extend(functions);
            all.lines.extend(lines.into_iter().map(|(name, of)| (section_name(&name), of)));
            all.core.extend(core.into_iter().map(|(name, of)| (section_name(&name), of)));
        }
        into.functions.extend(functions.iter().map(|function| Function {
            section: function.section + sections,
            section_name: section_name(&function.section_name),
            ..function.clone()
        }));
        into.programs.extend(programs.iter().map(|program| ProgramEntry {
            function: program.function + first_function,
            ..program.clone()
        }));
        for (number, def) in part.object.maps.iter().enumerate() {
            if maps[number] < into.maps.len() {
                continue;
            }
            into.maps.push(MapDef {
                name: if ambiguous(&def.name) {
                    format!("{}:{}", part.name, def.name)
                } else {
                    def.name.clone()
                },
                key_type: def.key_type.zip(shift).map(|(ty, shift)| shift.ty(ty)),
                value_type: def.value_type.zip(shift).map(|(ty, shift)| shift.ty(ty)),
                slots: def
                    .slots
                    .iter()
                    .map(|&(slot, of)| (slot, moved(of, first_program, &maps)))
                    .collect(),
                ..def.clone()
            });
        }
        into.variables.extend(
            variables
                .iter()
                .map(|variable| Variable { map: maps[variable.map], ..variable.clone() }),
        );
        into.references.extend(references.iter().map(|(&(section, slot), to)| {
            let to = match to {
                Reference::Map(map) => Reference::Map(maps[*map as usize] as u32),
                Reference::Data { map, offset } => {
                    Reference::Data { map: maps[*map as usize] as u32, offset: *offset }
                }
                Reference::Code { section, offset } => {
                    Reference::Code { section: section + sections, offset: *offset }
                }
                other => other.clone(),
            };
            ((section + sections, slot), to)
        }));
        self.joined.programs.push(first_program);
        self.joined.maps.push(maps);
    }
}

fn moved(slot: SlotRef, programs: usize, maps: &[usize]) -> SlotRef {
    match slot {
        SlotRef::Program(program) => SlotRef::Program(program + programs),
        SlotRef::Map(map) => SlotRef::Map(maps[map]),
    }
}

#[cfg(test)]
mod tests;

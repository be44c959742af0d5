//! Frozen maps of a chain: maps whose content is given and to which no program of the chain writes.
//!
//! A program that relies on the content of frozen maps can have two additional maps. One holds the
//! generation counter, which is zero until a frozen map is changed from outside. The other holds
//! the values of all frozen maps, so that the program needs no map lookups: it compares keys
//! itself.

use crate::{Chain, ChainError, Loaded};
use serde_json::Value;
use slowpath::Error;
use slowpath_bpf::lift::{EntryValue, MapContent, MapEntry};
use slowpath_bpf::{Joined, MAPPABLE, MapDef, MapKind, Object, READ_ONLY, SlotRef, Variable};
use slowpath_codes as codes;
use slowpath_specialise::{Frozen, Mode, Specialised, writer};
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// Name of the map that contains the generation counter, which is zero until a frozen map changes.
/// The map is a data section, so that programs can read it without a call.
pub(crate) const GENERATION: &str = ".data.slowpath";
/// Name of the variable that contains the generation counter.
const VARIABLE: &str = "slowpath_gen";
/// Name of the map that contains the values of all frozen maps.
const VALUES: &str = ".rodata.slowpath";
/// Size of the generation counter in bytes.
const BYTES: u32 = 8;

/// For each program of a chain, the content of its maps, by the index of the map in the program's
/// object.
pub type Contents = Vec<BTreeMap<u32, MapContent>>;

/// Reads the content of maps of a chain from text in the format of `docs/reference/maps.md`. If
/// several programs have a map of the same name, the text calls it `PROGRAM:MAP`. A shared map can
/// be called by its name in any of its programs.
///
/// # Errors
/// If the text cannot be read, names an unknown map, or does not fit the map; or if maps that are
/// shared have different definitions.
pub fn read_contents(chain: &Chain, loaded: &[Loaded], text: &str) -> Result<Contents, Error> {
    let names = Names::of(chain, loaded)?;
    let given = names.own(slowpath::map_contents(text, &names.object)?)?;
    let of_member = |maps: &Vec<usize>| {
        let content = |(own, &map): (usize, &usize)| {
            let def = names.joined.object.maps.get(map).filter(|def| !def.read_only)?;
            let content = given.get(&def.name)?;
            Some((u32::try_from(own).ok()?, content.clone()))
        };
        maps.iter().enumerate().filter_map(content).collect()
    };
    Ok(names.joined.maps.iter().map(of_member).collect())
}

/// Reads initial map content like [`read_contents`], but returns it as JSON. The form is that of
/// `maps` in a witness (an example input) of the whole chain.
///
/// # Errors
/// The same as those of [`read_contents`].
pub fn start_maps(chain: &Chain, loaded: &[Loaded], text: &str) -> Result<Value, Error> {
    let names = Names::of(chain, loaded)?;
    let mut start = slowpath::initial_maps(text, &names.object)?;
    if let Some(Value::Object(maps)) = start.get_mut("maps") {
        let given = std::mem::take(maps).into_iter().collect();
        maps.extend(names.own(given)?);
    }
    Ok(start)
}

/// The objects of a chain joined into one object, with all names that users can give to its maps.
struct Names {
    joined: Joined,
    /// The joined object. For each alternative name of a map, it contains an additional copy of the
    /// map with this name.
    object: Object,
    /// For each alternative name of a map, its main name in the joined object.
    further: BTreeMap<String, String>,
}

impl Names {
    fn of(chain: &Chain, loaded: &[Loaded]) -> Result<Names, Error> {
        let joined = joined(chain, loaded)
            .map_err(|error| Error::Input(codes::CHAIN_OBJECTS_UNFIT, error.to_string()))?;
        let mut object = joined.object.clone();
        let mut further = BTreeMap::new();
        for (member, maps) in joined.maps.iter().enumerate() {
            for (own, &map) in maps.iter().enumerate() {
                let name = &loaded[member].object.maps[own].name;
                let called = format!("{}:{name}", chain.members[member].name);
                let def = &joined.object.maps[map];
                let is_shared = joined.maps.iter().flatten().filter(|&&of| of == map).count() > 1;
                if is_shared && object.maps.iter().all(|known| known.name != called) {
                    object.maps.push(MapDef { name: called.clone(), ..def.clone() });
                    further.insert(called, def.name.clone());
                }
            }
        }
        Ok(Names { joined, object, further })
    }

    /// Replaces the keys of `given`, which may be alternative names of maps, by the names in the
    /// joined object.
    fn own<T>(&self, given: BTreeMap<String, T>) -> Result<BTreeMap<String, T>, Error> {
        const INNER: &str = ".inner";
        let mut own = BTreeMap::new();
        for (called, what) in given {
            let base = called.strip_suffix(INNER).unwrap_or(&called);
            let name = self.further.get(base).map_or_else(
                || called.clone(),
                |name| if base == called { name.clone() } else { format!("{name}{INNER}") },
            );
            if own.insert(name.clone(), what).is_some() {
                let what = format!("map {called} is the same as map {name}, which is also given");
                return Err(Error::OptionFile {
                    code: codes::MAPS_DO_NOT_FIT,
                    option: "--maps",
                    line: None,
                    what,
                });
            }
        }
        Ok(own)
    }
}

/// Joins the objects of a chain into one object, in which shared maps are one map.
///
/// # Errors
/// If maps that are shared have different definitions.
pub fn joined(chain: &Chain, loaded: &[Loaded]) -> Result<Joined, ChainError> {
    let shared = chain.groups(loaded)?;
    Ok(Object::join(&chain.parts(loaded), |one, other| {
        shared.get(&one).is_some_and(|group| shared.get(&other) == Some(group))
    }))
}

/// A map with given content, and the reason why it is not frozen, if there is one. Programs may
/// rely on the content of frozen maps.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Name of the map in its program's object.
    pub map: String,
    pub entries: usize,
    /// Reason why the map is not frozen; `None` if it is.
    pub why_not: Option<String>,
}

/// Maps with known content that does not change, on which a rewritten program can rely.
#[derive(Clone, Debug)]
pub struct FrozenMaps {
    /// Object of the program. It has additional maps: for the values of all frozen maps and for the
    /// generation counter.
    pub object: Object,
    /// Content of the frozen maps, by their indices in `object`.
    pub frozen: Frozen,
    /// Content of the frozen maps, by name. If there is a generation counter, its map is included
    /// with the value zero.
    pub contents: BTreeMap<String, MapContent>,
}

impl FrozenMaps {
    /// Finds the maps with given content on which a rewritten program can rely. Also returns, by
    /// map index, the reasons why other maps are not suitable. The caller ensures that no program
    /// writes to the maps.
    pub fn of(
        object: &Object,
        contents: &BTreeMap<u32, MapContent>,
        mode: Mode,
    ) -> (Option<FrozenMaps>, BTreeMap<u32, String>) {
        let (mut frozen, why) = Frozen::of(&object.maps, contents);
        if frozen.maps.is_empty() {
            return (None, why);
        }
        let mut object = object.clone();
        let known = |(number, content): (&u32, &MapContent)| {
            let map = object.maps.get(*number as usize)?;
            let there = frozen.maps.contains_key(number);
            there.then(|| (map.name.clone(), content.clone()))
        };
        let mut contents: BTreeMap<String, MapContent> =
            contents.iter().filter_map(known).collect();
        if mode == Mode::Guard {
            frozen.generation = Some(add(&mut object, GENERATION, vec![0; BYTES as usize]));
            let name = object.maps.last().map(|map| map.name.clone()).unwrap_or_default();
            contents.insert(name, zero());
            object.variables.push(Variable {
                name: VARIABLE.to_owned(),
                map: object.maps.len() - 1,
                offset: 0,
                size: BYTES.into(),
            });
        }
        let mut values = frozen.value_bytes();
        // A map must have at least one byte.
        values.resize(values.len().max(BYTES as usize), 0);
        frozen.values = add(&mut object, VALUES, values);
        (Some(FrozenMaps { object, frozen, contents }), why)
    }
}

impl FrozenMaps {
    /// Returns the map content that a rewritten program relies on. It is empty unless the program
    /// has a guard that checks the generation counter, or may rely on content without checks
    /// (`Mode::Trust`).
    pub fn relied_on(&self, made: &Specialised, mode: Mode) -> BTreeMap<String, MapContent> {
        let checked = made.guard.as_ref().is_some_and(|guard| guard.generation.is_some());
        match mode == Mode::Trust || checked {
            true => self.contents.clone(),
            false => BTreeMap::new(),
        }
    }
}

/// Returns the content of the map with the generation counter while no frozen map has changed:
/// zeros.
pub(crate) fn zero() -> MapContent {
    let zero = EntryValue::Bytes(vec![0; BYTES as usize]);
    MapContent { entries: vec![MapEntry { key: vec![0; 4], value: zero }], ..MapContent::default() }
}

/// Adds an array map with one element to an object, and returns the index of the map.
fn add(object: &mut Object, name: &str, content: Vec<u8>) -> u32 {
    let taken = |name: &str| object.maps.iter().any(|map| map.name == name);
    let numbered = (2..).map(|number| format!("{name}{number}"));
    let mut names = std::iter::once(name.to_owned()).chain(numbered);
    let name = names.find(|name| !taken(name)).unwrap_or_default();
    let read_only = name.starts_with(VALUES);
    object.maps.push(MapDef {
        kind: MapKind::ARRAY,
        key_size: 4,
        value_size: u32::try_from(content.len()).unwrap_or(u32::MAX),
        max_entries: 1,
        flags: MAPPABLE | if read_only { READ_ONLY } else { 0 },
        initial: Some(content),
        read_only,
        ..MapDef::new(&name)
    });
    (object.maps.len() - 1) as u32
}

/// Returns the given map content without the maps to which a program of the chain may write. Also
/// returns, for each program, the decision about each map with given content.
///
/// # Errors
/// If maps that are shared have different definitions.
pub(crate) fn unwritten(
    chain: &Chain,
    loaded: &[Loaded],
    contents: &Contents,
    kernel: Option<&slowpath_bpf::Btf>,
    stop: &Stop,
) -> Result<(Contents, Vec<Vec<Given>>), ChainError> {
    let groups = chain.groups_across(loaded, true)?;
    let (mut kept, mut all) = (Vec::new(), Vec::new());
    for (member, contents) in contents.iter().enumerate() {
        let (mut left, mut given) = (BTreeMap::new(), Vec::new());
        for (&map, content) in contents {
            let group = groups.get(&(member, map as usize));
            // All programs that share this map, with the index of the map in each.
            let shared = groups.iter().filter(|(_, of)| Some(*of) == group).map(|(&at, _)| at);
            let mut users: Vec<(usize, usize)> = shared.collect();
            users.push((member, map as usize));
            users.sort_unstable();
            users.dedup();
            let why_not = users.into_iter().find_map(|(member, map)| {
                let (name, object) = (&chain.members[member].name, &loaded[member].object);
                write_reason(name, object, map, kernel, stop)
            });
            if why_not.is_none() {
                left.insert(map, content.clone());
            }
            let name = loaded[member].object.maps.get(map as usize).map(|map| map.name.clone());
            let (map, entries) = (name.unwrap_or_default(), content.entries.len());
            given.push(Given { map, entries, why_not });
        }
        kept.push(left);
        all.push(given);
    }
    Ok((kept, all))
}

/// Selects the maps with given content that can be frozen, by name in the object. Also returns, by
/// map index, the reasons why other maps cannot be frozen.
pub(crate) fn freezable(
    object: &Object,
    contents: &BTreeMap<u32, MapContent>,
) -> (BTreeMap<String, MapContent>, BTreeMap<u32, String>) {
    let (frozen, why) = Frozen::of(&object.maps, contents);
    let named = |(number, content): (&u32, &MapContent)| {
        let map = object.maps.get(*number as usize)?;
        frozen.maps.contains_key(number).then(|| (map.name.clone(), content.clone()))
    };
    (contents.iter().filter_map(named).collect(), why)
}

/// Returns the reason, in words, why some program of an object may write to a map. Returns `None`
/// if no program writes to it.
fn write_reason(
    name: &str,
    object: &Object,
    map: usize,
    kernel: Option<&slowpath_bpf::Btf>,
    stop: &Stop,
) -> Option<String> {
    let held =
        object.maps.iter().find(|of| of.slots.iter().any(|&(_, to)| to == SlotRef::Map(map)));
    if let Some(outer) = held {
        return Some(format!("{} holds it, and programs may write it from there", outer.name));
    }
    for number in 0..object.programs.len() {
        let entry = &object.programs[number].name;
        let program = match object.link(number, kernel) {
            Ok(program) => program,
            Err(error) => return Some(format!("{name}: {entry}: {error}")),
        };
        match writer(object, &program, map as u32, stop) {
            Ok(Ok(None)) => {}
            Ok(Ok(Some(slot))) => {
                let place = program.place_text(slot);
                let insn = program.disassemble(object, slot);
                return Some(format!("{name}: {entry} may write it: {place}: {insn}"));
            }
            Ok(Err(reason)) => return Some(reason.to_string()),
            Err(error) => return Some(format!("{name}: {entry}: {error}")),
        }
    }
    None
}

//! Maps of a chain whose content is frozen: given, and written by none of the chain's programs.
//!
//! A program that relies on it can have two maps more: one with a generation, which is zero for as
//! long as nobody has changed what is frozen, and one with the values of all frozen maps, which it
//! finds by comparing keys itself.

use crate::{Chain, ChainError, Loaded};
use serde_json::Value;
use slowpath::Error;
use slowpath_bpf::lift::{EntryValue, MapContent, MapEntry};
use slowpath_bpf::{Joined, MAPPABLE, MapDef, MapKind, Object, READ_ONLY, SlotRef, Variable};
use slowpath_specialise::{Frozen, Mode, Specialised, writer};
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// The map with the generation: a section of data, so that programs read it without a call.
pub(crate) const GENERATION: &str = ".data.slowpath";
/// Its variable.
const VARIABLE: &str = "slowpath_gen";
/// The map with values.
const VALUES: &str = ".rodata.slowpath";
/// Bytes of the generation.
const BYTES: u32 = 8;

/// The content of maps of each program of a chain, by the number of the map in its object.
pub type Contents = Vec<BTreeMap<u32, MapContent>>;

/// Reads the content of maps of a chain (`docs/maps.md`): a map whose name several programs have is
/// called `PROGRAM:MAP`, one that they share by the name in any of them.
///
/// # Errors
/// When it cannot be read, names a map that no program has, or does not fit it; when maps that are
/// shared are not alike.
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

/// The same as the `maps` of a witness of the whole chain, a JSON object.
///
/// # Errors
/// As [`read_contents`].
pub fn start_maps(chain: &Chain, loaded: &[Loaded], text: &str) -> Result<Value, Error> {
    let names = Names::of(chain, loaded)?;
    let mut start = slowpath::start_maps(text, &names.object)?;
    if let Some(Value::Object(maps)) = start.get_mut("maps") {
        let given = std::mem::take(maps).into_iter().collect();
        maps.extend(names.own(given)?);
    }
    Ok(start)
}

/// The objects of a chain as one, and all names of the maps there.
struct Names {
    joined: Joined,
    /// The same object with a map for each further name.
    object: Object,
    /// The name in the joined object, by further names.
    further: BTreeMap<String, String>,
}

impl Names {
    fn of(chain: &Chain, loaded: &[Loaded]) -> Result<Names, Error> {
        let joined = joined(chain, loaded).map_err(|error| Error::Input(error.to_string()))?;
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

    /// What is said of maps, by the names in the joined object.
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
                let what = format!("map {called} is map {name}, which is there as well");
                return Err(Error::OptionFile { option: "--maps", line: None, what });
            }
        }
        Ok(own)
    }
}

/// The objects of a chain as one.
///
/// # Errors
/// When maps that are shared are not alike.
pub fn joined(chain: &Chain, loaded: &[Loaded]) -> Result<Joined, ChainError> {
    let shared = chain.groups(loaded)?;
    Ok(Object::join(&chain.parts(loaded), |one, other| {
        shared.get(&one).is_some_and(|group| shared.get(&other) == Some(group))
    }))
}

/// A map whose content was given, and what became of that.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Given {
    /// Its name in the object of its program.
    pub map: String,
    /// How many entries were given.
    pub entries: usize,
    /// Why it is not frozen, if it is not.
    pub why_not: Option<String>,
}

/// What a program can rely on of its maps.
#[derive(Clone, Debug)]
pub struct FrozenMaps {
    /// Its object, with the maps that it can have besides.
    pub object: Object,
    /// What is known, by the numbers of maps there.
    pub frozen: Frozen,
    /// The same by their names; of the map with the generation, that it is zero.
    pub contents: BTreeMap<String, MapContent>,
}

impl FrozenMaps {
    /// What a program that belongs to an object can rely on, and why not on more. That nobody writes
    /// the maps is not looked at.
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
        // A map holds something.
        values.resize(values.len().max(BYTES as usize), 0);
        frozen.values = add(&mut object, VALUES, values);
        (Some(FrozenMaps { object, frozen, contents }), why)
    }
}

impl FrozenMaps {
    /// The content that a rewritten program may rely on: what nothing checks is no reason, unless it is
    /// taken for granted.
    pub fn relied_on(&self, made: &Specialised, mode: Mode) -> BTreeMap<String, MapContent> {
        let checked = made.guard.as_ref().is_some_and(|guard| guard.generation.is_some());
        match mode == Mode::Trust || checked {
            true => self.contents.clone(),
            false => BTreeMap::new(),
        }
    }
}

/// What a map with the generation holds as long as nobody has changed what is frozen.
pub(crate) fn zero() -> MapContent {
    let zero = EntryValue::Bytes(vec![0; BYTES as usize]);
    MapContent { entries: vec![MapEntry { key: vec![0; 4], value: zero }], ..MapContent::default() }
}

/// Adds a map of one element; its number.
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

/// What of the contents given a chain's programs leave as it is, and what becomes of each map, by
/// program.
///
/// # Errors
/// When maps that are shared are not alike.
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
            // Each with the programs that it is a map of.
            let shared = groups.iter().filter(|(_, of)| Some(*of) == group).map(|(&at, _)| at);
            let mut users: Vec<(usize, usize)> = shared.collect();
            users.push((member, map as usize));
            users.sort_unstable();
            users.dedup();
            let why_not = users.into_iter().find_map(|(member, map)| {
                let (name, object) = (&chain.members[member].name, &loaded[member].object);
                written(name, object, map, kernel, stop)
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

/// What of the content of maps is known in the end, by their names in the object, and why not more.
pub(crate) fn admitted(
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

/// Why a map may be written by a program of an object, if it may.
fn written(
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

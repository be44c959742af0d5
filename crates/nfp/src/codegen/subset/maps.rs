//! Checks that the SmartNIC supports the maps of a program and the accesses to their elements
//! (`nfp_bpf_map_alloc`, `nfp_bpf_map_mark_used` of the Linux NFP driver).

use slowpath_codes as codes;
use std::collections::{BTreeMap, BTreeSet};

use slowpath_bpf::insn::{Imm64, Insn};
use slowpath_bpf::{MapDef, MapKind};

use crate::codegen::annotated::AnnotatedProgram;
use crate::codegen::refusal::{Cause, OTHER_TARGET};
use crate::firmware::{MAX_ARRAY, MapAbi};

/// The way in which a program uses a word of a map's value. Each word can have only one use,
/// because the SmartNIC stores counters in another byte order.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Use {
    Read,
    Atomic,
}

/// The maps that a program uses, and the way in which it uses the words of their values.
pub(super) struct Uses {
    /// Indices of the maps in the object, in the order in which the program first uses them.
    maps: Vec<u32>,
    /// The use of each word. The key consists of the index of the map and the index of the 32-bit
    /// word in the map's value.
    words: BTreeMap<(u32, i64), Use>,
}

impl Uses {
    /// Finds the maps that a program uses. The result contains no uses of words yet; [`record_use`]
    /// adds them.
    pub fn of(program: &AnnotatedProgram<'_>) -> Self {
        let live = (0..program.insns.len()).filter(|&slot| program.is_live(slot));
        let named = live.filter_map(|slot| match program.insns[slot].insn {
            Insn::LoadImm64 { value: Imm64::Map(map), .. } => Some(map),
            _ => None,
        });
        let mut known = BTreeSet::new();
        let maps = named.filter(|&map| known.insert(map)).collect();
        Uses { maps, words: BTreeMap::new() }
    }
}

/// Records how the program uses words of a map's value (`nfp_bpf_map_mark_used`).
pub(super) fn record_use(
    program: &AnnotatedProgram<'_>,
    map: u32,
    (offsets, offset, bytes): (Option<BTreeSet<i64>>, i16, u8),
    use_: Use,
    uses: &mut Uses,
) -> Result<(), Cause> {
    let Some(offsets) = offsets else {
        let hint = "access elements at constant offsets";
        return Err(Cause::new(
            codes::CARD_MAP_ACCESS,
            "an access to a map's element at a variable offset",
            hint,
        ));
    };
    let size = program.map(map).map_or(0, |def| i64::from(def.value_size));
    for from in offsets {
        let first = from.saturating_add(offset.into());
        let end = first.saturating_add(bytes.into());
        if first < 0 || end > size {
            let what = format!("an access behind the {size} bytes of a map's element");
            return Err(Cause::new(
                codes::CARD_MAP_ACCESS,
                what,
                "the kernel's verifier refuses such a program",
            ));
        }
        for word in first / 4..=(end - 1) / 4 {
            if *uses.words.entry((map, word)).or_insert(use_) != use_ {
                let offset = 4 * word;
                let what =
                    format!("the word at offset {offset} of a map's element is read and added to");
                let hint = "the card keeps counters in another byte order than other values";
                return Err(Cause::new(codes::CARD_MAP_ACCESS, what, hint));
            }
        }
    }
    Ok(())
}

/// Checks that the firmware supports a map.
pub(super) fn map_supported(
    program: &AnnotatedProgram<'_>,
    number: u32,
    abi: MapAbi,
    uses: &Uses,
) -> Result<(), Cause> {
    let Some(map) = program.map(number) else { return Ok(()) };
    match abi {
        MapAbi::ArrayPointer => array(program, map, uses),
        MapAbi::Call => call_map(map),
    }
}

/// Checks that a map can be the only array map of the firmware of Krude et al. (CoNEXT 2021), with
/// the same conditions as `nfp_bpf_map_alloc` of its driver.
fn array(program: &AnnotatedProgram<'_>, map: &MapDef, uses: &Uses) -> Result<(), Cause> {
    let MapDef { name, kind, key_size, value_size, max_entries, flags, .. } = map;
    let mut all = uses.maps.iter().filter_map(|&map| program.map(map));
    let stock = if all.all(|map| call_map(map).is_ok()) {
        "--map-abi call compiles it for the stock firmware, whose map costs are not published"
    } else {
        OTHER_TARGET
    };
    if *kind != MapKind::ARRAY {
        let what = format!("map {name} is of type {kind}; the firmware has one array");
        return Err(Cause::new(codes::CARD_MAP, what, stock));
    }
    if let Some((last, first)) = uses.maps.split_last().filter(|(_, first)| !first.is_empty()) {
        let names = |numbers: &[u32]| {
            let names = numbers.iter().filter_map(|&map| program.map(map));
            names.map(|map| map.name.as_str()).collect::<Vec<_>>().join(", ")
        };
        let what =
            format!("maps {} and {}; the firmware has one array", names(first), names(&[*last]));
        return Err(Cause::new(codes::CARD_MAP, what, stock));
    }
    let rounded = u64::from(*value_size).next_power_of_two();
    let limit = |what: String, hint: &str| Err(Cause::new(codes::CARD_MAP, what, hint.to_owned()));
    if *flags != 0 {
        limit(format!("map {name} has flags {flags:#x}"), "the card supports no map flags")
    } else if *key_size != 4 {
        limit(format!("the keys of map {name} have {key_size} bytes"), "an array's have 4")
    } else if !max_entries.is_power_of_two() {
        let what = format!("map {name} has {max_entries} elements");
        limit(what, "the firmware's array has a power of two")
    } else if value_size % 4 != 0 {
        let what = format!("the values of map {name} have {value_size} bytes");
        limit(what, "the firmware's array has values of whole 4-byte words")
    } else if rounded * u64::from(*max_entries) > MAX_ARRAY {
        limit(format!("map {name} has more than 1 GiB"), "that is the size of the firmware's array")
    } else {
        Ok(())
    }
}

/// Checks that the stock firmware supports a map.
fn call_map(map: &MapDef) -> Result<(), Cause> {
    let known = [MapKind::HASH, MapKind::ARRAY, MapKind::PERF_EVENT_ARRAY];
    if !known.contains(&map.kind) {
        let what = format!("map {} is of type {}", map.name, map.kind);
        return Err(Cause::new(
            codes::CARD_MAP,
            what,
            "the card has hash maps, arrays and perf event arrays",
        ));
    }
    if map.flags != 0 && map.kind != MapKind::PERF_EVENT_ARRAY {
        let what = format!("map {} has flags {:#x}", map.name, map.flags);
        return Err(Cause::new(codes::CARD_MAP, what, "the card supports no map flags"));
    }
    Ok(())
}

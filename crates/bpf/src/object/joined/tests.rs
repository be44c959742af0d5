//! Tests that linking a program from a joined object gives the same code as linking it from the
//! original object, apart from map indices.

use super::{Joined, Part};
use crate::insn::{Imm64, Insn};
use crate::{Object, SlotRef};

const OBJECTS: [(&str, &[u8]); 3] = [
    ("features", include_bytes!("../../../tests/data/features.bpf.o")),
    ("legacy", include_bytes!("../../../tests/data/legacy.bpf.o")),
    ("extern", include_bytes!("../../../tests/data/extern.bpf.o")),
];

fn parse(number: usize) -> Object {
    Object::parse(OBJECTS[number].1).unwrap_or_else(|error| panic!("{error}"))
}

fn join(objects: &[Object], shared: impl Fn((usize, usize), (usize, usize)) -> bool) -> Joined {
    let names = ["first", "second", "third", "fourth"];
    let parts: Vec<Part<'_>> =
        names.iter().zip(objects).map(|(name, object)| Part { name, object }).collect();
    Object::join(&parts, shared)
}

/// Returns the instruction that the joined object must have in place of `insn`. `maps` are the
/// indices that the maps of the original object have in the joined one.
fn moved(insn: Insn, maps: &[usize]) -> Insn {
    match insn {
        Insn::LoadImm64 { dst, value: Imm64::Map(map) } => {
            Insn::LoadImm64 { dst, value: Imm64::Map(maps[map as usize] as u32) }
        }
        Insn::LoadImm64 { dst, value: Imm64::MapValue { map, offset } } => Insn::LoadImm64 {
            dst,
            value: Imm64::MapValue { map: maps[map as usize] as u32, offset },
        },
        other => other,
    }
}

#[test]
fn programs_are_linked_as_they_are_alone() {
    let objects = [parse(0), parse(1), parse(2), parse(0)];
    let joined = join(&objects, |_, _| false);
    let whole = &joined.object;
    assert_eq!(whole.maps.len(), objects.iter().map(|object| object.maps.len()).sum::<usize>());
    let mut compared = 0;
    for (part, object) in objects.iter().enumerate() {
        for number in 0..object.programs.len() {
            let alone = object.link(number, None);
            let linked = whole.link(joined.programs[part] + number, None);
            let (Ok(alone), Ok(linked)) = (alone, linked) else { continue };
            let expected: Vec<Insn> =
                alone.insns.iter().map(|&insn| moved(insn, &joined.maps[part])).collect();
            assert_eq!(linked.insns, expected, "{}", alone.name);
            assert_eq!((&linked.lines, &linked.kfuncs), (&alone.lines, &alone.kfuncs));
            assert_eq!(linked.unresolved, alone.unresolved);
            for (one, other) in linked.subprograms.iter().zip(&alone.subprograms) {
                assert!(one.section.ends_with(&format!(":{}", other.section)), "{}", one.section);
            }
            compared += linked.insns.len();
        }
    }
    assert!(compared > 100, "{compared} instructions");
}

#[test]
fn maps_keep_their_definitions_and_types() {
    let objects = [parse(2), parse(0)];
    let joined = join(&objects, |_, _| false);
    let (whole, own) = (&joined.object, &objects[1]);
    for (def, &place) in own.maps.iter().zip(&joined.maps[1]) {
        let there = &whole.maps[place];
        assert_eq!(
            (there.kind, there.key_size, there.value_size, &there.initial),
            (def.kind, def.key_size, def.value_size, &def.initial)
        );
        let types = (def.value_type, there.value_type);
        if let (Some(before), Some(after)) = types {
            let name = |object: &Object, id| {
                object.btf.as_ref().map(|btf| btf.type_name(btf.resolve(id)).to_owned())
            };
            assert_eq!(name(own, before), name(whole, after));
        }
        for (slot, target) in &there.slots {
            let SlotRef::Program(program) = target else { continue };
            let name = &whole.programs[*program].name;
            let alone = def.slots.iter().find(|(other, _)| other == slot);
            let Some((_, SlotRef::Program(number))) = alone else { panic!("slot {slot}") };
            assert_eq!(*name, own.programs[*number].name);
        }
    }
}

#[test]
fn maps_are_separate_or_shared() {
    let objects = [parse(0), parse(0)];
    let apart = join(&objects, |_, _| false);
    let names: Vec<&str> = apart.object.maps.iter().map(|map| map.name.as_str()).collect();
    assert!(names.contains(&"first:flows") && names.contains(&"second:flows"), "{names:?}");
    let together = join(&objects, |one, other| one.1 == other.1);
    assert_eq!(together.object.maps.len(), objects[0].maps.len());
    assert_eq!(together.maps[0], together.maps[1]);
    let (one, other) = (together.programs[0], together.programs[1]);
    let insns = |program| together.object.link(program, None).map(|linked| linked.insns);
    assert_eq!(insns(one).ok(), insns(other).ok());
}

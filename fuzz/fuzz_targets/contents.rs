//! Fuzzes the reader of map content in the format of `--maps`. The first byte of the input chooses
//! one of several objects. The rest is a text, which must be exactly one of
//!
//! - content of the object's maps, with keys and values of the right lengths and at most as many
//!   elements as fit;
//! - an error of one line.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath::{Error, initial_maps, map_contents};
use slowpath_bpf::lift::EntryValue;
use slowpath_bpf::{MapDef, Object};
use std::sync::LazyLock;

static OBJECTS: LazyLock<Vec<Object>> = LazyLock::new(|| {
    let files: [&[u8]; 4] = [
        include_bytes!("../../examples/chain/rules.bpf.o"),
        include_bytes!("../../examples/chain/backends.bpf.o"),
        include_bytes!("../../crates/bpf/tests/data/features.bpf.o"),
        include_bytes!("../../crates/kernel/tests/objects/features.bpf.o"),
    ];
    files.iter().map(|file| Object::parse(file).expect("an object of this repository")).collect()
});

fuzz_target!(|input: (u8, &str)| {
    let (number, text) = input;
    let object = &OBJECTS[usize::from(number) % OBJECTS.len()];
    let contents = match map_contents(text, object) {
        Ok(contents) => contents,
        Err(error) => {
            one_line(&error);
            return one_line(&initial_maps(text, object).expect_err("it cannot be read"));
        }
    };
    for (name, content) in &contents {
        let (map, inner) = named(object, name).expect("it is a map of the object");
        for entry in &content.entries {
            assert!(entry.key.is_empty() || entry.key.len() == map.key_size as usize, "{name}");
            if let EntryValue::Bytes(value) | EntryValue::Inner { value, .. } = &entry.value {
                assert_eq!(value.len(), map.value_size as usize, "{name}");
            }
        }
        let count = content.others.saturating_add(content.entries.len() as u64);
        assert!(inner || map.max_entries == 0 || count <= u64::from(map.max_entries), "{name}");
    }
    match initial_maps(text, object) {
        Ok(start) => assert!(start["maps"].is_object()),
        Err(error) => one_line(&error),
    }
});

/// Returns the definition of the map called `name`. The flag is true if it describes the inner maps
/// of a map of maps.
fn named<'a>(object: &'a Object, name: &str) -> Option<(&'a MapDef, bool)> {
    let find = |name: &str| object.maps.iter().find(|map| map.name == name);
    let inner = || Some((find(name.strip_suffix(".inner")?)?.inner.as_deref()?, true));
    find(name).map(|map| (map, false)).or_else(inner)
}

fn one_line(error: &Error) {
    assert_eq!(error.to_string().lines().count(), 1, "{error:?}");
}

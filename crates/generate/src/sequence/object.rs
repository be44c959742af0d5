//! Writes sequences as BPF objects with maps in iproute2's format: structures in section `maps`,
//! which also define the content of maps of maps.

use object::SymbolScope;
use slowpath_bpf::MapKind;
use slowpath_bpf::insn::Insn;

use super::layout::{RESULTS, key_size};
use super::statement::Shape;
use crate::object::ObjectBuilder;

/// Flag of maps that allocate elements on insertion (`BPF_F_NO_PREALLOC`).
const NO_PREALLOC: u32 = 1;

/// Returns the name of the map with this number; map 0, `out`, receives the results.
pub(super) fn name(number: usize) -> String {
    if number == 0 { "out".to_owned() } else { format!("m{number}") }
}

/// Returns the bytes of an object file that contains the program `code`, maps of these shapes, and
/// the map `out`.
pub(super) fn write(code: &[Insn], shapes: &[Shape]) -> Vec<u8> {
    let mut object = ObjectBuilder::new();
    let out = [MapKind::ARRAY.0, 4, 8 * (RESULTS as u32 + 1), 1, 0, 1, 0, 0, 0];
    let mut maps = vec![object.add_map(&name(0), &out)];
    for (number, shape) in (1..).zip(shapes) {
        let (name, id) = (name(number), 10 * number as u32);
        if shape.kind.holds_maps() {
            for (inner, letter) in [(1, 'a'), (2, 'b')] {
                let words = definition(shape, shape.inner, id + inner, 0);
                object.add_map(&format!("{name}{letter}"), &words);
            }
        }
        maps.push(object.add_map(&name, &definition(shape, shape.kind, id, id + 1)));
    }
    object.add_function("sequence", code, SymbolScope::Linkage, &maps);
    object.finish()
}

/// Returns a map definition as the words of iproute2's `struct bpf_elf_map`: type, key size, value
/// size, entries, flags, number, pinning, number of the inner map, and index in the outer map.
fn definition(shape: &Shape, kind: MapKind, id: u32, inner: u32) -> [u32; 9] {
    let hash = matches!(kind, MapKind::HASH | MapKind::PERCPU_HASH);
    let trie = kind == MapKind::LPM_TRIE;
    let flags = if trie || (hash && shape.allocates) { NO_PREALLOC } else { 0 };
    let value = match kind {
        MapKind::DEVMAP | MapKind::DEVMAP_HASH => 4,
        kind if kind.holds_maps() => 4,
        _ => 8 * u32::from(shape.words),
    };
    let inner = if kind.holds_maps() { inner } else { 0 };
    [kind.0, key_size(kind, shape.wide), value, shape.entries.into(), flags, id, 0, inner, 0]
}

//! Finds the map elements that the program looks up for a packet.

use std::collections::BTreeSet;

use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_ir::RegionId;
use slowpath_kernel::{Context, MapError};

use crate::pair::{Pair, is_queue};

/// A lookup of a map element by a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookup {
    /// Name of the map.
    pub map: String,
    /// Key that the program looks up. In a trie, the matching element may have a shorter prefix.
    pub key: Vec<u8>,
}

/// All lookups that a program makes for a packet. They are found by interpretation, before the
/// kernel runs the packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Lookups {
    /// Number of instructions that the program executes.
    pub instructions: u64,
    /// Elements that the program looks up, map by map. Elements of arrays are included if they are
    /// read or written.
    pub elements: Vec<Lookup>,
}

impl Pair {
    /// Finds the lookups for a packet by interpreting the program, with unknown values such as
    /// times at their minimum. Does not change the state of the maps. Returns `None` if the
    /// interpreter does not complete the run.
    pub fn lookup(
        &mut self,
        packet: &[u8],
        context: &Context,
    ) -> Result<Option<Lookups>, MapError> {
        self.set_packet(packet, context);
        self.prepare()?;
        let lifted = self.lifted.clone();
        let maps = || lifted.layout.maps.iter().filter(|layout| !is_queue(layout));
        self.environment.watched = maps().map(|layout| first_read_region(layout).0).collect();
        let run = self.interpret(&[], None);
        self.environment.watched.clear();
        let Ok(run) = run else { return Ok(None) };
        let elements = maps().flat_map(|layout| lookups_of_map(layout, &run)).collect();
        Ok(Some(Lookups { instructions: run.costs.len() as u64, elements }))
    }
}

/// Returns the region of the interpreter's memory that every lookup in a map reads first, and a
/// shift distance. An element's number, shifted left by this distance, is the element's offset in
/// the region.
fn first_read_region(layout: &MapLayout) -> (RegionId, u8) {
    match (layout.prefix_lengths, layout.present) {
        (Some(lengths), _) => (lengths, 1),
        (None, Some(present)) => (present, 0),
        (None, None) => (layout.values, layout.element_bits),
    }
}

/// Returns the elements of one map that a run looks up: those that it reads, in order, and then
/// those that it only writes.
fn lookups_of_map(layout: &MapLayout, run: &Run) -> Vec<Lookup> {
    let (region, shift) = first_read_region(layout);
    let inside = |place: &&(RegionId, u64)| place.0 == region;
    let mut numbers: Vec<u64> = Vec::new();
    let written: BTreeSet<u64> =
        run.written.keys().filter(inside).map(|at| at.1 >> shift).collect();
    for number in run.read.iter().filter(inside).map(|at| at.1 >> shift).chain(written) {
        if !numbers.contains(&number) {
            numbers.push(number);
        }
    }
    let (place, shift) = match layout.present {
        Some(present) => (present, 0),
        None => (layout.values, layout.element_bits),
    };
    let key = |number: u64| {
        let bytes: Bytes = [((place, number << shift), 1)].into();
        layout.elements(&bytes, &run.interned).pop()?.key
    };
    let sought = |key| Lookup { map: layout.name.clone(), key };
    numbers.into_iter().filter_map(key).map(sought).collect()
}

//! Chooses the order in which a proof executes the basic blocks of the original and the specialised
//! program. The order affects only the amount of work, not the result.

use slowpath_ir::{FlowError, Program};
use slowpath_product::Order;
use std::collections::HashMap;

/// Returns the order in which the basic blocks of each program are executed: first the order for
/// the original, then that for the specialised program. For each instruction slot of the
/// specialised program, `origins` contains the slot of the original that it comes from. If a slot
/// has no entry, its own index is used.
///
/// # Errors
/// If a loop has several entries.
pub(super) fn orders(
    original: &Program,
    other: &Program,
    origins: Option<&[usize]>,
) -> Result<[Order; 2], FlowError> {
    let (first, second) = (Order::of(original)?, Order::of(other)?);
    let order = &first;
    // Several blocks can begin at one slot: the steps of a helper call, and copies of a function.
    let mut beginning: HashMap<u32, Vec<u32>> = HashMap::new();
    let mut containing: HashMap<u32, u32> = HashMap::new();
    for (block, number) in original.blocks.iter().zip(0_usize..) {
        let place = order.place(number.into());
        beginning.entry(block.first.0).or_default().push(place);
        for insn in &block.insns {
            let known = containing.entry(insn.0).or_insert(place);
            *known = place.min(*known);
        }
    }
    for places in beginning.values_mut() {
        places.sort_unstable();
    }
    let mut by_place: Vec<usize> = (0..other.blocks.len()).collect();
    by_place.sort_by_key(|&block| second.place(block.into()));
    let mut begun: HashMap<u32, usize> = HashMap::new();
    let mut places = vec![u32::MAX; other.blocks.len()];
    for block in by_place {
        let slot = other.blocks[block].first.0;
        let origin = origins.and_then(|origins| origins.get(slot as usize)).copied();
        let origin = origin.and_then(|origin| u32::try_from(origin).ok()).unwrap_or(slot);
        let nth = begun.entry(slot).or_default();
        let found = beginning.get(&origin).and_then(|places| places.get(*nth).or(places.last()));
        *nth += 1;
        let found = found.or_else(|| containing.get(&origin));
        places[block] = found.copied().unwrap_or(u32::MAX);
    }
    Ok([first, second.at(places)])
}

//! Compares the final states of the BPF program and its compiled version, and finds the conditions
//! under which they differ.

use super::product::{Area, Product};
use slowpath_exec::Location;
use slowpath_ir::{RegionId, RegionKind};
use slowpath_nfp::firmware::xdp_md::{DATA, DATA_END, RX_QUEUE_INDEX};
use slowpath_nfp::firmware::{PACKET_ADDRESS_OFFSET, PACKET_LENGTH_BITS};
use slowpath_product::{Path, Side};
use slowpath_smt::{TermId, TermPool};
use std::collections::BTreeSet;

/// Final state of a path of the BPF program, as terms for the solver.
pub(super) struct Outcome {
    /// Three terms of 32 bits each: the program's result, the distance in bytes by which it has
    /// moved the packet's start, and the packet's length in bytes.
    values: [TermId; 3],
    stores: Vec<Store>,
    /// True if the program may have moved the start or end of the packet. Some written bytes may
    /// then be outside of the final packet.
    moved: bool,
}

/// Names of the values of an [`Outcome`], for messages.
const VALUES: [&str; 3] = ["the result", "the start of the packet", "the length of the packet"];

/// A store instruction on a path: the bytes of the packet or the array to which it has written.
#[derive(Clone, Copy, Debug)]
struct Store {
    area: Area,
    /// Offset of the first byte in the packet or the array, as a 64-bit term. Offsets in the
    /// SmartNIC's memory are converted to those of the BPF program.
    offset: TermId,
    bytes: u8,
}

/// Returns bytes of a memory region at the end of a path, as a term. `offset` is constant and in
/// bytes.
fn read_at(
    side: &mut Side,
    path: &Path,
    region: RegionId,
    offset: u64,
    bytes: u8,
) -> Result<TermId, String> {
    let base = side.executor.program().regions[region.index()].base;
    let width = side.executor.program().width(base);
    let offset = side.executor.pool.constant(width, offset);
    side.content(&path.state, region, offset, bytes)
}

/// Lists the stores of a path to the packet and the array, whose final contents are compared.
///
/// # Errors
/// Returns a sentence about a write that is not understood.
fn stores(
    side: &mut Side,
    path: &Path,
    area: impl Fn(RegionId) -> Option<Area>,
) -> Result<Vec<(Area, TermId, u8)>, String> {
    let stores = side.executor.stores(&path.state).ok_or("a path has merges")?;
    let mut found = Vec::new();
    for store in stores {
        let Some(Location { region, offset }) = store.location else {
            let insn = store.insn;
            return Err(format!("instruction .{insn} stores to a region that is not known"));
        };
        let info = &side.executor.program().regions[region.index()];
        match area(region) {
            Some(area) => found.push((area, offset, store.bytes)),
            None if info.kind == RegionKind::Map => {
                return Err(format!("the program writes to {}", info.name));
            }
            None => {}
        }
    }
    Ok(found)
}

/// Returns the final state of a path of the BPF program.
///
/// # Errors
/// Returns the reason, in words, why the state cannot be determined.
pub(super) fn bpf_outcome(product: &mut Product, path: &Path) -> Result<Outcome, String> {
    let (packet, context, result) =
        (product.layout.packet, product.layout.context, product.layout.result);
    let values = product.values();
    let side = &mut product.bpf;
    let result = read_at(side, path, result, 0, 8)?;
    let result = side.executor.pool.extract(result, 0, 32);
    let data = read_at(side, path, context, DATA, 4)?;
    let end = read_at(side, path, context, DATA_END, 4)?;
    let base = side.executor.base(packet).ok_or("the packet has no address")?;
    let received = side.executor.packet_length();
    let pool = &mut side.executor.pool;
    let base = pool.extract(base, 0, 32);
    let start = pool.sub(data, base);
    let length = pool.sub(end, data);
    let unmoved = received.map(|length| pool.extract(length, 0, 32));
    let moved = pool.as_const(start) != Some(0) || unmoved != Some(length);
    let area = |region| match region {
        region if region == packet => Some(Area::Packet),
        region if Some(region) == values => Some(Area::Array),
        _ => None,
    };
    if selects_queue(side, path, context) {
        return Err("the program selects a queue, which is not compared".into());
    }
    let stores = stores(side, path, area)?;
    let place = |&(area, offset, bytes): &(Area, TermId, u8)| Store { area, offset, bytes };
    let stores = stores.iter().map(place).collect();
    Ok(Outcome { values: [result, start, length], stores, moved })
}

/// Returns true if a path writes to the field `rx_queue_index` of the context. The write with which
/// the front end initialises the field is ignored.
fn selects_queue(side: &Side, path: &Path, context: RegionId) -> bool {
    let stores = side.executor.stores(&path.state).unwrap_or_default();
    let places = stores.iter().filter_map(|store| store.location);
    let of_field = places.filter(|place| {
        let offset = side.executor.pool.as_const(place.offset);
        place.region == context && offset == Some(RX_QUEUE_INDEX)
    });
    of_field.count() > 1
}

/// Returns the result, the packet's start and its length at the end of a path of the SmartNIC's
/// program: the three values of [`Outcome`].
fn card_values(product: &mut Product, path: &Path) -> Result<[TermId; 3], String> {
    let regions = product.regions;
    let side = &mut product.card;
    let stores = side.executor.stores(&path.state).ok_or("a path has merges")?;
    let keeps = |store: &slowpath_exec::Stored| {
        store.location.is_some_and(|location| location.region == regions.result)
    };
    if !stores.iter().any(keeps) {
        return Err("the card's program leaves by a conditional branch".into());
    }
    let result = read_at(side, path, regions.result, 0, 4)?;
    let word = read_at(side, path, regions.context, 0, 4)?;
    let address = read_at(side, path, regions.context, PACKET_ADDRESS_OFFSET, 4)?;
    let base = side.executor.base(regions.packet).ok_or("the packet has no address")?;
    let pool = &mut side.executor.pool;
    let start = pool.sub(address, base);
    let length = pool.extract(word, 0, PACKET_LENGTH_BITS);
    Ok([result, start, pool.zext(length, 32)])
}

/// Returns the possible differences between the final states of two paths, one of each program.
/// Each has a description and the condition under which the states differ.
///
/// # Errors
/// Returns the reason, in words, why a state cannot be determined.
pub(super) fn differences(
    product: &mut Product,
    expected: &Outcome,
    path: &Path,
    other: &Path,
) -> Result<Vec<(String, TermId)>, String> {
    let regions = product.regions;
    let area = |region| match region {
        region if region == regions.packet => Some(Area::Packet),
        region if region == regions.array => Some(Area::Array),
        _ => None,
    };
    product.swap_terms();
    let values = card_values(product, other);
    let written = stores(&mut product.card, other, area);
    product.swap_terms();
    let (values, written) = (values?, written?);
    let mut places = expected.stores.clone();
    for (area, offset, bytes) in written {
        places.push(Store { area, offset: product.bpf_offset_of(area, offset), bytes });
    }
    let mut differences = Vec::new();
    let pool = &mut product.bpf.executor.pool;
    for ((what, a), b) in VALUES.iter().zip(expected.values).zip(values) {
        let same = pool.eq(a, b);
        differences.push(((*what).to_owned(), pool.not(same)));
    }
    let mut seen = BTreeSet::new();
    for place in places {
        let mut new = false;
        for byte in 0..u64::from(place.bytes) {
            let pool = &mut product.bpf.executor.pool;
            let byte = pool.constant(64, byte);
            let at = pool.add(place.offset, byte);
            new |= seen.insert((place.area, at));
        }
        if new {
            differences.push(memory(product, expected, place, path, other)?);
        }
    }
    let pool = &product.bpf.executor.pool;
    differences.retain(|&(_, differs)| pool.as_const(differs) != Some(0));
    Ok(differences)
}

/// Compares the bytes that a store has written. Returns a description of these bytes, and the
/// condition under which both programs leave different values in them.
fn memory(
    product: &mut Product,
    expected: &Outcome,
    place: Store,
    path: &Path,
    other: &Path,
) -> Result<(String, TermId), String> {
    let Store { area, offset, bytes } = place;
    let on_card = product.card_offset_of(area, offset);
    let (region, card_region, name) = match area {
        Area::Packet => (Some(product.layout.packet), product.regions.packet, "the packet"),
        Area::Array => (product.values(), product.regions.array, "the array"),
    };
    let region = region.ok_or("the card writes to an array that the program does not have")?;
    let a = product.bpf.content(&path.state, region, offset, bytes)?;
    product.swap_terms();
    let b = product.card.content(&other.state, card_region, on_card, bytes);
    product.swap_terms();
    let pool = &mut product.bpf.executor.pool;
    let b = b?;
    let what = match pool.as_const(offset) {
        Some(offset) => format!("byte {} of {name}", offset as i64),
        None => format!("a byte of {name}"),
    };
    if area == Area::Packet && expected.moved {
        return Ok((what, differ_inside(pool, expected, place, (a, b))));
    }
    let same = pool.eq(a, b);
    Ok((what, pool.not(same)))
}

/// Compares the values `a` and `b` that the two programs leave in the same packet bytes. Returns
/// the condition under which they differ in a byte that still belongs to the packet.
fn differ_inside(
    pool: &mut TermPool,
    expected: &Outcome,
    place: Store,
    (a, b): (TermId, TermId),
) -> TermId {
    let [_, start, length] = expected.values;
    let (start, length) = (pool.sext(start, 64), pool.zext(length, 64));
    let mut any = pool.bool(false);
    for byte in 0..place.bytes {
        let (a, b) = (pool.extract(a, 8 * byte, 8), pool.extract(b, 8 * byte, 8));
        let same = pool.eq(a, b);
        let differs = pool.not(same);
        let distance = pool.constant(64, byte.into());
        let at = pool.add(place.offset, distance);
        let at = pool.sub(at, start);
        let within = pool.ult(at, length);
        let seen = pool.and(within, differs);
        any = pool.or(any, seen);
    }
    any
}

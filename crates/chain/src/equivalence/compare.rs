//! What two paths leave behind, and where that can differ.

use super::pair::{Member, Pair, RegionKey};
use slowpath_exec::{Location, SymbolicState, Written};
use slowpath_ir::RegionId;
use slowpath_product::Path;
use slowpath_smt::{Domain, TermId, TermPool};
use std::collections::BTreeSet;

/// Offsets in `struct xdp_md` (`uapi/linux/bpf.h`), in bytes.
const DATA: u64 = 0;
const DATA_END: u64 = 4;
const DATA_META: u64 = 8;

/// What can differ: what it is, and the condition for it.
pub(super) type Difference = (String, TermId);

/// Bytes that one of the paths has written.
#[derive(Clone, Copy, Debug)]
struct Place {
    offset: TermId,
    bytes: u8,
}

/// What a path has written since the prologue.
struct Writes {
    places: Vec<(RegionKey, Place)>,
    /// Whether bytes of the packet were cleared.
    clears: bool,
}

/// Where the packet begins and ends behind a path, as it was received: offsets of 64 bits.
struct Extent {
    first: TermId,
    end: TermId,
    /// Whether this is where it was.
    unmoved: bool,
}

/// Where two paths can leave something different; `path` is the original's.
///
/// # Errors
/// What cannot be told, in words.
pub(super) fn differences(
    pair: &mut Pair,
    path: &Path,
    other: &Path,
) -> Result<Vec<Difference>, String> {
    let mut all = Vec::new();
    for (member, path) in [(&pair.original, path), (&pair.other, other)] {
        // The widths of what was stored are asked of the terms, which are with the original.
        all.push(writes(member, path, &pair.original.side.executor.pool)?);
    }
    differences_at(pair, (path, other), all)
}

/// The same of all runs together, as far as both programs have been followed abreast.
///
/// # Errors
/// What cannot be told, in words.
pub(super) fn differences_of_all(
    pair: &mut Pair,
    path: &Path,
    other: &Path,
) -> Result<Vec<Difference>, String> {
    let mine = pair.original.written_by_any(path)?;
    pair.swap_terms();
    let theirs = pair.other.written_by_any(other);
    pair.swap_terms();
    let pool = &pair.original.side.executor.pool;
    let all = vec![shared(&pair.original, mine, pool)?, shared(&pair.other, theirs?, pool)?];
    differences_at(pair, (path, other), all)
}

/// Where what was written can be different.
fn differences_at(
    pair: &mut Pair,
    (path, other): (&Path, &Path),
    all: Vec<Writes>,
) -> Result<Vec<Difference>, String> {
    let mut places = Vec::new();
    let mut clears = false;
    for writes in all {
        places.extend(writes.places);
        clears |= writes.clears;
    }
    let mut differences = vec![scalar(pair, (path, other), "result", 0, "the result")?];
    for (what, field) in [
        ("where the packet starts", DATA),
        ("where the packet ends", DATA_END),
        ("where the metadata starts", DATA_META),
    ] {
        differences.push(scalar(pair, (path, other), "context", field, what)?);
    }
    let extent = extent(pair, path)?;
    let mut seen = BTreeSet::new();
    for (key, place) in places {
        if pair.notes.contains(&key) || key == (false, "result".to_owned()) {
            continue;
        }
        let mut new = false;
        for byte in 0..u64::from(place.bytes) {
            let pool = pair.pool();
            let byte = pool.constant(64, byte);
            let at = pool.add(place.offset, byte);
            new |= seen.insert((key.clone(), at));
        }
        if new {
            differences.push(memory(pair, &key, place, (path, other), &extent)?);
        }
    }
    if clears {
        let offset = pair.pool().var("any offset in the packet", Domain::full(64));
        let place = Place { offset, bytes: 1 };
        let extent = Extent { unmoved: false, ..extent };
        let key = (false, "packet".to_owned());
        differences.push(memory(pair, &key, place, (path, other), &extent)?);
    }
    differences
        .retain(|&(_, differs)| pair.original.side.executor.pool.as_const(differs) != Some(0));
    Ok(differences)
}

/// What a path has written since the prologue, in memory that both programs share.
fn writes(member: &Member, path: &Path, pool: &TermPool) -> Result<Writes, String> {
    let written = member.side.executor.written(&path.state).ok_or("a path has merges")?;
    shared(member, written.into_iter().skip(member.prologue), pool)
}

/// What of that which was written is in memory that both programs share.
fn shared(
    member: &Member,
    written: impl IntoIterator<Item = Written>,
    pool: &TermPool,
) -> Result<Writes, String> {
    let program = member.side.executor.program();
    let (mut places, mut clears) = (Vec::new(), false);
    for written in written {
        let Some(Location { region, offset }) = written.location else {
            let insn = written.insn;
            return Err(format!("instruction {insn} stores to memory that is not known"));
        };
        let Some(key) = member.key(region) else { continue };
        match written.value {
            Some(value) => {
                let place = Place { offset, bytes: pool.width(value) / 8 };
                places.push((key, place));
            }
            None if region == member.layout.packet => clears = true,
            None => {
                let name = &program.regions[region.index()].name;
                return Err(format!("bytes of {name} are cleared"));
            }
        }
    }
    Ok(Writes { places, clears })
}

/// Whether a path has written nothing to the packet, and not moved its ends.
pub(super) fn leaves_packet(member: &Member, path: &Path, pool: &TermPool) -> bool {
    writes(member, path, pool).is_ok_and(|writes| {
        let touches = |(map, name): &RegionKey| !map && matches!(&name[..], "packet" | "context");
        !writes.clears && !writes.places.iter().any(|(key, _)| touches(key))
    })
}

/// What a region of the program that has not got the terms holds, in bytes.
fn other_content(
    pair: &mut Pair,
    state: &SymbolicState,
    region: RegionId,
    Place { offset, bytes }: Place,
) -> Result<TermId, String> {
    pair.swap_terms();
    let content = pair.other.side.content(state, region, offset, bytes);
    pair.swap_terms();
    content
}

/// What both programs leave at a place. One that does not have the region leaves what was there.
fn both(
    pair: &mut Pair,
    key: &RegionKey,
    place: Place,
    (path, other): (&Path, &Path),
) -> Result<(TermId, TermId), String> {
    let Place { offset, bytes } = place;
    let regions = [&pair.original, &pair.other].map(|member| member.regions.get(key).copied());
    match regions {
        [Some(mine), theirs] => {
            let now = pair.original.side.content(&path.state, mine, offset, bytes)?;
            let other = match theirs {
                Some(theirs) => other_content(pair, &other.state, theirs, place)?,
                None => {
                    let start = pair.original.side.start.clone();
                    pair.original.side.content(&start, mine, offset, bytes)?
                }
            };
            Ok((now, other))
        }
        [None, Some(theirs)] => {
            let start = pair.other.side.start.clone();
            let before = other_content(pair, &start, theirs, place)?;
            Ok((before, other_content(pair, &other.state, theirs, place)?))
        }
        [None, None] => Err(format!("neither program has {}", key.1)),
    }
}

/// Whether four bytes at a fixed place differ.
fn scalar(
    pair: &mut Pair,
    paths: (&Path, &Path),
    region: &str,
    offset: u64,
    what: &str,
) -> Result<Difference, String> {
    let offset = pair.pool().constant(64, offset);
    let key = (false, region.to_owned());
    let (a, b) = both(pair, &key, Place { offset, bytes: 4 }, paths)?;
    let b = pair.one_if_alike(a, b);
    let pool = pair.pool();
    let same = pool.eq(a, b);
    Ok((what.to_owned(), pool.not(same)))
}

/// Where the packet is behind a path of the original, metadata included.
fn extent(pair: &mut Pair, path: &Path) -> Result<Extent, String> {
    let member = &mut pair.original;
    let (context, packet) = (member.layout.context, member.layout.packet);
    let mut field = |offset| {
        let offset = member.side.executor.pool.constant(64, offset);
        member.side.content(&path.state, context, offset, 4)
    };
    let (data, end, meta) = (field(DATA)?, field(DATA_END)?, field(DATA_META)?);
    let executor = &mut member.side.executor;
    let base = executor.base(packet).ok_or("the packet has no address")?;
    let length = executor.packet_length().ok_or("the packet has no length")?;
    let pool = &mut executor.pool;
    let base = pool.extract(base, 0, 32);
    let length = pool.extract(length, 0, 32);
    let [data, end, meta] = [data, end, meta].map(|address| pool.sub(address, base));
    let unmoved = pool.as_const(data) == Some(0) && meta == data && end == length;
    Ok(Extent { first: pool.sext(meta, 64), end: pool.sext(end, 64), unmoved })
}

/// Whether bytes that were written can differ.
fn memory(
    pair: &mut Pair,
    key: &RegionKey,
    place: Place,
    paths: (&Path, &Path),
    extent: &Extent,
) -> Result<Difference, String> {
    let (a, b) = both(pair, key, place, paths)?;
    let b = pair.one_if_alike(a, b);
    let packet = *key == (false, "packet".to_owned());
    let pool = pair.pool();
    let name = match (&key.1[..], key.0) {
        ("calls", false) => "what helpers are called with".to_owned(),
        (name, true) => format!("map {name}"),
        (name, false) => format!("the {name}"),
    };
    let what = match pool.as_const(place.offset) {
        Some(offset) if packet => format!("byte {} of {name}", offset as i64),
        _ => name,
    };
    if packet && !extent.unmoved {
        return Ok((what, inside(pool, extent, place, (a, b))));
    }
    let same = pool.eq(a, b);
    Ok((what, pool.not(same)))
}

/// Whether a byte of two values for the same place differs that is part of the packet at the end.
fn inside(pool: &mut TermPool, extent: &Extent, place: Place, (a, b): (TermId, TermId)) -> TermId {
    let length = pool.sub(extent.end, extent.first);
    let mut any = pool.bool(false);
    for byte in 0..place.bytes {
        let (a, b) = (pool.extract(a, 8 * byte, 8), pool.extract(b, 8 * byte, 8));
        let same = pool.eq(a, b);
        let differs = pool.not(same);
        let distance = pool.constant(64, byte.into());
        let at = pool.add(place.offset, distance);
        let at = pool.sub(at, extent.first);
        let within = pool.ult(at, length);
        let seen = pool.and(within, differs);
        any = pool.or(any, seen);
    }
    any
}

//! Lists the possible differences between the final states of two paths, one path of the original
//! program and one path of the specialised program.

use super::pair::{Member, Pair, RegionKey};
use slowpath_exec::{Location, SymbolicState, Written};
use slowpath_ir::RegionId;
use slowpath_product::Path;
use slowpath_smt::{Domain, TermId, TermPool};
use std::collections::BTreeSet;

/// Offset in bytes of the field `data` in `struct xdp_md` (`uapi/linux/bpf.h`). The next constants
/// are the offsets of `data_end` and `data_meta`.
const DATA: u64 = 0;
const DATA_END: u64 = 4;
const DATA_META: u64 = 8;

/// Part of the final state that may differ between two programs: its description in words, and the
/// condition under which it differs.
pub(super) type Difference = (String, TermId);

/// A range of bytes that a program has written in a memory region.
#[derive(Clone, Copy, Debug)]
struct WrittenBytes {
    offset: TermId,
    bytes: u8,
}

/// The bytes that a path has written in memory that both programs share. Writes that set up the
/// initial memory before the first instruction are left out.
struct Writes {
    places: Vec<(RegionKey, WrittenBytes)>,
    /// True if the path has set a range of packet bytes to zero. `places` does not contain this
    /// range.
    clears: bool,
}

/// Start and end of the packet at the end of a path. Both are 64-bit offsets from the first byte of
/// the packet as it was received.
struct Extent {
    first: TermId,
    end: TermId,
    /// True if the path has neither moved the start nor the end of the packet.
    unmoved: bool,
}

/// Returns all parts of the final state in which the two programs may differ. `path` belongs to the
/// original program; `other` belongs to the specialised program.
///
/// # Errors
/// Returns the reason, in words, why the differences cannot be listed.
pub(super) fn differences(
    pair: &mut Pair,
    path: &Path,
    other: &Path,
) -> Result<Vec<Difference>, String> {
    let mut all = Vec::new();
    for (member, path) in [(&pair.original, path), (&pair.other, other)] {
        // The widths of stored values come from the term pool, which the original holds.
        all.push(writes(member, path, &pair.original.side.executor.pool)?);
    }
    differences_at(pair, (path, other), all)
}

/// Returns the same as [`differences`], but for all runs of both programs together. The programs
/// were executed in lockstep before.
///
/// # Errors
/// Returns the reason, in words, why the differences cannot be listed.
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

/// Returns the possible differences between two paths: in their results, the packets that they
/// leave, and all bytes that either of them has written.
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
        ("the start of the packet", DATA),
        ("the end of the packet", DATA_END),
        ("the start of the metadata", DATA_META),
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
        let place = WrittenBytes { offset, bytes: 1 };
        let extent = Extent { unmoved: false, ..extent };
        let key = (false, "packet".to_owned());
        differences.push(memory(pair, &key, place, (path, other), &extent)?);
    }
    differences
        .retain(|&(_, differs)| pair.original.side.executor.pool.as_const(differs) != Some(0));
    Ok(differences)
}

/// Returns the bytes that a path has written to memory that both programs share. Bytes written by
/// the prologue, which sets up the initial memory, are left out.
fn writes(member: &Member, path: &Path, pool: &TermPool) -> Result<Writes, String> {
    let written = member.side.executor.written(&path.state).ok_or("a path has merges")?;
    shared(member, written.into_iter().skip(member.prologue), pool)
}

/// Selects, from a list of writes, those to memory that both programs share.
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
                let place = WrittenBytes { offset, bytes: pool.width(value) / 8 };
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

/// Returns true if a path has not written to the packet, and has not moved its start or end.
pub(super) fn leaves_packet(member: &Member, path: &Path, pool: &TermPool) -> bool {
    writes(member, path, pool).is_ok_and(|writes| {
        let touches = |(map, name): &RegionKey| !map && matches!(&name[..], "packet" | "context");
        !writes.clears && !writes.places.iter().any(|(key, _)| touches(key))
    })
}

/// Returns the content of a byte range of a memory region, in a state of the specialised program,
/// as a term. Before and after the call, the original program owns the term pool.
fn other_content(
    pair: &mut Pair,
    state: &SymbolicState,
    region: RegionId,
    WrittenBytes { offset, bytes }: WrittenBytes,
) -> Result<TermId, String> {
    pair.swap_terms();
    let content = pair.other.side.content(state, region, offset, bytes);
    pair.swap_terms();
    content
}

/// Returns the final content of a byte range in the original and in the specialised program. If a
/// program does not use the memory region, its content is the initial one.
fn both(
    pair: &mut Pair,
    key: &RegionKey,
    place: WrittenBytes,
    (path, other): (&Path, &Path),
) -> Result<(TermId, TermId), String> {
    let WrittenBytes { offset, bytes } = place;
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

/// Compares the four bytes at a constant offset in a memory region after both programs have ended.
/// `what` describes these bytes in the returned difference.
fn scalar(
    pair: &mut Pair,
    paths: (&Path, &Path),
    region: &str,
    offset: u64,
    what: &str,
) -> Result<Difference, String> {
    let offset = pair.pool().constant(64, offset);
    let key = (false, region.to_owned());
    let (a, b) = both(pair, &key, WrittenBytes { offset, bytes: 4 }, paths)?;
    let b = pair.one_if_alike(a, b);
    let pool = pair.pool();
    let same = pool.eq(a, b);
    Ok((what.to_owned(), pool.not(same)))
}

/// Returns the start and end of the packet after a path of the original program. Metadata in front
/// of the packet belongs to this range.
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

/// Returns the condition under which a byte range has different final values in both programs. At
/// least one of the programs has written it.
fn memory(
    pair: &mut Pair,
    key: &RegionKey,
    place: WrittenBytes,
    paths: (&Path, &Path),
    extent: &Extent,
) -> Result<Difference, String> {
    let (a, b) = both(pair, key, place, paths)?;
    let b = pair.one_if_alike(a, b);
    let packet = *key == (false, "packet".to_owned());
    let pool = pair.pool();
    let name = match (&key.1[..], key.0) {
        ("calls", false) => "the arguments of helper calls".to_owned(),
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

/// Returns the condition under which two values of the same packet bytes differ in a byte that is
/// still part of the packet when the programs end.
fn inside(
    pool: &mut TermPool,
    extent: &Extent,
    place: WrittenBytes,
    (a, b): (TermId, TermId),
) -> TermId {
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

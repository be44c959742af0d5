//! Describes look-ups in maps with known content: the map, the known part of the key, and the
//! entries that can match.

use super::fact_set::FactSet;
use super::inputs::AnalysisInputs;
use super::numbers::{Def, Numbers};
use super::state::State;
use super::value::Kind;
use crate::frozen::{self, Candidates, FrozenMap, KnownBytes};
use slowpath_domain::Domain;
use slowpath_ir::KnownBits;

/// A look-up in a map with known content.
pub(crate) struct Lookup<'a> {
    pub map: &'a FrozenMap,
    /// Known bytes of the key.
    pub key: KnownBytes,
    /// The entries that the look-up can find. It may also find no entry.
    pub candidates: Candidates,
    /// The facts on which the key and the candidates depend.
    pub reason: FactSet,
}

/// Returns the index of the map in the first argument of a call, if it is known.
pub(crate) fn map_argument(state: &State, numbers: &Numbers) -> Option<u32> {
    match numbers.def(state.regs[1].number) {
        Def::Data(map, i64::MIN) => Some(map),
        _ => None,
    }
}

/// Describes the look-up that a call of `bpf_map_lookup_elem` makes. Returns `None` if the content
/// of the map is not known.
pub(crate) fn lookup<'a>(
    state: &State,
    numbers: &Numbers,
    inputs: &AnalysisInputs<'a>,
) -> Option<Lookup<'a>> {
    let number = map_argument(state, numbers)?;
    let map = inputs.frozen?.map(number)?;
    let size = u16::try_from(map.key_size()).ok()?;
    let (cells, first) = match state.regs[2].kind {
        Kind::Stack(offset) => (&state.stack, offset),
        Kind::Packet { offset, .. } => (&state.packet, offset),
        _ => {
            let key = vec![None; size.into()];
            let candidates = map.candidates(&key, None);
            return Some(Lookup { map, key, candidates, reason: FactSet::map(number) });
        }
    };
    let mut reason = FactSet::map(number);
    let byte = |place: u16| {
        let (domain, why) = cells.bits(first + i64::from(place), 1);
        let mask = (domain.zeros() | domain.ones()) as u8;
        let bits = KnownBits::of(mask, domain.ones() as u8);
        (bits, why)
    };
    let mut key = KnownBytes::new();
    for (bits, why) in (0..size).map(byte) {
        reason = if bits.is_some() { reason | why } else { reason };
        key.push(bits);
    }
    // The range of a number can exclude more values than its known bits.
    let index = cells.read(first, 4).filter(|_| size == 4).map(|value| {
        reason = reason | value.reason;
        value.domain()
    });
    let index = index.or_else(|| (size == 4).then(|| cells.bits(first, 4).0));
    let candidates = map.candidates(&key, index.and_then(|index| index.meet(&word())));
    Some(Lookup { map, key, candidates, reason })
}

fn word() -> Domain {
    Domain::range(64, 0, u64::from(u32::MAX))
}

/// Returns the abstract result of a call of `bpf_map_lookup_elem`, with the facts on which it
/// depends. Returns `None` if the map that the call reads is not known.
pub(super) fn found(
    state: &State,
    numbers: &Numbers,
    inputs: &AnalysisInputs<'_>,
) -> Option<(Kind, FactSet)> {
    let map = map_argument(state, numbers)?;
    let Some(known) = lookup(state, numbers, inputs) else {
        let anything = Kind::MapValue { map, offset: 0, entries: frozen::ALL_ENTRIES, null: true };
        return Some((anything, FactSet::NONE));
    };
    let Candidates { entries, none } = known.candidates;
    if entries.is_empty() {
        return Some((Kind::Number(Domain::constant(64, 0)), known.reason));
    }
    Some((
        Kind::MapValue { map, offset: 0, entries: frozen::set(&entries), null: none },
        known.reason,
    ))
}

//! Witnesses that test runs can repeat: if a packet takes a path in several environments, the
//! environment of a test run is preferred.

use crate::Error;
use slowpath_bpf::lift::{
    ETH_HLEN, HEAD_ROOM, METADATA_SUPPORT, METADATA_WORDS, Receive, TAIL_ROOM, TailRoom,
};
use slowpath_ir::InputKind;
use slowpath_search::{FoundPath, Search};
use slowpath_smt::{BitSolver, TermId};

/// Replaces the model of a path by a run in the environment of a test run, if one takes the path.
/// Otherwise prefers a packet that is not shorter than an Ethernet header.
pub(crate) fn prefer_test_run(
    search: &mut Search<BitSolver>,
    found: &mut FoundPath,
) -> Result<(), Error> {
    let executor = &search.unrolled().executor;
    let inputs = || executor.program().inputs.iter().zip(executor.inputs());
    let named = |name: &str| {
        let mut unknown = inputs().filter(|(input, _)| input.kind == InputKind::Unknown);
        unknown.find(|(input, _)| input.name == name).map(|(_, &term)| term)
    };
    let mut length = inputs().filter(|(input, _)| input.kind == InputKind::PacketLength);
    let Some((input, &length)) = length.next() else { return Ok(()) };
    let short = found.length < ETH_HLEN.into() && input.min < ETH_HLEN.into();
    let bytes = found.length.max(if short { ETH_HLEN.into() } else { 0 });
    let mut around = Vec::new();
    around.extend(named(HEAD_ROOM).map(|term| (term, u64::from(Receive::PAGE.head.0))));
    around.extend(named(METADATA_WORDS).map(|term| (term, 0)));
    around.extend(named(METADATA_SUPPORT).map(|term| (term, 1)));
    if let (Some(term), TailRoom::Buffer(buffer)) = (named(TAIL_ROOM), Receive::PAGE.tail) {
        let taken = u32::from(Receive::PAGE.head.0) + bytes;
        let Some(left) = u32::from(buffer).checked_sub(taken) else { return Ok(()) };
        around.push((term, left.into()));
    }
    if around.is_empty() && !short {
        return Ok(());
    }
    let with_length = |mut wanted: Vec<(TermId, u64)>| {
        wanted.push((length, bytes.into()));
        wanted
    };
    let whole = with_length(around);
    if search.try_start_values(found, &whole)?
        || short && search.try_start_values(found, &with_length(Vec::new()))?
    {
        found.length = bytes;
    }
    Ok(())
}

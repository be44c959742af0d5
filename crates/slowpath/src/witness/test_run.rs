//! Chooses witnesses that a test run in the kernel (`BPF_PROG_TEST_RUN`) can repeat. If several
//! states of context and packet buffer lead to a path, prefers the state of a test run.

use crate::Error;
use slowpath_bpf::lift::{
    ETH_HLEN, HEAD_ROOM, METADATA_SUPPORT, METADATA_WORDS, Receive, TAIL_ROOM, TailRoom,
};
use slowpath_ir::InputKind;
use slowpath_search::{FoundPath, Search};
use slowpath_smt::BitSolver;

/// Changes a path's model, if possible, so that its packet takes the path in a test run of the
/// kernel (`BPF_PROG_TEST_RUN`). Otherwise prefers a packet that is at least as long as an Ethernet
/// header.
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
    let mut values = Vec::new();
    values.extend(named(HEAD_ROOM).map(|term| (term, u64::from(Receive::PAGE.head.0))));
    values.extend(named(METADATA_WORDS).map(|term| (term, 0)));
    values.extend(named(METADATA_SUPPORT).map(|term| (term, 1)));
    if let (Some(term), TailRoom::Buffer(buffer)) = (named(TAIL_ROOM), Receive::PAGE.tail) {
        let taken = u32::from(Receive::PAGE.head.0) + bytes;
        let Some(left) = u32::from(buffer).checked_sub(taken) else { return Ok(()) };
        values.push((term, left.into()));
    }
    if values.is_empty() && !short {
        return Ok(());
    }
    values.push((length, bytes.into()));
    if search.try_start_values(found, &values)?
        || short && search.try_start_values(found, &[(length, bytes.into())])?
    {
        found.length = bytes;
    }
    Ok(())
}

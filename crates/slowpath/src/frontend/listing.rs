//! Reads NFP listings, which have the format of the disassembler for the Netronome flow processor.

use super::lifted::{Lifted, Origins, VerifierLimitScope};
use crate::Error;
use slowpath_bpf::lift::Interference;
use slowpath_codes as codes;
use slowpath_ir::{Op, Program, RegionKind};
use std::collections::BTreeSet;

pub(super) fn lift(name: &str, data: &[u8], packets: (u16, u16)) -> Result<Lifted, Error> {
    check_not_empty(data)?;
    let listing = slowpath_nfp::parse_bytes(data)?;
    let options = slowpath_nfp::LiftOptions {
        min_packet: packets.0,
        max_packet: packets.1,
        ..Default::default()
    };
    let program = slowpath_nfp::lift(&listing, name, &options)?;
    let interference = interference(&program);
    let lines = listing.numbered().iter().map(|numbered| numbered.line).collect();
    let origins = Origins::Listing(lines);
    Ok(Lifted {
        program,
        layout: None,
        pipeline: None,
        code: None,
        verifier_limit_scope: VerifierLimitScope::Nothing,
        notes: Vec::new(),
        inexact_reason: None,
        interference,
        origins,
        functions: Vec::new(),
        members: Vec::new(),
    })
}

/// Returns the shared memory regions that another core may change between two loads of a run. The
/// function does not analyse the program's accesses, so it also returns regions that a run loads
/// only once.
fn interference(program: &Program) -> Interference {
    let mut ops = program.blocks.iter().flat_map(|block| &block.ops);
    if !ops.any(|op| matches!(op.op, Op::Load { .. })) {
        return Interference::default();
    }
    let shared = program.regions.iter().filter(|region| region.kind == RegionKind::Map);
    let maps: BTreeSet<String> = shared.map(|region| region.name.clone()).collect();
    Interference { maps, ..Interference::default() }
}

/// Checks that a file that is not a BPF object is a valid NFP listing. Thus a listing that the user
/// analyses on the wrong target gets another error than a file of unknown type.
///
/// # Errors
/// If the file is empty, or is not a listing either.
pub(super) fn check(data: &[u8]) -> Result<(), Error> {
    check_not_empty(data)?;
    let Err(problem) = slowpath_nfp::parse_bytes(data) else { return Ok(()) };
    Err(Error::Input(
        codes::UNKNOWN_FILE_TYPE,
        format!("the file is neither a BPF object nor an NFP listing: {problem}"),
    ))
}

fn check_not_empty(data: &[u8]) -> Result<(), Error> {
    if data.is_empty() {
        let what = "the file is empty; pass a BPF object or an NFP listing";
        return Err(Error::Input(codes::FILE_EMPTY, what.into()));
    }
    Ok(())
}

//! NFP listings, as the disassembler for the Netronome flow processor prints them.

use super::lifted::{Lifted, Origins};
use crate::Error;

pub(super) fn lift(name: &str, data: &[u8], packets: (u16, u16)) -> Result<Lifted, Error> {
    check_not_empty(data)?;
    let listing = slowpath_nfp::parse_bytes(data)?;
    let options = slowpath_nfp::LiftOptions {
        min_packet: packets.0,
        max_packet: packets.1,
        ..Default::default()
    };
    let program = slowpath_nfp::lift(&listing, name, &options)?;
    let lines = listing.numbered().iter().map(|numbered| numbered.line).collect();
    let origins = Origins::Listing(lines);
    Ok(Lifted {
        program,
        layout: None,
        code: None,
        notes: Vec::new(),
        loose: None,
        interference: slowpath_bpf::lift::Interference::default(),
        origins,
        functions: Vec::new(),
        members: Vec::new(),
    })
}

/// Refuses what is no listing, where none is of use: what is neither object nor listing is broken,
/// and a message about the target would hide that.
pub(super) fn check(data: &[u8]) -> Result<(), Error> {
    check_not_empty(data)?;
    let Err(problem) = slowpath_nfp::parse_bytes(data) else { return Ok(()) };
    Err(Error::Input(format!("this is no BPF object, and no NFP listing: {problem}")))
}

fn check_not_empty(data: &[u8]) -> Result<(), Error> {
    if data.is_empty() {
        let what = "the file is empty; expected is a BPF object or an NFP listing";
        return Err(Error::Input(what.into()));
    }
    Ok(())
}

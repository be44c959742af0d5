//! NFP listings, as the disassembler for the Netronome flow processor prints them.

use super::lifted::{Lifted, Origins};
use crate::Error;

pub(super) fn lift(name: &str, data: &[u8], packets: (u16, u16)) -> Result<Lifted, Error> {
    if data.is_empty() {
        let what = "the file is empty; expected is a BPF object or an NFP listing";
        return Err(Error::Input(what.into()));
    }
    let listing = slowpath_nfp::parse_bytes(data)?;
    let options = slowpath_nfp::LiftOptions {
        min_packet: packets.0,
        max_packet: packets.1,
        ..Default::default()
    };
    let program = slowpath_nfp::lift(&listing, name, &options)?;
    let lines = listing.numbered().iter().map(|numbered| numbered.line).collect();
    let origins = Origins::Listing(lines);
    Ok(Lifted { program, layout: None, notes: Vec::new(), origins, functions: Vec::new() })
}

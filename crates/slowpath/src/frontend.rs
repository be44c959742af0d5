//! Which front end reads a file.

use crate::Error;
use slowpath_ir::Program;

/// Lifts the program in a file. `packets` is the least and greatest packet length in bytes.
pub(crate) fn lift(file: &str, data: &[u8], packets: (u16, u16)) -> Result<Program, Error> {
    if data.starts_with(b"\x7fELF") {
        return Err(Error::Input(
            "this is an ELF object; this version reads NFP listings (*.asm)".into(),
        ));
    }
    let listing =
        slowpath_nfp::parse_bytes(data).map_err(|error| Error::Input(error.to_string()))?;
    let options = slowpath_nfp::LiftOptions { min_packet: packets.0, max_packet: packets.1 };
    slowpath_nfp::lift(&listing, &program_name(file), &options)
        .map_err(|error| Error::Input(error.to_string()))
}

/// The file's name without folder and extension.
pub(crate) fn program_name(file: &str) -> String {
    let path = std::path::Path::new(file);
    path.file_stem().map_or_else(|| file.to_owned(), |stem| stem.to_string_lossy().into_owned())
}

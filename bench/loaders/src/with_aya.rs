//! The loader aya. It creates all maps of the object, pins those that request it, and supports only
//! programs in sections with known names.

use std::error::Error;

use aya::EbpfLoader;
use aya::programs::Program;
use slowpath_bpf::Object;

use crate::attempt::{Failure, LoadResult};
use crate::wanted::{DEFAULT_ENTRIES, Wanted, unsized_maps};

/// Loads a program of an ELF object with aya.
pub fn load(data: &[u8], wanted: &Wanted) -> LoadResult {
    let ours = Object::parse(data).ok();
    let mut loader = EbpfLoader::new();
    loader.allow_unsupported_maps();
    for map in ours.iter().flat_map(unsized_maps) {
        loader.map_max_entries(map, DEFAULT_ENTRIES);
    }
    let mut object = loader.load(data).map_err(|e| failure(&e))?;
    let program = object.program_mut(&wanted.program).ok_or_else(|| Failure {
        error: format!("aya finds no program {} (section {})", wanted.program, wanted.section),
        ..Failure::default()
    })?;
    let Program::Xdp(program) = program else {
        let error = format!("aya takes section {} for another type", wanted.section);
        return Err(Failure { error, ..Failure::default() });
    };
    program.load().map_err(|e| failure(&e))?;
    Ok(Box::new(object))
}

/// Formats an error with its causes, without repetitions.
fn failure(error: &dyn Error) -> Failure {
    let mut text = error.to_string();
    let mut cause = error.source();
    while let Some(error) = cause {
        let message = error.to_string();
        if !text.contains(&message) {
            text = format!("{text}: {message}");
        }
        cause = error.source();
    }
    Failure { error: text, ..Failure::default() }
}

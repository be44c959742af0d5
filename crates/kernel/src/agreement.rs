//! Comparison of two programs in the kernel that should be equivalent. Each packet runs in both,
//! each with its own maps; then action, packet, metadata and map content are compared.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{MapError, RunError};
use crate::{LoadedProgram, Map, TestRun};

/// A difference between two programs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// Different return values.
    Result {
        /// Return value of the first program.
        first: u32,
        /// Return value of the second program.
        second: u32,
    },
    /// Different packets after the run.
    Packet {
        /// Packet after the first program.
        first: Vec<u8>,
        /// Packet after the second program.
        second: Vec<u8>,
    },
    /// Different metadata after the run.
    Metadata,
    /// Different content of a map.
    Map {
        /// Name of the map.
        name: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Result { first, second } => write!(f, "they return {first} and {second}"),
            Difference::Packet { first, second } => {
                let at = first.iter().zip(second).position(|(a, b)| a != b);
                match at {
                    Some(at) => write!(f, "they leave packets that differ in byte {at}"),
                    None => write!(f, "they leave {} and {} bytes", first.len(), second.len()),
                }
            }
            Difference::Metadata => write!(f, "they leave different metadata"),
            Difference::Map { name } => write!(f, "they leave different content of map {name}"),
        }
    }
}

/// Runs a packet of at least 14 bytes in two programs and compares the results, without the maps.
///
/// # Errors
/// If the kernel does not run one of the programs.
pub fn compare(
    first: &LoadedProgram,
    second: &LoadedProgram,
    packet: &[u8],
) -> Result<Option<Difference>, RunError> {
    let (a, b) = (first.run(packet, 1)?, second.run(packet, 1)?);
    Ok(difference(&a, &b))
}

/// Compares two results: action, packet and metadata.
pub fn difference(a: &TestRun, b: &TestRun) -> Option<Difference> {
    if a.return_value != b.return_value {
        Some(Difference::Result { first: a.return_value, second: b.return_value })
    } else if a.packet != b.packet {
        Some(Difference::Packet { first: a.packet.clone(), second: b.packet.clone() })
    } else if a.metadata != b.metadata {
        Some(Difference::Metadata)
    } else {
        None
    }
}

/// Compares the content of the maps of two programs, by name. Maps that cannot be read, such as
/// ring buffers, are skipped.
///
/// # Errors
/// If reading a map fails.
pub fn compare_maps(
    first: &LoadedProgram,
    second: &LoadedProgram,
) -> Result<Option<Difference>, MapError> {
    for map in first.maps() {
        let name = &map.definition().name;
        let Some(other) = second.map(name) else { continue };
        if !map.definition().kind.is_readable() {
            continue;
        }
        if content(map)? != content(other)? {
            return Ok(Some(Difference::Map { name: name.clone() }));
        }
    }
    Ok(None)
}

/// Elements of a map, by key; per-CPU maps have several values for each key.
pub type Content = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// Reads the content of a map.
///
/// # Errors
/// If the map cannot be read.
pub fn content(map: &Map) -> Result<Content, MapError> {
    Ok(map.elements()?.into_iter().collect())
}

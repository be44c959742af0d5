//! Compares two loaded programs that should be equivalent. Runs each packet in both programs, and
//! compares action, packet, metadata and map content. Each program has its own maps.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{MapError, RunError};
use crate::{LoadedProgram, Map, TestRun};

/// A difference between the results of two programs that ran on the same packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// The programs return different values.
    Result {
        /// Return value of the first program.
        first: u32,
        /// Return value of the second program.
        second: u32,
    },
    /// The programs leave different packets.
    Packet {
        /// The packet that the first program left.
        first: Vec<u8>,
        /// The packet that the second program left.
        second: Vec<u8>,
    },
    /// The programs leave different metadata.
    Metadata,
    /// A map has different content in the two programs.
    Map {
        /// Name of the map.
        name: String,
    },
}

impl fmt::Display for Difference {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Difference::Result { first, second } => {
                write!(f, "the runs return {first} and {second}")
            }
            Difference::Packet { first, second } => {
                let at = first.iter().zip(second).position(|(a, b)| a != b);
                match at {
                    Some(at) => write!(f, "the runs leave packets that differ in byte {at}"),
                    None => write!(
                        f,
                        "the runs leave packets of {} and {} bytes",
                        first.len(),
                        second.len()
                    ),
                }
            }
            Difference::Metadata => write!(f, "the runs leave different metadata"),
            Difference::Map { name } => write!(f, "the runs leave different content of map {name}"),
        }
    }
}

/// Runs a packet of at least 14 bytes in two programs, and compares all results except for the
/// maps. Returns `None` if the results are equal.
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

/// Compares the results of two test runs: action, packet and metadata. Returns `None` if they are
/// equal.
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

/// Compares the content of maps that occur under the same name in both programs. Skips maps that
/// cannot be read, such as ring buffers. Returns the first difference, or `None` if there is none.
///
/// # Errors
/// If the content of a map cannot be read.
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

/// The content of a map: the values of each key, as bytes. Per-CPU maps have several values for a
/// key, other maps have one.
pub type Content = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// Reads all elements of a map.
///
/// # Errors
/// If the map cannot be read.
pub fn content(map: &Map) -> Result<Content, MapError> {
    Ok(map.elements()?.into_iter().collect())
}

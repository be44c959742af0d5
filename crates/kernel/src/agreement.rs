//! Two programs that are to do the same, in the kernel: each packet runs in both, each with maps of
//! its own, and action, packet, metadata and the content of the maps are compared.

use std::collections::BTreeMap;
use std::fmt;

use crate::error::{MapError, RunError};
use crate::{Loaded, Map, TestRun};

/// How two programs differ.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Difference {
    /// In what they return.
    Result {
        /// What the first one returns.
        first: u32,
        /// What the second one returns.
        second: u32,
    },
    /// In the packet that they leave.
    Packet {
        /// What the first one leaves.
        first: Vec<u8>,
        /// What the second one leaves.
        second: Vec<u8>,
    },
    /// In the metadata that they leave.
    Metadata,
    /// In the content of a map.
    Map {
        /// Its name.
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

/// Runs a packet of at least 14 bytes in two programs. Of maps nothing is compared.
///
/// # Errors
/// If the kernel does not run one of them.
pub fn compare(
    first: &Loaded,
    second: &Loaded,
    packet: &[u8],
) -> Result<Option<Difference>, RunError> {
    let (a, b) = (first.run(packet, 1)?, second.run(packet, 1)?);
    Ok(difference(&a, &b))
}

/// How what two programs did with a packet differs.
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

/// Compares the content of the maps of two programs, by name; maps that cannot be read, such as ring
/// buffers, are left out.
///
/// # Errors
/// If a map that can be read is not read all the same.
pub fn compare_maps(first: &Loaded, second: &Loaded) -> Result<Option<Difference>, MapError> {
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

/// The elements of a map, by key; per-CPU maps have several values for each.
pub type Content = BTreeMap<Vec<u8>, Vec<Vec<u8>>>;

/// The content of a map that can be read.
///
/// # Errors
/// If it is not read.
pub fn content(map: &Map) -> Result<Content, MapError> {
    Ok(map.elements()?.into_iter().collect())
}

//! Defines the YAML format in which users describe chains. These types check only the structure of
//! the YAML text; the module `chain` checks that the description makes sense.

use crate::ChainError;
use crate::yaml::{Kind, read};
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::collections::BTreeMap;

/// Version of the YAML format that this code reads.
pub(crate) const SCHEMA: u32 = 1;

const CHAIN: Kind = Kind {
    name: "a chain",
    foreign: &["nodes", "paths"],
    other: "a topology, for `slowpath chain plan`",
};

/// The YAML description of a chain of programs.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainDescription {
    /// Version of the YAML format in which the text is written.
    pub schema: Spanned<u32>,
    pub programs: Vec<ProgramDescription>,
    /// Name of a performance target (a model of costs) for each device, by the name of the device.
    #[serde(default)]
    pub devices: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    pub edges: Vec<EdgeDescription>,
    /// Names of the programs that libxdp's dispatcher runs on one interface.
    #[serde(default)]
    pub dispatcher: Vec<Spanned<String>>,
    /// Groups of maps that are the same map at run time, each map as `PROGRAM:MAP`.
    #[serde(default)]
    pub shared_maps: Vec<Vec<Spanned<String>>>,
}

/// A program in the YAML description of a chain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramDescription {
    pub name: Spanned<String>,
    /// Path of the object file, relative to the chain's description.
    pub object: String,
    /// Name of the program in the object file; `None` if the object has only one XDP program.
    #[serde(default)]
    pub program: Option<String>,
    /// Name of the device that the program runs on. All programs without a name run on the same
    /// device.
    #[serde(default)]
    pub device: Option<Spanned<String>>,
}

/// An edge in the YAML description of a chain: from a program to the program that runs next.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EdgeDescription {
    /// Name of the program that the packet leaves.
    pub from: Spanned<String>,
    /// Names of the XDP actions after which the packet takes the edge.
    pub on: Vec<Spanned<String>>,
    /// Name of the program that runs next.
    pub to: Spanned<String>,
    /// Network that packets cross between the two programs. If it is missing, the programs run on
    /// one device, or a default network connects their devices.
    #[serde(default)]
    pub network: Option<Spanned<NetworkDescription>>,
}

/// The YAML description of the changes that a network may make to packets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkDescription {
    /// Names of the packet fields that the network may change.
    #[serde(default)]
    pub changes: Vec<Spanned<String>>,
    /// Ranges of packet bytes that the network may change. Each range has the offset of its first
    /// byte and the offset after its last byte.
    #[serde(default)]
    pub bytes: Vec<Spanned<(u16, u16)>>,
}

impl ChainDescription {
    pub fn parse(text: &str) -> Result<ChainDescription, ChainError> {
        read(text, &CHAIN)
    }
}

//! Descriptions of chains as written in YAML; only their shape is checked.

use crate::ChainError;
use crate::yaml::{Kind, read};
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::collections::BTreeMap;

/// Version of the format.
pub(crate) const SCHEMA: u32 = 1;

const CHAIN: Kind = Kind {
    name: "a chain",
    foreign: &["nodes", "paths"],
    other: "a topology, for `slowpath chain plan`",
};

/// Description of a chain.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ChainDescription {
    /// Version of the format.
    pub schema: Spanned<u32>,
    pub programs: Vec<ProgramDescription>,
    /// The targets of devices.
    #[serde(default)]
    pub devices: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    pub edges: Vec<EdgeDescription>,
    /// Programs that libxdp's dispatcher runs on one interface.
    #[serde(default)]
    pub dispatcher: Vec<Spanned<String>>,
    /// Groups of maps that are one map, each map as `PROGRAM:MAP`.
    #[serde(default)]
    pub shared_maps: Vec<Vec<Spanned<String>>>,
}

/// A program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct ProgramDescription {
    /// Name in the chain.
    pub name: Spanned<String>,
    /// File with the object, relative to the description.
    pub object: String,
    /// Name in the object; `None` for the only XDP program.
    #[serde(default)]
    pub program: Option<String>,
    /// Name of the device that it runs on; all programs without a name run on one.
    #[serde(default)]
    pub device: Option<Spanned<String>>,
}

/// An edge to the program that runs after another.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct EdgeDescription {
    /// Name of the first program.
    pub from: Spanned<String>,
    /// Actions on which the packet takes the edge.
    pub on: Vec<Spanned<String>>,
    /// Name of the next program.
    pub to: Spanned<String>,
    /// Network between their devices.
    #[serde(default)]
    pub network: Option<Spanned<NetworkDescription>>,
}

/// Changes that a network may make to packets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct NetworkDescription {
    /// Names of fields.
    #[serde(default)]
    pub changes: Vec<Spanned<String>>,
    /// Byte ranges, each as its first offset and the first offset after it.
    #[serde(default)]
    pub bytes: Vec<Spanned<(u16, u16)>>,
}

impl ChainDescription {
    pub fn parse(text: &str) -> Result<ChainDescription, ChainError> {
        read(text, &CHAIN)
    }
}

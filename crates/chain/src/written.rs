//! A chain as it is written down, in YAML. Nothing is checked yet but its shape.

use crate::ChainError;
use crate::yaml::{Kind, read};
use serde::Deserialize;
use serde_saphyr::Spanned;
use std::collections::BTreeMap;

/// The version of the format.
pub(crate) const SCHEMA: u32 = 1;

const CHAIN: Kind = Kind {
    name: "a chain",
    foreign: &["nodes", "paths"],
    other: "a topology, for `slowpath chain plan`",
};

/// A description.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct Written {
    /// The version of its format.
    pub schema: Spanned<u32>,
    pub programs: Vec<WrittenProgram>,
    /// The targets of devices.
    #[serde(default)]
    pub devices: BTreeMap<String, Spanned<String>>,
    #[serde(default)]
    pub edges: Vec<WrittenEdge>,
    /// Programs that libxdp's dispatcher runs on one interface.
    #[serde(default)]
    pub dispatcher: Vec<Spanned<String>>,
    /// Maps that are one, each as `PROGRAM:MAP`.
    #[serde(default)]
    pub shared_maps: Vec<Vec<Spanned<String>>>,
}

/// A program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenProgram {
    /// What it is called in the chain.
    pub name: Spanned<String>,
    /// The file with it, relative to the description.
    pub object: String,
    /// Which of the object's; the only XDP program where it is not said.
    #[serde(default)]
    pub program: Option<String>,
    /// Which device it runs on; all without a name run on one.
    #[serde(default)]
    pub device: Option<Spanned<String>>,
}

/// What runs behind a program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenEdge {
    /// The name of the first program.
    pub from: Spanned<String>,
    /// What it returns then.
    pub on: Vec<Spanned<String>>,
    /// The name of the next one.
    pub to: Spanned<String>,
    /// What is between their devices.
    #[serde(default)]
    pub network: Option<Spanned<WrittenNetwork>>,
}

/// What a network may change of packets.
#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
pub(crate) struct WrittenNetwork {
    /// Names of fields.
    #[serde(default)]
    pub changes: Vec<Spanned<String>>,
    /// Ranges of bytes from the first one on: the first of them, and the first behind it.
    #[serde(default)]
    pub bytes: Vec<Spanned<(u16, u16)>>,
}

impl Written {
    pub fn parse(text: &str) -> Result<Written, ChainError> {
        read(text, &CHAIN)
    }
}

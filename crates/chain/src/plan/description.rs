//! Topology descriptions as written in YAML. Only their shape is checked here.

use crate::description::NetworkDescription;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// The description of a topology, as the YAML text states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TopologyDescription {
    /// Version of the format in which the text is written. Chains have the same version numbers.
    pub schema: Spanned<u32>,
    pub programs: Vec<ProgramDescription>,
    pub nodes: Vec<NodeDescription>,
    pub paths: Vec<Spanned<PathDescription>>,
}

/// A program, as the description states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramDescription {
    pub name: Spanned<String>,
    /// Path of the object file, relative to the description.
    pub object: String,
    /// Name of the program in the object; `None` if the object has only one XDP program.
    #[serde(default)]
    pub program: Option<String>,
}

/// A node of the network, as the description states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeDescription {
    pub name: Spanned<String>,
    /// Name of the program that runs on the node; `None` if the node only forwards packets.
    #[serde(default)]
    pub program: Option<Spanned<String>>,
}

/// A path through the network, as the description states it.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathDescription {
    #[serde(default)]
    pub name: Option<Spanned<String>>,
    /// Share of the traffic, relative to the shares of other paths.
    #[serde(default)]
    pub share: Option<Spanned<f64>>,
    pub hops: Vec<HopDescription>,
}

/// A node on a path, and the network from there to the next node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HopDescription {
    pub node: Spanned<String>,
    /// Packets continue on the path if the node's program returns one of these results.
    #[serde(default)]
    pub on: Option<Vec<Spanned<String>>>,
    /// Changes that the network to the next node may make to packets, as in an edge of a chain.
    #[serde(default)]
    pub changes: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub bytes: Option<Vec<Spanned<(u16, u16)>>>,
    /// Ingress by which the node recognises packets on this path; `None` for the name of the
    /// previous node.
    #[serde(default)]
    pub ingress: Option<Spanned<String>>,
}

impl HopDescription {
    /// Returns the description of the network to the next node.
    pub fn network(&self) -> NetworkDescription {
        NetworkDescription {
            changes: self.changes.clone().unwrap_or_default(),
            bytes: self.bytes.clone().unwrap_or_default(),
        }
    }
}

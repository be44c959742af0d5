//! Types for the YAML description of a topology. They check only the structure of the YAML text,
//! not the meaning of its values.

use crate::description::NetworkDescription;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// The YAML description of a topology.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct TopologyDescription {
    /// Version of the YAML format in which the text is written. Topologies and chains are described
    /// in formats with the same version numbers.
    pub schema: Spanned<u32>,
    pub programs: Vec<ProgramDescription>,
    pub nodes: Vec<NodeDescription>,
    pub paths: Vec<Spanned<PathDescription>>,
}

/// A program in the YAML description of a topology.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct ProgramDescription {
    pub name: Spanned<String>,
    /// Path of the object file, relative to the topology's description.
    pub object: String,
    /// Name of the program in the object file; `None` if the object has only one XDP program.
    #[serde(default)]
    pub program: Option<String>,
}

/// A node of the network in the YAML description of a topology.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct NodeDescription {
    pub name: Spanned<String>,
    /// Name of the program that runs on the node; `None` if the node only forwards packets.
    #[serde(default)]
    pub program: Option<Spanned<String>>,
}

/// A path through the network in the YAML description of a topology.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct PathDescription {
    #[serde(default)]
    pub name: Option<Spanned<String>>,
    /// Amount of traffic on the path, relative to the amounts on other paths.
    #[serde(default)]
    pub share: Option<Spanned<f64>>,
    pub hops: Vec<HopDescription>,
}

/// A node on a path, and the network from there to the next node.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct HopDescription {
    pub node: Spanned<String>,
    /// Names of the XDP actions after which packets continue on the path.
    #[serde(default)]
    pub on: Option<Vec<Spanned<String>>>,
    /// Fields that the network to the next node may change, as in an edge of a chain.
    #[serde(default)]
    pub changes: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub bytes: Option<Vec<Spanned<(u16, u16)>>>,
    /// Name of the ingress (such as an interface) by which the node recognises packets on this
    /// path; `None` for the name of the previous node.
    #[serde(default)]
    pub ingress: Option<Spanned<String>>,
}

impl HopDescription {
    /// Returns the changes that the network between this node and the next may make to packets.
    pub fn network(&self) -> NetworkDescription {
        NetworkDescription {
            changes: self.changes.clone().unwrap_or_default(),
            bytes: self.bytes.clone().unwrap_or_default(),
        }
    }
}

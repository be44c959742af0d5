//! A topology as it is written down, in YAML. Nothing is checked yet but its shape.

use crate::written::WrittenNetwork;
use serde::Deserialize;
use serde_saphyr::Spanned;

/// A description.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Described {
    /// The version of its format, that of chains.
    pub schema: Spanned<u32>,
    pub programs: Vec<DescribedProgram>,
    pub nodes: Vec<DescribedNode>,
    pub paths: Vec<Spanned<DescribedPath>>,
}

/// A program.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedProgram {
    pub name: Spanned<String>,
    /// The file with it, relative to the description.
    pub object: String,
    /// Which of the object's; the only XDP program where it is not said.
    #[serde(default)]
    pub program: Option<String>,
}

/// A place in the network that packets pass.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedNode {
    pub name: Spanned<String>,
    /// The name of the program that runs there; none where packets are only forwarded.
    #[serde(default)]
    pub program: Option<Spanned<String>>,
}

/// A way through the network.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedPath {
    #[serde(default)]
    pub name: Option<Spanned<String>>,
    /// Of the traffic, in any unit.
    #[serde(default)]
    pub share: Option<Spanned<f64>>,
    pub hops: Vec<DescribedHop>,
}

/// A node on a path, and what is between it and the next one.
#[derive(Debug, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct DescribedHop {
    pub node: Spanned<String>,
    /// What its program returns for packets that go on.
    #[serde(default)]
    pub on: Option<Vec<Spanned<String>>>,
    /// What the way to the next node may change: as of the network of a chain's edge.
    #[serde(default)]
    pub changes: Option<Vec<Spanned<String>>>,
    #[serde(default)]
    pub bytes: Option<Vec<Spanned<(u16, u16)>>>,
    /// What the node can tell packets by that come over this path; the node before where it is not
    /// said.
    #[serde(default)]
    pub ingress: Option<Spanned<String>>,
}

impl DescribedHop {
    /// What may change behind it.
    pub fn network(&self) -> WrittenNetwork {
        WrittenNetwork {
            changes: self.changes.clone().unwrap_or_default(),
            bytes: self.bytes.clone().unwrap_or_default(),
        }
    }
}

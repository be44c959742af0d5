//! Checks certificates: proofs that no packet makes a program slower than a bound, and that some
//! packet takes a path.
//!
//! The checker shares no code with the search and the solver. It repeats the symbolic execution of
//! the program, and verifies each claim of the certificate about the unrolled program:
//!
//! - The witness satisfies all branch conditions of its path ([`encode`]), whose cost is summed up
//!   again.
//! - Each nogood, a set of arcs, has a proof that no packet takes the arcs together ([`lrat`]).
//! - Every path that costs more than the bound contains a nogood ([`Paths`]).
//!
//! The checker trusts the reader of programs, the symbolic execution with its simplification of
//! terms, and the prices of the target. [`TRUSTED`] names them for users.

mod check;
pub mod encode;
mod graph;
pub mod lrat;
mod paths;

pub use check::{
    Checked, Problem, check, conditions_of_arcs, conditions_of_path, export_proofs, uncovered,
};
pub use graph::{Arc, Graph, Node};
pub use paths::Paths;

use lrat::Step;
use serde::{Deserialize, Serialize};
use std::collections::BTreeSet;

/// Parts of slowpath that a check trusts, one phrase each.
pub const TRUSTED: [&str; 4] = [
    "reading of the file, and translation of its instructions",
    "models of helpers, maps and arriving packets",
    "symbolic execution: unrolled paths and their branch conditions",
    "prices of the target",
];

/// Proof of a bound and of a path that some packet takes.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Certificate {
    /// The bound. Absent if the cost of the witness is the bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub bound: Option<BoundClaim>,
    /// A path that some packet takes. Absent if no such path is known; there is then a bound.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub witness: Option<WitnessClaim>,
    /// Nogoods that exclude all paths above the bound.
    pub nogoods: Vec<NogoodProof>,
}

/// A bound: no packet causes more work than this on any component that counts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct BoundClaim {
    /// Index of the component.
    pub component: usize,
    /// Work on the component in ticks, including the fixed cost per packet.
    pub ticks: u64,
    /// Packet length in bytes, for bounds on bit rates.
    pub length: u32,
}

/// A path, and an assignment that satisfies its branch conditions.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct WitnessClaim {
    /// Arcs of the path in order.
    pub path: Vec<u32>,
    /// Length of the packet in bytes, at most.
    pub length: u32,
    /// Indices of the assumptions about the environment on which the run relies
    /// ([`slowpath_ir::Op::Rely`]).
    #[serde(default, skip_serializing_if = "BTreeSet::is_empty")]
    pub relies: BTreeSet<u32>,
    /// Hexadecimal digits: one bit for each variable of the clauses of the branch conditions, from
    /// variable 1 on, four in a digit, the first of them in its lowest bit.
    pub assignment: String,
}

/// A set of arcs that no packet takes together, with a proof.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct NogoodProof {
    /// Arcs in ascending order.
    pub arcs: Vec<u32>,
    /// Packet length in bytes: shorter packets do not take the arcs together. Absent if no packet
    /// does.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub below: Option<u32>,
    /// Proof that the clauses of the branch conditions contradict each other.
    pub proof: Vec<Step>,
}

impl NogoodProof {
    /// Returns true if the nogood excludes its arcs for packets of `length` bytes.
    pub fn applies(&self, length: u32) -> bool {
        self.below.is_none_or(|below| below > length)
    }
}

impl WitnessClaim {
    /// Writes an assignment as hexadecimal digits. `values` are those of the variables from 1 on.
    pub fn digits(values: &[bool]) -> String {
        let digit = |four: &[bool]| {
            let value = four.iter().rev().fold(0, |all, &bit| all << 1 | u32::from(bit));
            char::from_digit(value, 16).unwrap_or('0')
        };
        values.chunks(4).map(digit).collect()
    }

    /// Reads the assignment: the values of the variables from 1 on.
    ///
    /// # Errors
    /// Fails at characters that are not hexadecimal digits.
    pub fn values(&self) -> Result<Vec<bool>, String> {
        let mut values = Vec::with_capacity(4 * self.assignment.len());
        for character in self.assignment.chars() {
            let digit = character
                .to_digit(16)
                .ok_or_else(|| format!("the assignment has the character {character:?}"))?;
            values.extend((0..4).map(|bit| digit >> bit & 1 == 1));
        }
        Ok(values)
    }
}

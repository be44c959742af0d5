//! Stores and restores the source lines of a program that establish facts about the packets that
//! leave it.

use super::stored::StoredFacts;
use crate::facts::{Discovery, Fact, listed};
use crate::report::{LineReport, explain_all};
use serde::{Deserialize, Serialize};
use slowpath_bpf::BpfProgram;
use slowpath_ir::PacketFacts;
use slowpath_stop::Stop;
use std::collections::BTreeMap;

/// The source lines of a program that establish the facts about packets leaving it.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub(super) struct Lines {
    /// The facts about packets that leave the program; `None` if no facts were found.
    facts: Option<StoredFacts>,
    /// For each fact, in the order of [`listed`], the source lines that establish it. These lines
    /// do not name their program yet, because several programs may have the same content.
    lines: Vec<Vec<LineReport>>,
}

impl Lines {
    /// Finds the source lines for all facts about packets that leave the program, until `stop` ends
    /// the work.
    pub fn of(found: &mut Discovery, program: &BpfProgram, stop: &Stop) -> Lines {
        let facts = found.facts.clone();
        let mut lines = BTreeMap::new();
        explain_all(found, &facts, &(String::new(), program), stop, &mut lines);
        let of = |fact| lines.remove(&fact).unwrap_or_default();
        Lines {
            facts: Some(StoredFacts::from(&facts)),
            lines: listed(&facts).into_iter().map(of).collect(),
        }
    }

    /// Returns the source lines for each fact. All lines get `name` as the name of their program.
    pub fn named(self, name: &str) -> BTreeMap<Fact, Vec<LineReport>> {
        let facts = self.facts.as_ref().map(PacketFacts::from);
        let facts = facts.as_ref().map_or_else(Vec::new, listed);
        let named = |line| LineReport { program: name.to_owned(), ..line };
        let lines = self.lines.into_iter().map(|lines| lines.into_iter().map(named).collect());
        facts.into_iter().zip(lines).collect()
    }
}

//! Fuzzes the parser of descriptions of topologies. Every text must be exactly one of
//!
//! - a topology whose paths pass existing nodes, each at most once, and together carry all traffic;
//!   parsing the text again gives an equal topology;
//! - an error of one line, about a line of the text or the whole text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_chain::ChainError;
use slowpath_chain::plan::{OUTSIDE, Topology};
use std::collections::BTreeSet;

fuzz_target!(|text: &str| {
    let topology = match Topology::parse(text) {
        Ok(topology) => topology,
        Err(error) => return located(&error, text),
    };
    assert_eq!(Topology::parse(text).as_ref(), Ok(&topology));
    let Topology { programs, nodes, paths } = &topology;
    let names: BTreeSet<&str> = nodes.iter().map(|node| &*node.name).collect();
    assert!(names.len() == nodes.len() && !names.contains(OUTSIDE));
    assert!(nodes.iter().filter_map(|node| node.program).all(|program| program < programs.len()));
    assert!(!paths.is_empty());
    for path in paths {
        let passed: BTreeSet<usize> = path.hops.iter().map(|hop| hop.node).collect();
        assert!(passed.len() == path.hops.len() && !passed.is_empty());
        let (last, before) = path.hops.split_last().expect("it is not empty");
        assert!(last.on.is_empty() && last.network.changes.is_empty());
        for hop in before {
            assert_eq!(hop.on.is_empty(), nodes[hop.node].program.is_none());
        }
        assert!(passed.iter().all(|&node| node < nodes.len()));
    }
});

fn located(error: &ChainError, text: &str) {
    assert_eq!(error.to_string().lines().count(), 1, "{error:?}");
    if let ChainError::Line { line, .. } = error {
        // A missing item is reported for the line after the last one.
        let lines = text.split(['\n', '\r']).count() as u64;
        assert!((1..=lines + 1).contains(line), "{error:?}");
    }
}

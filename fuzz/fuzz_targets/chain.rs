//! Fuzzes the parser of descriptions of chains. Every text must be exactly one of
//!
//! - a chain with these properties: edges connect two of its programs; every program but the entry
//!   has an incoming edge; the graph has no cycle; and parsing the text again gives an equal chain;
//! - an error of one line, about a line of the text or the whole text.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_chain::{Chain, ChainError};
use std::collections::BTreeSet;

fuzz_target!(|text: &str| {
    let chain = match Chain::parse(text) {
        Ok(chain) => chain,
        Err(error) => return located(&error, text),
    };
    assert_eq!(Chain::parse(text).as_ref(), Ok(&chain));
    let count = chain.members.len();
    let names: BTreeSet<&str> = chain.members.iter().map(|member| &*member.name).collect();
    assert_eq!(names.len(), count, "names tell programs apart");
    assert!(chain.entry < count);
    for edge in &chain.edges {
        assert!(edge.from < count && edge.to < count && !edge.on.is_empty());
        let ranges = edge.network.iter().flat_map(|network| &network.changes);
        assert!(ranges.into_iter().all(|range| !range.is_empty()));
    }
    for (map, _) in chain.shared.iter().flat_map(|shared| &shared.maps) {
        assert!(*map < count);
    }
    for target in &chain.targets {
        assert!(chain.devices().contains(&Some(&target.device)));
    }
    if let Some(dispatcher) = &chain.dispatcher {
        assert!(dispatcher.members.iter().all(|&member| member < count));
        return;
    }
    let led: BTreeSet<usize> = chain.edges.iter().map(|edge| edge.to).collect();
    assert!((0..count).all(|member| (member == chain.entry) != led.contains(&member)));
    let order: BTreeSet<usize> = chain.order().into_iter().collect();
    assert_eq!(order.len(), count, "a program runs behind itself");
});

fn located(error: &ChainError, text: &str) {
    assert_eq!(error.to_string().lines().count(), 1, "{error:?}");
    if let ChainError::Line { line, .. } = error {
        // A missing item is reported for the line after the last one.
        let lines = text.split(['\n', '\r']).count() as u64;
        assert!((1..=lines + 1).contains(line), "{error:?}");
    }
}

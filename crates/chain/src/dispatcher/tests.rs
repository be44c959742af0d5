//! Tests that a chain gets the edges that follow from the configuration of libxdp's dispatcher in
//! the objects.

use super::*;
use slowpath_bpf::Object;
use std::sync::Arc;

const OBJECT: &[u8] = include_bytes!("../../../bpf/tests/data/run_config.bpf.o");

/// Returns a chain of programs that a dispatcher runs. Each of `names` is the name of a program in
/// the object `OBJECT`; digits at the end make names unique. `more` is YAML text that is added to
/// the description.
fn chain(names: &[&str], more: &str) -> Result<Chain, ChainError> {
    let object = Arc::new(Object::parse(OBJECT).expect("an object"));
    let mut text = "schema: 1\nprograms:\n".to_owned();
    let mut loaded = Vec::new();
    for name in names {
        text += &format!("  - {{name: {name}, object: a.o}}\n");
        let wanted = name.trim_end_matches(char::is_numeric);
        let program = object.programs.iter().position(|entry| entry.name == wanted);
        loaded.push(Loaded { object: Arc::clone(&object), program: program.expect(name) });
    }
    Chain::parse(&(text + more))?.dispatched(&loaded)
}

fn edge(from: usize, on: &[Action], to: usize) -> Edge {
    Edge { from, on: on.to_vec(), to, network: None, dispatched: true }
}

#[test]
fn programs_run_by_priority_and_name() {
    let names = ["silent", "never", "early"];
    let chain = chain(&names, "dispatcher: [silent, never, early]\n").expect("a chain");
    // The program with priority 10 comes first, then the two with priority 50, ordered by name.
    assert_eq!(chain.entry, 2);
    let early = [Action::Drop, Action::Pass, Action::Tx];
    assert_eq!(chain.edges, [edge(2, &early, 1), edge(1, &[Action::Aborted], 0)]);
}

#[test]
fn programs_of_a_dispatcher_can_send_to_others() {
    let edges =
        "edges: [{from: early, on: [XDP_REDIRECT], to: silent}]\ndispatcher: [never, early]\n";
    let chain = chain(&["silent", "never", "early"], edges).expect("a chain");
    assert_eq!(chain.entry, 2);
    assert_eq!(chain.edges.len(), 2);
    assert!(!chain.edges[0].dispatched && chain.edges[1].dispatched);
}

#[test]
fn what_no_dispatcher_does_is_refused() {
    for (names, more, said) in [
        (
            &["silent", "silent2"][..],
            "dispatcher: [silent, silent2]\n",
            "line 5: silent and silent2 have the same priority, 50, and the same name, silent: ",
        ),
        (
            &["silent", "wrong"],
            "dispatcher: [silent, wrong]\n",
            "line 5: wrong: section .xdp_run_config: program wrong has an unknown parameter",
        ),
        (
            &["silent", "early"],
            "dispatcher: [silent, silent]\n",
            "line 5: silent is in the dispatcher twice; remove one",
        ),
        (
            &["silent", "early"],
            "edges: [{from: early, on: [XDP_TX], to: silent}]\ndispatcher: [silent]\n",
            "line 6: silent is in the dispatcher, where packets arrive, so no edge may lead to it",
        ),
        (
            &["silent", "early", "never"],
            "edges: [{from: early, on: [XDP_TX], to: never}]\ndispatcher: [silent, early]\n",
            "line 7: the dispatcher runs silent after early, on actions with an edge to never",
        ),
        (
            &["silent", "early"],
            "dispatcher: [silent]\n",
            "line 4: no edge leads to early or to silent",
        ),
    ] {
        let error = chain(names, more).expect_err(more).to_string();
        assert!(error.starts_with(said), "{error}");
    }
}

use super::*;

/// Returns the description of a topology with two programs, four nodes, and the given paths.
fn topology(paths: &str) -> String {
    let start = "schema: 1\nprograms:\n- {name: fw, object: fw.o}\n- {name: lb, object: lb.o}\n\
                 nodes:\n- {name: edge, program: fw}\n- {name: tor}\n- {name: s1, program: lb}\n\
                 - {name: s2, program: lb}\npaths:\n";
    format!("{start}{paths}")
}

fn parsed(paths: &str) -> Topology {
    Topology::parse(&topology(paths)).expect(paths)
}

#[track_caller]
fn refused(text: &str, line: u64, part: &str) {
    match Topology::parse(text) {
        Err(ChainError::Line { line: at, what }) => {
            assert!(what.contains(part) && at == line, "line {at}: {what}");
        }
        other => panic!("{other:?}"),
    }
}

/// Checks that the description of a path is rejected with an error that names line 11 and contains
/// `part`.
#[track_caller]
fn refused_path(path: &str, part: &str) {
    refused(&topology(path), 11, part);
}

#[test]
fn a_path_says_what_goes_on_and_what_changes() {
    let topology = parsed(
        "- name: web\n  share: 3\n  hops:\n  - {node: edge, on: [XDP_TX, XDP_PASS, XDP_TX]}\n  - \
         {node: tor, changes: [ttl], bytes: [[14, 18]]}\n  - {node: s1}\n\
         - hops: [{node: s2, ingress: eth1}]\n",
    );
    let [web, other] = &topology.paths[..] else { panic!("{topology:?}") };
    assert_eq!((web.name.as_str(), other.name.as_str()), ("web", "2"));
    assert_eq!((web.share, other.share), (ALL_TRAFFIC / 4 * 3, ALL_TRAFFIC / 4));
    assert_eq!(web.hops[0].on, [Action::Pass, Action::Tx]);
    assert_eq!(web.hops[0].network, Network::default());
    let bytes = 14..18;
    assert_eq!(web.hops[1].network, Network { changes: Vec::from([bytes]), routes: true });
    let ingresses: Vec<&str> = web.hops.iter().map(|hop| hop.ingress.as_str()).collect();
    assert_eq!(ingresses, [OUTSIDE, "edge", "tor"]);
    assert_eq!(other.hops[0].ingress, "eth1");
}

#[test]
fn shares_of_any_size_are_parts_of_the_whole() {
    let topology = parsed(
        "- {share: 1e308, hops: [{node: tor}]}\n- {share: 1e308, hops: [{node: tor}]}\n\
         - {share: 1e-300, hops: [{node: tor}]}\n",
    );
    let shares: Vec<u64> = topology.paths.iter().map(|path| path.share).collect();
    assert_eq!(shares, [ALL_TRAFFIC / 2, ALL_TRAFFIC / 2, 1]);
}

#[test]
fn shares_are_more_than_nothing() {
    for share in ["0", "-1", ".nan", ".inf"] {
        refused_path(&format!("- {{share: {share}, hops: [{{node: tor}}]}}\n"), "above 0");
    }
}

#[test]
fn names_are_those_of_something() {
    refused_path("- hops: [{node: s3}]\n", "unknown node \"s3\"; choose one of edge, tor, s1, s2");
    refused_path("- hops: [{node: edge, on: [PASS]}, {node: s1}]\n", "\"PASS\" is not an action");
    refused_path("- hops: [{node: edge, on: [XDP_DROP]}, {node: s1}]\n", "does not send");
    refused_path("- hops: [{node: tor, changes: [mac]}, {node: s1}]\n", "\"mac\" is not a field");
    refused_path("- hops: [{node: tor, bytes: [[9, 9]]}, {node: s1}]\n", "not a range of bytes");
    refused_path("- hops: [{node: tor, ingress: a/b}]\n", "not the name of an ingress");
    refused_path("- {name: a b, hops: [{node: tor}]}\n", "not a name");
    let twice = "- {name: a, hops: [{node: tor}]}\n- {name: a, hops: [{node: tor}]}\n";
    refused(&topology(twice), 12, "path a is defined twice, also in line 11");
    let text = "schema: 1\nprograms: []\nnodes:\n- {name: a, program: fw}\npaths: []\n";
    refused(text, 4, "unknown program \"fw\"; the file defines none");
    let text = "schema: 1\nprograms: []\nnodes:\n- {name: outside}\npaths: []\n";
    refused(text, 4, "the origin of packets");
    refused("schema: 2\nprograms: []\nnodes: []\npaths: []\n", 1, "write `schema: 1`");
}

#[test]
fn many_names_are_not_all_listed() {
    let nodes: String = (0..50).map(|number| format!("- {{name: n{number}}}\n")).collect();
    let text = format!("schema: 1\nprograms: []\nnodes:\n{nodes}paths:\n- hops: [{{node: x}}]\n");
    refused(&text, 55, "n18, n19, 30 more");
}

#[test]
fn a_path_has_no_circle_and_some_node() {
    let circle = "- hops: [{node: tor}, {node: s1, on: [XDP_TX]}, {node: tor}]\n";
    refused_path(circle, "path 1 passes tor twice");
    refused_path("- {name: web, hops: []}\n", "path web has no `hops`");
    let none = topology("").replace("paths:\n", "paths: []\n");
    let error = Topology::parse(&none).expect_err("it has no paths");
    assert_eq!(
        error,
        ChainError::Whole("the topology has no paths; add one to `paths`".to_owned())
    );
}

#[test]
fn only_programs_with_a_node_behind_say_what_goes_on() {
    refused_path("- hops: [{node: edge}, {node: s1}]\n", "add `on`");
    refused_path("- hops: [{node: edge, on: []}, {node: s1}]\n", "`on` is empty");
    refused_path("- hops: [{node: tor, on: [XDP_TX]}, {node: s1}]\n", "does not run a program");
    refused_path("- hops: [{node: s1, on: [XDP_TX]}]\n", "last node");
    refused_path("- hops: [{node: s1, changes: [ttl]}]\n", "last node");
    refused_path("- hops: [{node: s1, bytes: []}]\n", "last node");
}

#[test]
fn what_is_not_known_is_refused() {
    refused_path("- {hops: [{node: tor}], weight: 3}\n", "weight");
}

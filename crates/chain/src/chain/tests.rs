//! Tests that valid descriptions of chains are accepted and invalid ones are rejected.

use super::*;
use proptest::prelude::*;

const GOOD: &str = "\
schema: 1
programs:
  - {name: firewall, object: firewall.bpf.o}
  - name: balancer
    object: ../lb/lb.bpf.o
    program: balance
edges:
  - {from: firewall, on: [XDP_PASS, XDP_TX, XDP_PASS], to: balancer}
shared_maps:
  - ['firewall:flows', 'balancer:seen']
  - ['firewall:rules']
";

#[test]
fn a_chain_is_what_is_written() {
    let chain = Chain::parse(GOOD).expect("a chain");
    let member = |name: &str, object: &str, program: Option<&str>, line| Member {
        name: name.to_owned(),
        object: object.to_owned(),
        program: program.map(str::to_owned),
        device: None,
        line,
    };
    assert_eq!(
        chain,
        Chain {
            members: vec![
                member("firewall", "firewall.bpf.o", None, 3),
                member("balancer", "../lb/lb.bpf.o", Some("balance"), 4),
            ],
            edges: vec![Edge {
                from: 0,
                on: vec![Action::Pass, Action::Tx],
                to: 1,
                network: None,
                dispatched: false
            }],
            dispatcher: None,
            shared: vec![
                SharedMap { maps: vec![(0, "flows".to_owned()), (1, "seen".to_owned())], line: 10 },
                SharedMap { maps: vec![(0, "rules".to_owned())], line: 11 },
            ],
            targets: Vec::new(),
            entry: 0,
        }
    );
}

fn programs(names: &[&str]) -> String {
    let one = |name: &&str| format!("  - {{name: {name}, object: {name}.o}}\n");
    format!("schema: 1\nprograms:\n{}", names.iter().map(one).collect::<String>())
}

fn edges(of: &[(&str, &str, &str)]) -> String {
    let one = |(from, on, to): &(&str, &str, &str)| {
        format!("  - {{from: {from}, on: [{on}], to: {to}}}\n")
    };
    format!("edges:\n{}", of.iter().map(one).collect::<String>())
}

#[test]
fn what_is_no_chain_is_refused_at_its_line() {
    let two = programs(&["a", "b"]);
    let three = programs(&["a", "b", "c"]);
    for (text, message) in [
        ("schema: 2\nprograms: []\n".to_owned(), "line 1: schema 2 is unknown; write `schema: 1`"),
        (
            programs(&[]).replace("programs:\n", "programs: []\n"),
            "the chain has no programs; add one to `programs`",
        ),
        (programs(&["a", "a"]), "line 4: program a is defined twice, also in line 3"),
        (
            programs(&["a/b"]),
            "line 3: \"a/b\" is not a name: letters, digits, `_`, `-` and `.`, 100 at most",
        ),
        (
            two.clone() + &edges(&[("a", "XDP_PASS", "c")]),
            "line 6: unknown program \"c\"; choose one of a, b",
        ),
        (
            two.clone() + &edges(&[("a", "PASS", "b")]),
            "line 6: \"PASS\" is not an action: XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT",
        ),
        (
            two.clone() + &edges(&[("a", "", "b")]),
            "line 6: `on` is empty; write some of XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, \
             XDP_REDIRECT",
        ),
        (
            two.clone(),
            "line 4: no edge leads to b or to a, but packets must arrive at a single program of a chain",
        ),
        (
            two.clone() + &edges(&[("a", "XDP_PASS", "b"), ("b", "XDP_PASS", "a")]),
            "line 3: edges lead to a and to every other program, so the chain is a circle without a \
             start",
        ),
        (
            three.clone()
                + &edges(&[("a", "XDP_PASS", "b"), ("b", "XDP_PASS", "c"), ("c", "XDP_TX", "b")]),
            "line 4: b runs after itself, or after programs that do; a chain must end",
        ),
        (
            three + &edges(&[("a", "XDP_PASS", "b"), ("a", "'XDP_PASS'", "c")]),
            "line 8: XDP_PASS already leads to b",
        ),
        (
            two + &edges(&[("a", "XDP_TX", "b")]) + "shared_maps:\n  - [flows, 'b:flows']\n",
            "line 8: \"flows\" is not a map of a program: write PROGRAM:MAP",
        ),
    ] {
        let error = Chain::parse(&text).expect_err(&text);
        assert_eq!(error.to_string(), message, "{text}");
    }
}

#[test]
fn names_are_part_of_the_names_of_files() {
    assert!(Chain::parse(&programs(&[&"b".repeat(100)])).is_ok());
    let error = Chain::parse(&programs(&[&"b".repeat(101)])).expect_err("too long");
    assert!(error.to_string().ends_with("and `.`, 100 at most"), "{error}");
}

#[test]
fn what_is_no_description_is_refused() {
    for text in
        ["", "schema: one\n", "programs: []\n", "schema: 1\nprogramms: []\n", "\t", "{", "- 1"]
    {
        let error = Chain::parse(text).expect_err(text).to_string();
        assert!(!error.is_empty() && !error.contains('\n'), "{text:?}: {error:?}");
    }
}

proptest! {
    #[test]
    fn no_text_is_too_strange(text in "[a-z:\\[\\]{}\\- \n&*!#|>'\"\t0-9,.?%@]{0,80}") {
        let _ = Chain::parse(&text);
        let _ = Chain::parse(&format!("{GOOD}{text}"));
    }
}

/// A chain with a firewall on one device and two programs on another device.
const DEVICES: &str = "\
schema: 1
programs:
  - {name: a, object: a.o, device: edge}
  - {name: b, object: b.o, device: server-1}
  - {name: c, object: c.o, device: server-1}
edges:
  - from: a
    on: [XDP_TX]
    to: b
    network: {changes: [ethernet_addresses, ttl], bytes: [[14, 16]]}
  - {from: a, on: [XDP_REDIRECT], to: c}
  - {from: b, on: [XDP_PASS], to: c}
";

#[test]
fn packets_are_sent_between_devices() {
    let chain = Chain::parse(DEVICES).expect("a chain");
    assert_eq!(chain.devices(), [Some("edge"), Some("server-1")]);
    let networks: Vec<Option<Network>> = chain.edges.into_iter().map(|edge| edge.network).collect();
    let changing = Network { changes: vec![0..12, 14..16], routes: true };
    assert_eq!(networks, [Some(changing), Some(Network::default()), None]);
}

#[test]
fn networks_are_what_they_can_be() {
    for (old, new, said) in [
        (
            "ttl",
            "dscp",
            "line 10: \"dscp\" is not a field: ethernet_addresses, ttl; use `bytes` for others",
        ),
        ("[14, 16]", "[16, 16]", "line 10: [16, 16] is not a range of bytes"),
        ("[14, 16]", "[0, 16384]", "line 10: [0, 16384] is not a range of bytes"),
        (
            "XDP_TX",
            "XDP_DROP",
            "line 7: XDP_DROP does not send packets, so its edge cannot lead to a device of b",
        ),
        ("device: edge", "device: the edge", "line 3: \"the edge\" is not the name of a device"),
        ("bytes", "byte", "line 10: "),
    ] {
        let error = Chain::parse(&DEVICES.replace(old, new)).expect_err(new);
        assert!(error.to_string().starts_with(said), "{error}");
    }
}

const ON_A_CARD: &str = "\
schema: 1
devices: {card: agilio-cx-2x40}
programs:
  - {name: a, object: a.o, device: card}
  - {name: b, object: b.o, device: host}
edges:
  - {from: a, on: [XDP_PASS], to: b}
";

#[test]
fn devices_have_targets() {
    let chain = Chain::parse(ON_A_CARD).expect("a chain");
    let target =
        DeviceTarget { device: "card".to_owned(), target: "agilio-cx-2x40".to_owned(), line: 2 };
    assert_eq!(chain.targets, [target]);
    assert_eq!(chain.on_device(Some("card")), BTreeSet::from([0]));
    let nowhere = ON_A_CARD.replace("{card:", "{nic:");
    let error = Chain::parse(&nowhere).expect_err("no such device");
    assert_eq!(error.to_string(), "line 2: no program runs on device nic");
    let lines = ON_A_CARD.replace("{card:", "{\"a\\nb\":");
    let error = Chain::parse(&lines).expect_err("no such device");
    assert_eq!(error.to_string(), "line 2: no program runs on device a\\nb");
    let twice = ON_A_CARD.replace("{card:", "{card: ebpf, card:");
    assert!(Chain::parse(&twice).is_err(), "a device has one target");
}

#[test]
fn in_front_are_all_that_lead_to_a_program() {
    let text = programs(&["a", "b", "c", "d"])
        + &edges(&[("a", "XDP_PASS", "b"), ("b", "XDP_PASS", "c"), ("a", "XDP_TX", "d")]);
    let chain = Chain::parse(&text).expect("a chain");
    let upstream: Vec<_> = (0..4).map(|member| chain.upstream(member)).collect();
    let [none, one, two] = [[].into(), [0].into(), [0, 1].into()];
    assert_eq!(upstream, [none, one, two, BTreeSet::from([0])]);
}

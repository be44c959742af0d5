use super::classes::joined;
use super::*;
use crate::Loaded;
use crate::report::FactReport;
use slowpath_bpf::Object;
use slowpath_cache::Key;
use slowpath_ir::PacketFacts;
use slowpath_specialise::Mode;
use slowpath_stop::Limits;
use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

/// A topology in which packets of a firewall reach a load balancer on three paths: directly, across
/// a network that may change bytes 62 to 85, and through a counter. On a fourth path, packets reach
/// the counter without having passed the firewall.
const THREE_WAYS: &str = "schema: 1
programs:
- {name: firewall, object: firewall.bpf.o}
- {name: counter, object: counter.bpf.o}
- {name: balancer, object: load_balancer.bpf.o}
nodes:
- {name: edge, program: firewall}
- {name: meter, program: counter}
- {name: tor}
- {name: server, program: balancer}
paths:
- {share: 5, hops: [{node: edge, on: [XDP_PASS]}, {node: server}]}
- {share: 3, hops: [{node: edge, on: [XDP_PASS]}, {node: tor, bytes: [[62, 86]]}, {node: server}]}
- {share: 1, hops: [{node: edge, on: [XDP_PASS]}, {node: meter, on: [XDP_PASS]}, {node: server}]}
- {share: 1, hops: [{node: meter, on: [XDP_PASS]}, {node: server}]}
";

fn topology(text: &str) -> (Topology, Vec<Subject>) {
    let topology = Topology::parse(text).expect("it is a topology");
    let subject = |placed: &PlacedProgram| {
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/chain");
        let data = fs::read(file.join(&placed.object)).expect("an example");
        let object = Arc::new(Object::parse(&data).expect("an object"));
        Subject { loaded: Loaded { object, program: 0 }, digest: Key::bytes(&data).text() }
    };
    let subjects = topology.programs.iter().map(subject).collect();
    (topology, subjects)
}

/// Folder in which several tests share their results. It is empty when the tests start.
static CACHE: LazyLock<PathBuf> = LazyLock::new(|| {
    let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../target/tmp/plan-tests");
    let _ = fs::remove_dir_all(&folder);
    folder
});

/// Plans a topology, with a cache in which earlier tests may have stored results.
fn planned(text: &str, options: &PlanOptions) -> Planned {
    computed(text, &PlanOptions { cache: Some(CACHE.clone()), ..options.clone() })
}

/// Plans a topology without results of earlier tests, unless the options name a cache.
fn computed(text: &str, options: &PlanOptions) -> Planned {
    let (topology, subjects) = topology(text);
    plan(&topology, &subjects, options, &Stop::never()).expect("its programs are complete")
}

/// Returns the entries of a plan that suggest a rewritten program for a node.
fn spots<'a>(planned: &'a Planned, node: &str) -> Vec<&'a HotSpot> {
    planned.report.hot_spots.iter().filter(|spot| spot.node == node).collect()
}

/// Returns true if each of `facts` follows from the facts in `from`.
fn follow(facts: &PacketFacts, from: &PacketFacts) -> bool {
    facts.join(from) == *facts
}

#[test]
fn what_holds_of_a_class_holds_of_all_that_comes_in_there() {
    let (topology, subjects) = topology(THREE_WAYS);
    let link = |(placed, subject): (&PlacedProgram, &Subject)| {
        Linked::of(subject, None, (&placed.name, placed.line)).expect("it is complete")
    };
    let programs: Vec<Linked> = topology.programs.iter().zip(&subjects).map(link).collect();
    let options = PlanOptions::default();
    let cache = Cache::new(None, String::new());
    let results = Results::new(&options, &cache);
    let mut arrivals = Arrivals::of(&topology);
    // The edge node, at which packets arrive from outside, is the common beginning of three paths.
    assert_eq!(arrivals.points.len(), 1 + 1 + 2 + 2 + 2);
    arrivals.find(&topology, &programs, &results, (false, 2), &Stop::never());
    // Three results were computed: the firewall for any packet, and the counter for any packet and
    // for packets from the firewall.
    assert_eq!(cache.counts(), (0, 3));
    let server = classes(&arrivals.points, 3);
    let ingresses: Vec<_> = server.iter().map(|class| class.ingresses.join(" ")).collect();
    assert_eq!(ingresses, ["edge", "tor", "meter"]);
    for class in &server {
        assert!(!class.points.is_empty());
        for &point in &class.points {
            let arriving = arrivals.points[point].arriving.facts.as_ref().expect("some arrive");
            assert!(follow(&class.facts, arriving), "{:?}", class.ingresses);
        }
    }
    // One of the two paths to the meter does not lead through the firewall.
    assert!(!server[2].facts.says_more_than_length());
    for group in [vec![0, 1], vec![0, 2], vec![0, 1, 2]] {
        let all = joined(&server, &group).expect("some classes");
        assert!(group.iter().all(|&class| follow(&all, &server[class].facts)));
    }
}

#[test]
fn several_variants_gain_no_less_than_one() {
    let mut before = 0.0;
    for (variants, expected) in [(1, 1), (2, 2), (3, 2)] {
        let options = PlanOptions { variants, mode: Mode::Trust, ..PlanOptions::default() };
        let planned = planned(THREE_WAYS, &options);
        assert_eq!(planned.objects.len(), planned.report.hot_spots.len());
        let spots = spots(&planned, "server");
        assert_eq!(spots.len(), expected);
        let gain: f64 = spots.iter().filter_map(|spot| spot.gain).sum();
        assert!(gain >= before && gain > 0.0);
        before = gain;
        for spot in spots {
            let costs = (spot.cost_before.expect("known"), spot.cost_after.expect("known"));
            assert!(costs.0.exact && costs.1.exact);
            assert_eq!(spot.rests_on, ["edge"]);
            let least = f64::from(u32::try_from(costs.0.instructions).expect("few"));
            assert!(spot.gain.expect("known") < spot.share * least);
        }
    }
}

#[test]
fn an_explicit_ingress_joins_what_cannot_be_told_apart() {
    let text = THREE_WAYS.replace("{node: server}", "{node: server, ingress: eth0}");
    let planned = planned(&text, &PlanOptions::default());
    assert!(spots(&planned, "server").is_empty());
    let server = planned.report.as_is.iter().find(|one| one.node == "server");
    assert_eq!(server.expect("it is there").ingresses, ["eth0"]);
}

#[test]
fn neighbours_are_all_that_counts_if_asked_for() {
    let (nodes, _) = THREE_WAYS.split_once("paths:\n").expect("it has paths");
    let whole = nodes.to_owned()
        + "paths:
- hops:
  - {node: edge, on: [XDP_PASS]}
  - {node: tor}
  - {node: meter, on: [XDP_PASS]}
  - {node: server}
";
    let server = |neighbours, text: &str| {
        let options = PlanOptions { neighbours, ..PlanOptions::default() };
        let planned = planned(text, &options);
        planned.report.hot_spots.into_iter().find(|spot| spot.node == "server")
    };
    let found = server(false, &whole).expect("the firewall says enough");
    assert_eq!(
        (found.rests_on, found.irrelevant),
        (vec!["edge".to_owned()], vec!["meter".to_owned(), "tor".to_owned()])
    );
    assert!(server(true, &whole).is_none());
    // Without the meter, the firewall is the neighbour: nodes without a program do not count.
    let direct = whole.replace("  - {node: meter, on: [XDP_PASS]}\n", "");
    assert_eq!(server(true, &direct).expect("the firewall says enough").rests_on, ["edge"]);
}

#[test]
fn lines_are_those_of_the_program_behind_which_a_fact_was_first_known() {
    let (nodes, _) = THREE_WAYS.split_once("paths:\n").expect("it has paths");
    let path = |hops: &str| {
        let text = format!("{nodes}paths:\n- hops: [{hops}, {{node: server}}]\n");
        let planned = planned(&text, &PlanOptions::default());
        let found = planned.report.hot_spots.into_iter().find(|spot| spot.node == "server");
        found.expect("the firewall says enough").facts
    };
    let (firewall, counter) = ("{node: edge, on: [XDP_PASS]}", "{node: meter, on: [XDP_PASS]}");
    let direct = path(firewall);
    let named = |facts: &[FactReport], name: &str| {
        facts.iter().flat_map(|fact| &fact.established).filter(|line| line.program == name).count()
    };
    assert!(direct.iter().all(|fact| !fact.established.is_empty()), "{direct:?}");
    assert!(named(&direct, "firewall") > 1);
    let line = &direct[0].established[0];
    assert!(line.file.ends_with("firewall.bpf.c") && line.line > 0 && !line.text.is_empty());
    // The counter, which is in between, passes on all packets.
    assert_eq!(path(&format!("{firewall}, {counter}")), direct);
}

#[test]
fn where_packets_end_instead_is_said_once_and_with_what() {
    let text = THREE_WAYS.replace("{node: edge, on: [XDP_PASS]}", "{node: edge, on: [XDP_TX]}");
    let planned = planned(&text, &PlanOptions::default());
    let never = planned.report.paths[0].never.as_ref().expect("the firewall sends nothing back");
    let (_, ends) = never.split_once("never returns XDP_TX: ").expect("the note names places");
    let ends: Vec<&str> = ends.split(", ").collect();
    let different: BTreeSet<&str> = ends.iter().copied().collect();
    assert_eq!(different.len(), ends.len(), "{never}");
    let result = |end: &&str| end.rsplit(' ').next().expect("a word").to_owned();
    let results: BTreeSet<String> = ends.iter().map(result).collect();
    // The program aborts packets that are shorter than an Ethernet header.
    let all = ["XDP_ABORTED", "XDP_DROP", "XDP_PASS"].map(str::to_owned);
    assert_eq!(results, BTreeSet::from(all), "{never}");
}

#[test]
fn lines_of_several_ways_are_those_of_each() {
    let (nodes, _) = THREE_WAYS.split_once("paths:\n").expect("it has paths");
    let nodes = nodes.replace(
        "nodes:\n",
        "- {name: other, object: firewall.bpf.o}\nnodes:\n- {name: core, program: other}\n",
    );
    let text = format!(
        "{nodes}paths:
- hops: [{{node: edge, on: [XDP_PASS]}}, {{node: server, ingress: eth0}}]
- hops: [{{node: core, on: [XDP_PASS]}}, {{node: server, ingress: eth0}}]
"
    );
    let planned = planned(&text, &PlanOptions::default());
    for fact in &spots(&planned, "server")[0].facts {
        let lines = |name: &str| {
            let lines = fact.established.iter().filter(|line| line.program == name);
            lines.map(|line| (&line.file, line.line)).collect::<Vec<_>>()
        };
        assert_eq!(lines("firewall"), lines("other"));
        assert!(!lines("other").is_empty());
    }
}

#[test]
fn the_number_of_threads_changes_nothing() {
    let with = |threads| {
        let options = PlanOptions { threads, variants: 3, ..PlanOptions::default() };
        let Planned { mut report, objects } = computed(THREE_WAYS, &options);
        report.seconds = 0.0;
        (serde_json::to_string(&report).expect("plain data"), objects)
    };
    assert_eq!(with(1), with(4));
}

#[test]
fn without_time_nothing_is_looked_at() {
    let (topology, subjects) = topology(THREE_WAYS);
    let limits = Limits { time: Some(Duration::ZERO), ..Limits::default() };
    let options = PlanOptions::default();
    let planned = plan(&topology, &subjects, &options, &Stop::new(limits)).expect("it is complete");
    let mut nodes = planned.report.not_looked_at;
    nodes.sort();
    assert_eq!(nodes, ["edge", "meter", "server"]);
    assert!(planned.report.stopped.is_some() && planned.objects.is_empty());
}

#[test]
fn wherever_it_is_ended_what_there_is_holds() {
    let (topology, subjects) = topology(THREE_WAYS);
    let options = PlanOptions { variants: 3, ..PlanOptions::default() };
    for looks in [1, 300, 3000, 30_000] {
        let limits = Limits { polls: Some(looks), ..Limits::default() };
        let planned = plan(&topology, &subjects, &options, &Stop::new(limits)).expect("complete");
        for (spot, bytes) in planned.report.hot_spots.iter().zip(&planned.objects) {
            assert!(Object::parse(bytes).is_ok(), "{}", spot.variant);
            let known = spot.cost_before.zip(spot.cost_after);
            let exact = known.is_some_and(|(before, _)| before.exact);
            assert!(spot.gain.is_none() || exact, "{looks}: a gain that nobody has found out");
        }
    }
}

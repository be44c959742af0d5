//! Tests of XDP programs that get packets of many flows, in the running kernel.

use std::path::Path;
use std::time::Duration;

use slowpath_bpf::Object;
use slowpath_ingress::{IngressError, Program, TrafficSpec};
use slowpath_kernel::Kernel;
use slowpath_neighbours::{Mix, MixSpec, NeighbourError, Work, allowed_cpus};
use slowpath_oracle::Oracle;

const TRAFFIC: TrafficSpec = TrafficSpec {
    flows: 300,
    packet_bytes: 128,
    destination: None,
    destination_port: None,
    seed: 1,
};

fn kernel() -> Option<Kernel> {
    Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

fn object(name: &str) -> Object {
    let file = Path::new(env!("CARGO_MANIFEST_DIR")).join(name);
    Object::parse(&std::fs::read(file).expect("is there")).expect("is an object")
}

fn program(kernel: &Kernel, name: &str, traffic: &TrafficSpec) -> Result<Program, IngressError> {
    let object = object("tests/objects/packets.bpf.o");
    let number = object.programs.iter().position(|one| one.name == name).expect("is there");
    Program::new(kernel, (&object, number), traffic, &|| true)
}

#[test]
fn packets_of_all_flows_are_counted() {
    let Some(kernel) = kernel() else { return };
    let mut counts = program(&kernel, "counts", &TRAFFIC).expect("is run");
    let counted = |program: &Program| -> (usize, u64) {
        let sources = program.loaded().map("sources").expect("is there");
        let elements = sources.elements().expect("is read");
        let count = |value: &[u8]| u64::from_ne_bytes(value.try_into().expect("8 bytes"));
        (elements.len(), elements.iter().map(|(_, values)| count(&values[0])).sum())
    };
    let (flows, before) = counted(&counts);
    // The program drops packets with a wrong checksum.
    assert_eq!(flows, 300);
    for _ in 0..5 {
        counts.turn();
    }
    let [served] = counts.served()[..] else { panic!("one thread, no clients") };
    let after = counted(&counts);
    assert_eq!((after.0, after.1 - before), (300, served.items));
    assert_eq!(served.bytes, 128 * served.items);
    assert_eq!(counts.failure(), None);
}

#[test]
fn packets_that_get_longer_or_shorter_are_put_back() {
    let Some(kernel) = kernel() else { return };
    for name in ["encapsulates", "decapsulates", "cuts"] {
        let mut program =
            program(&kernel, name, &TRAFFIC).unwrap_or_else(|e| panic!("{name}: {e}"));
        program.turn();
        assert_eq!(program.failure(), None, "{name}");
        assert!(program.served()[0].items > 1000, "more than the buffer has room for: {name}");
    }
}

#[test]
fn programs_whose_packets_cannot_be_restored_are_refused() {
    let Some(kernel) = kernel() else { return };
    let grows = program(&kernel, "grows_some", &TRAFFIC).expect_err("differs by flow");
    assert!(matches!(grows, IngressError::Growth { one, other } if one + other == 8), "{grows}");
    let draws = program(&kernel, "draws", &TRAFFIC).expect_err("differs each time");
    assert!(matches!(draws, IngressError::NotRestorable), "{draws}");
    let none = program(&kernel, "counts", &TrafficSpec { flows: 0, ..TRAFFIC });
    assert!(matches!(none, Err(IngressError::Traffic { what: "flows", .. })));
    let object = object("tests/objects/packets.bpf.o");
    let stopped = Program::new(&kernel, (&object, 0), &TRAFFIC, &|| false);
    assert!(matches!(stopped, Err(IngressError::Stopped)));
}

#[test]
fn examples_get_packets() {
    let Some(kernel) = kernel() else { return };
    for name in ["flow_monitor", "count_min.4", "firewall", "ddos_filter", "header_parser"] {
        let object = object(&format!("../../examples/{name}.bpf.o"));
        let program = Program::new(&kernel, (&object, 0), &TRAFFIC, &|| true);
        let mut program = program.unwrap_or_else(|e| panic!("{name}: {e}"));
        program.turn();
        assert_eq!(program.failure(), None, "{name}");
        if name == "flow_monitor" {
            let flows =
                program.loaded().map("flows").expect("is there").elements().expect("is read");
            assert_eq!(flows.len(), 300);
        }
    }
}

#[test]
fn programs_run_beside_competitors() {
    let Some(kernel) = kernel() else { return };
    let cpus = allowed_cpus();
    let (one, other) = (cpus[0], cpus.get(1).copied().unwrap_or(cpus[0]));
    let spec = |work: usize| {
        let text = format!(
            r#"{{"subjects": [{{"kind": "given", "cpu": {one}, "work": {work}}}], "competitors":
            [{{"kind": "memory", "cpu": {other}, "bytes": 1000000, "touch": "updates"}}]}}"#
        );
        serde_json::from_str::<MixSpec>(&text).expect("fits")
    };
    let given = || -> Vec<Box<dyn Work>> {
        vec![Box::new(program(&kernel, "counts", &TRAFFIC).expect("is run"))]
    };
    let mix = match Mix::new(&spec(0), given()) {
        // The machine has only one CPU.
        Err(NeighbourError::Shared { .. }) if one == other => return,
        mix => mix.expect("fits"),
    };
    let time = Duration::from_millis(20);
    let block = mix.block(true, time, time, &|| true).expect("runs");
    assert_eq!(block.subjects.len(), 1);
    assert!(block.subjects[0].served[0].items > 0 && block.competitors[0].served[0].items > 0);
    // There is no work 1: `given` returns only work 0.
    assert!(matches!(Mix::new(&spec(1), given()), Err(NeighbourError::Unfit(_))));
}

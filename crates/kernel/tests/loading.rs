//! Tests of loading programs: relocations, types, tail calls, contexts and rejections.

use crate::support;

use slowpath_bpf::{MapDef, MapKind};
use slowpath_kernel::{Context, LoadError, RunError};
use slowpath_oracle::Oracle;
use support::{features, kernel, load, try_load};

const PACKET: [u8; 60] = [7; 60];

#[test]
fn programs_of_every_feature_load_and_run() {
    let Some(kernel) = kernel() else { return };
    let object = features();
    let expected = [
        ("answer", 4),
        ("tail_call", 4),
        ("globals", 3),
        ("spin_lock", 2),
        ("callback", 3),
        ("metadata", 2),
        ("longer", 3),
        ("fragments", 1),
    ];
    for (name, action) in expected {
        let run = load(&kernel, &object, name).run(&PACKET, 1);
        let run = run.unwrap_or_else(|e| panic!("{name}: {e}"));
        assert_eq!(run.return_value, action, "{name}");
    }
}

#[test]
fn kernel_types_and_functions_are_resolved() {
    let Some(kernel) = kernel() else { return };
    if kernel.types().is_none() {
        Oracle::KernelTypes.missing("the kernel does not tell its types (CONFIG_DEBUG_INFO_BTF)");
        return;
    }
    for name in ["core_field", "kernel_function"] {
        match try_load(&kernel, &features(), name) {
            Ok(loaded) => {
                assert_eq!(loaded.run(&PACKET, 1).expect("runs").return_value, 2);
                Oracle::KernelTypes.compared(1, "programs");
            }
            Err(reason @ LoadError::NoKernelFunction { .. }) => {
                Oracle::KernelTypes.missing(reason);
            }
            Err(fault) => panic!("{fault}"),
        }
    }
}

#[test]
fn packets_come_back_as_the_program_left_them() {
    let Some(kernel) = kernel() else { return };
    let object = features();
    let run = load(&kernel, &object, "longer").run(&PACKET, 1).expect("runs");
    assert_eq!(run.packet.len(), 20 + 60 + 10);
    assert_eq!(run.packet[20..80], PACKET);
    assert!(run.metadata.is_empty());
    let run = load(&kernel, &object, "metadata").run(&PACKET, 1).expect("runs");
    assert_eq!((run.packet.as_slice(), run.metadata.len()), (&PACKET[..], 4));
}

#[test]
fn metadata_and_device_can_be_given() {
    let Some(kernel) = kernel() else { return };
    let loaded = load(&kernel, &features(), "metadata");
    let context = Context { metadata: vec![1, 2, 3, 4], ..Context::default() };
    let run = loaded.run_in(&PACKET, 1, &context).expect("runs");
    assert_eq!(run.packet, PACKET);
    assert_eq!(run.metadata[4..], [1, 2, 3, 4]);
    assert_eq!(run.metadata[..4], 1u32.to_ne_bytes(), "the loopback device");
    let context = Context { metadata: vec![0; 3], ..Context::default() };
    let refused = loaded.run_in(&PACKET, 1, &context).expect_err("3 bytes of metadata");
    assert!(refused.to_string().contains("check metadata"), "{refused}");
}

#[test]
fn long_packets_run_in_fragments() {
    let Some(kernel) = kernel() else { return };
    let object = features();
    let packet: Vec<u8> = (0..9000u32).map(|n| n as u8).collect();
    let run = load(&kernel, &object, "fragments").run(&packet, 1).expect("runs");
    assert_eq!(run.return_value, 3);
    assert!(run.packet == packet, "{} bytes", run.packet.len());
}

#[test]
fn packets_without_a_header_are_refused() {
    let Some(kernel) = kernel() else { return };
    let loaded = load(&kernel, &features(), "answer");
    assert!(matches!(loaded.run(&[0; 13], 1), Err(RunError::TooShort { len: 13 })));
}

#[test]
fn the_verifiers_reason_is_in_the_error() {
    let Some(kernel) = kernel() else { return };
    let refused = try_load(&kernel, &features(), "rejected").expect_err("reads unchecked");
    let LoadError::Rejected { reason, log, .. } = &refused else { panic!("{refused}") };
    assert!(reason.contains("invalid access to packet"), "{reason}");
    assert!(log.contains("processed "), "{log}");
    let text = refused.to_string();
    assert!(text.starts_with("program rejected: the kernel's verifier says: "), "{text}");
    assert!(text.contains(" (instruction 1, ./features.bpf.c:265); "), "{text}");
    assert!(text.ends_with("with data_end on every path, with the pointer that is read"));
    assert_eq!(text.lines().count(), 1);
}

#[test]
fn mandatory_map_attributes_may_be_omitted() {
    let Some(kernel) = kernel() else { return };
    let mut object = features();
    for map in &mut object.maps {
        match map.kind {
            MapKind::LPM_TRIE => map.flags = 0,
            MapKind::PROG_ARRAY => (map.key_size, map.value_size) = (0, 0),
            _ => {}
        }
    }
    let loaded = load(&kernel, &object, "all_maps");
    let routes = loaded.map("routes").expect("is reachable").definition();
    assert_eq!(routes.flags, 1);
    let run = load(&kernel, &object, "tail_call").run(&PACKET, 1).expect("runs");
    assert_eq!(run.return_value, 4, "the array is filled");
}

#[test]
fn a_map_that_is_not_created_is_named_with_its_definition() {
    let Some(kernel) = kernel() else { return };
    let refused = |change: fn(&mut MapDef), expected: &str| {
        let mut object = features();
        let map = object.maps.iter_mut().find(|map| map.name == "table");
        change(map.expect("there is a map table"));
        let text = try_load(&kernel, &object, "all_maps").expect_err("no such map").to_string();
        assert!(text.starts_with("map table ("), "{text}");
        assert!(text.contains(expected), "{text}");
        assert_eq!(text.lines().count(), 1);
    };
    refused(|map| map.key_size = 0, "hash, key 0 bytes, value 8,");
    refused(|map| map.max_entries = 0, "its own loader chooses the number of elements");
    refused(|map| map.kind = MapKind(9999), "try a newer kernel, which may have this type");
}

#[test]
fn other_types_of_programs_are_refused() {
    let Some(kernel) = kernel() else { return };
    let refused = try_load(&kernel, &features(), "classifier").expect_err("not XDP");
    assert!(matches!(refused, LoadError::NotXdp { .. }), "{refused}");
    let loaded = load(&kernel, &features(), "on_devmap");
    let refused = loaded.run(&PACKET, 1).expect_err("runs on a devmap only");
    assert!(refused.to_string().contains("devmaps"), "{refused}");
}

#[test]
fn numbers_of_programs_are_checked() {
    let Some(kernel) = kernel() else { return };
    let refused = kernel.load(&features(), 999).expect_err("no such program");
    assert!(matches!(refused, LoadError::Object(_)), "{refused}");
}

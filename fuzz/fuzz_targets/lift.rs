//! Fuzzes lifting and compilation with programs of real objects whose instructions are changed.
//! Every input must be exactly one of
//!
//! - an object, each of whose programs is either lifted or refused with a message of one line, and
//!   likewise either compiled for the SmartNIC or refused. A lifted program is well formed and its
//!   layout refers to its regions; compiled instructions can be encoded and decoded;
//! - an error of one line.
//!
//! The first byte of the input chooses the object, and each later group of eight bytes changes an
//! instruction. After a first byte of 255, the rest of the input is an object itself.

#![no_main]

use libfuzzer_sys::fuzz_target;
use object::{Object as _, ObjectSection, SectionKind};
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Lifted, lift};
use slowpath_nfp::{CompileOptions, Compiled, MapAbi, compile, word};

const OBJECTS: [&[u8]; 14] = [
    include_bytes!("../../crates/bpf/tests/data/features.bpf.o"),
    include_bytes!("../../crates/bpf/tests/data/legacy.bpf.o"),
    include_bytes!("../../crates/bpf/tests/data/core.bpf.o"),
    include_bytes!("../../crates/bpf/tests/data/text.bpf.o"),
    include_bytes!("../../crates/kernel/tests/objects/features.bpf.o"),
    include_bytes!("../../examples/alaw2ulaw.bpf.o"),
    include_bytes!("../../examples/count_min.4.bpf.o"),
    include_bytes!("../../examples/dns_cache.bpf.o"),
    include_bytes!("../../examples/firewall.bpf.o"),
    include_bytes!("../../examples/flow_monitor.bpf.o"),
    include_bytes!("../../examples/header_parser.bpf.o"),
    include_bytes!("../../examples/ipv6_lb.bpf.o"),
    include_bytes!("../../examples/quic_lb_ipv6.bpf.o"),
    include_bytes!("../../examples/tunnel.bpf.o"),
];

fuzz_target!(|input: &[u8]| {
    let Some((&which, rest)) = input.split_first() else { return };
    let data = match which {
        255 => rest.to_vec(),
        _ => changed(OBJECTS[usize::from(which) % OBJECTS.len()], rest),
    };
    let object = match Object::parse(&data) {
        Ok(object) => object,
        Err(error) => return one_line(&error),
    };
    for number in 0..object.programs.len() {
        let program = match object.link(number, object.btf.as_ref()) {
            Ok(program) => program,
            Err(error) => {
                one_line(&error);
                continue;
            }
        };
        match lift(&object, &program, &LiftOptions::default()) {
            Ok(lifted) => check(&lifted),
            Err(error) => one_line(&error),
        }
        for map_abi in [MapAbi::ArrayPointer, MapAbi::Call] {
            match compile(
                &object,
                &program,
                &CompileOptions { map_abi, ..CompileOptions::default() },
            ) {
                Ok(compiled) => check_compiled(&compiled),
                Err(error) => one_line(&error),
            }
        }
    }
});

fn check_compiled(compiled: &Compiled) {
    let text = compiled.listing.to_string();
    let parsed = slowpath_nfp::parse(&text).expect("the listing can be read");
    assert!(parsed == compiled.listing, "{text}");
    assert_eq!(compiled.origins.len(), compiled.listing.len());
    for insn in compiled.listing.insns() {
        let encoded = word::encode(insn).map(word::decode);
        assert!(matches!(encoded, Ok(Ok(back)) if back == *insn), "{insn}: {encoded:?}");
    }
    if let Err(error) = slowpath_nfp::lift(&compiled.listing, "fuzzed", &Default::default()) {
        one_line(&error);
    }
}

/// Returns an object in which instructions are changed. Each group of eight bytes of `changes`
/// changes one instruction.
fn changed(object: &[u8], changes: &[u8]) -> Vec<u8> {
    let mut data = object.to_vec();
    let Ok(file) = object::File::parse(object) else { return data };
    let code = file.sections().filter(|section| section.kind() == SectionKind::Text);
    let ranges = code.filter_map(|section| section.file_range());
    let words: Vec<usize> = ranges
        .flat_map(|(start, size)| (start..start + size).step_by(8))
        .map(|at| at as usize)
        .collect();
    if words.is_empty() {
        return data;
    }
    for change in changes.as_chunks::<8>().0 {
        let place =
            |low: u8, high: u8| words[usize::from(u16::from_le_bytes([low, high])) % words.len()];
        let at = place(change[0], change[1]);
        let value = &change[3..];
        match change[2] % 8 {
            0 => data[at] = value[0],
            1 => data[at + 1] = value[0],
            2 => data[at + 2..at + 4].copy_from_slice(&value[..2]),
            3 => data[at + 4..at + 8].copy_from_slice(&value[..4]),
            // Short jump distances and small constants.
            4 => data[at + 2..at + 4].copy_from_slice(&i16::from(value[0] as i8).to_le_bytes()),
            5 => data[at + 4..at + 8].copy_from_slice(&i32::from(value[0] as i8).to_le_bytes()),
            6 => {
                let from = place(value[0], value[1]);
                data.copy_within(from..from + 8, at);
            }
            _ => data[at..at + 8]
                .copy_from_slice(&[value[0], value[1], value[2], 0, value[3], 0, 0, 0]),
        }
    }
    data
}

fn one_line(error: &dyn std::fmt::Display) {
    let error = error.to_string();
    assert_eq!(error.lines().count(), 1, "{error}");
}

fn check(lifted: &Lifted) {
    assert_eq!(lifted.program.validate(), Ok(()));
    assert_eq!(lifted.program.insns.len(), lifted.lines.len());
    let regions = lifted.program.regions.len();
    for map in &lifted.layout.maps {
        let all = [Some(map.values), map.present, map.identity];
        assert!(all.into_iter().flatten().all(|region| region.index() < regions));
    }
    for assumption in &lifted.program.assumptions {
        assert_eq!(assumption.lines().count(), 1, "{assumption}");
    }
}

//! Tests the records of frames that are sent over virtual Ethernet. For programs that depend on
//! neither headroom nor tailroom, a record must equal the result of a test run.

use crate::support;

use slowpath_kernel::{Mode, Namespace, VethChain};
use slowpath_oracle::Oracle;
use support::{kernel, object, path};

/// Names of example programs that neither read the time nor make packets longer.
const EXAMPLES: [&str; 5] = ["alaw2ulaw", "ddos_filter", "firewall", "header_parser", "ipv6_lb"];

/// Returns the shared test packets, cut or extended to several lengths.
fn frames() -> Vec<Vec<u8>> {
    let mut frames = Vec::new();
    for (_, packet) in support::packets() {
        for length in [14, 15, 60, packet.len(), 1514] {
            let mut frame = packet.clone();
            frame.resize(length.max(14), 0x5a);
            frames.push(frame);
        }
    }
    frames
}

#[test]
fn records_are_equal_to_test_runs() {
    let Some(kernel) = kernel() else { return };
    if let Err(reason) = Namespace::new() {
        return Oracle::Kernel.missing(reason);
    }
    let mut compared = 0;
    for name in EXAMPLES {
        let object = object(&path(&format!("../../examples/{name}.bpf.o")));
        for mode in [Mode::Native, Mode::Generic] {
            let tested = kernel.load(&object, 0).unwrap_or_else(|e| panic!("{name}: {e}"));
            let mut chain =
                VethChain::new(&kernel, mode, 1500, false).unwrap_or_else(|e| panic!("{e}"));
            let program = chain.load(&kernel, (&object, 0), &[], &[]);
            let program = program.unwrap_or_else(|e| panic!("{name}: {e}"));
            chain.attach(&program).unwrap_or_else(|e| panic!("{name}: {e}"));
            for frame in frames() {
                let run = tested.run(&frame, 1).unwrap_or_else(|e| panic!("{name}: {e}"));
                let sent = chain.send(&frame).unwrap_or_else(|e| panic!("{name}: {e}"));
                let record = sent.unwrap_or_else(|| panic!("{name}: {} bytes", frame.len()));
                let recorded = (record.program, record.run.return_value, &record.run.packet);
                assert_eq!(recorded, (0, run.return_value, &run.packet), "{name}, {mode:?}");
                assert_eq!(record.run.metadata, run.metadata, "{name}, {mode:?}");
                compared += 1;
            }
        }
    }
    Oracle::Kernel.compared(compared, "records of frames");
}

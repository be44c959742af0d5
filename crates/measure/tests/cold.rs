//! Packets of many flows: enough flows are found, all of them take the path, and errors have the
//! reason. Times are not tested.

use crate::assembled;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::{Case, Cold, Load, MeasureError};
use slowpath_oracle::Oracle;

use assembled::{ADD, EXIT, insn, object, result};

/// The firewall's program, with a timing thread to measure it.
struct Bed {
    kernel: Arc<Kernel>,
    timing_thread: TimingThread,
    object: Arc<Object>,
}

impl Bed {
    fn new() -> Option<Bed> {
        let kernel = Kernel::available().map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
        let timing_thread =
            TimingThread::start(None).map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
        let file = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/firewall.bpf.o");
        let object = Object::parse(&std::fs::read(file).expect("is there")).expect("is an object");
        Some(Bed { kernel: Arc::new(kernel), timing_thread, object: Arc::new(object) })
    }

    /// Replaces the program.
    fn with(self, object: Arc<Object>) -> Bed {
        Bed { object, ..self }
    }

    fn case(&self, packet: &[u8], maps: &Value) -> Arc<Case> {
        let digits: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
        let witness = json!({ "packet": digits, "maps": maps });
        let case = Case::prepare(&self.timing_thread, &self.kernel, &self.object, 0, witness, None);
        Arc::new(case.unwrap_or_else(|e| panic!("{e}")))
    }

    fn find(&self, case: &Arc<Case>, cache_bytes: u64) -> Result<Cold, MeasureError> {
        Cold::find(&self.timing_thread, &self.kernel, case, cache_bytes)
    }
}

/// Builds a TCP packet over IPv4.
fn packet() -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0, 0, 40, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend([4, 0, 1, 187]);
    packet.resize(64, 0);
    packet
}

/// Bytes that a miss touches in the rules, which are a hash map; a miss in a trie touches none.
const BUCKET: u64 = 16;

#[test]
fn there_are_as_many_flows_as_it_takes() {
    let Some(bed) = Bed::new() else { return };
    let case = bed.case(&packet(), &json!({}));
    let mut compared = 0;
    for cache_bytes in [4 << 10, 16 << 10, 64 << 10] {
        let cold = bed.find(&case, cache_bytes).unwrap_or_else(|e| panic!("{e}"));
        let flows = cold.flows();
        assert!(flows.is_power_of_two());
        assert_eq!(cold.limited(), None);
        assert_eq!(cold.entry_bytes(), flows as u64 * BUCKET);
        assert!(cold.entry_bytes() >= 2 * cache_bytes, "{flows}");
        assert!(cold.entry_bytes() / 2 < 2 * cache_bytes, "{flows} are more than it takes");
        assert_eq!(cold.rotation().count(), Some(flows));
        let rows = cold.rotation().rows.chunks(cold.rotation().row());
        assert_eq!(rows.collect::<std::collections::BTreeSet<_>>().len(), flows);
        compared += flows;
    }
    Oracle::Kernel.compared(compared, "packets of flows");
}

#[test]
fn a_map_without_room_for_more_is_said() {
    let Some(bed) = Bed::new() else { return };
    let cold =
        bed.find(&bed.case(&packet(), &json!({})), 64 << 20).unwrap_or_else(|e| panic!("{e}"));
    let why = cold.limited().expect("is limited");
    assert!(why.contains("fit into the last-level cache of 67108864 bytes"), "{why}");
    assert!(cold.flows() <= 16384, "it has no more buckets");
    assert_eq!(cold.entry_bytes(), cold.flows() as u64 * BUCKET);
    Oracle::Kernel.compared(cold.flows(), "packets of flows");
}

#[test]
fn loads_have_the_elements_of_all_flows() {
    let Some(bed) = Bed::new() else { return };
    let case = bed.case(&packet(), &json!({}));
    let cold = Arc::new(bed.find(&case, 64 << 10).unwrap_or_else(|e| panic!("{e}")));
    let load =
        Load::cold(&bed.timing_thread, &bed.kernel, vec![Arc::clone(&cold), Arc::clone(&cold)]);
    let load = Arc::new(load.unwrap_or_else(|e| panic!("{e}")));
    let repeat = u32::try_from(2 * cold.flows()).expect("fits");
    // Each case is followed by an empty program with the path's action, which is to pass packets.
    for number in 0..4 {
        let sample =
            load.sample(&bed.timing_thread, number, repeat).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(sample.return_value, case.action(), "{number}");
    }
    assert!(load.sample(&bed.timing_thread, 4, 1).is_err());
    Oracle::Kernel.compared(4 * repeat as usize, "packets of flows");
}

#[test]
fn why_there_are_no_flows_is_said() {
    let Some(bed) = Bed::new() else { return };
    // Neither TCP nor UDP, so no map is looked up.
    let case = bed.case(&[0; 64], &json!({}));
    let refused = bed.find(&case, 1 << 20).expect_err("looks nothing up");
    assert!(matches!(refused, MeasureError::NotCold { .. }), "{refused}");
    assert!(refused.to_string().contains("nothing that it finds in maps differs"), "{refused}");
    Oracle::Kernel.compared(1, "refusals of flows");
}

/// Looks up two words of the packet, at these offsets, in one hash map; drops the packet on a miss.
fn twice(offsets: [i16; 2]) -> Arc<Object> {
    let mut insns = vec![
        insn(0x61, 8, 1, 0, 0),
        insn(0x61, 2, 1, 4, 0),
        insn(0xbf, 3, 8, 0, 0),
        insn(ADD, 3, 0, 0, 64),
        insn(0xbd, 3, 2, 2, 0),
        result(1),
        EXIT,
    ];
    for offset in offsets {
        insns.extend([
            insn(0x61, 1, 8, offset, 0),
            insn(0x63, 10, 1, -4, 0),
            insn(0xbf, 2, 10, 0, 0),
            insn(ADD, 2, 0, 0, -4),
            insn(0x18, 1, 0, 0, 0),
            insn(0, 0, 0, 0, 0),
            insn(0x85, 0, 0, 0, 1),
            insn(0x55, 0, 0, 2, 0),
            result(1),
            EXIT,
        ]);
    }
    insns.extend([result(3), EXIT]);
    object([1, 4, 8, 1 << 16], &insns)
}

#[test]
fn look_ups_for_one_element_are_told_apart() {
    let Some(bed) = Bed::new() else { return };
    let bed = bed.with(twice([26, 30]));
    let element = json!({ "key": "00000000", "value": "0100000000000000" });
    let maps = json!({ "counters": [element] });
    let case = bed.case(&[0; 64], &maps);
    assert_eq!(case.action(), 3, "both are found");
    let cold = bed.find(&case, 256 << 10).unwrap_or_else(|e| panic!("{e}"));
    assert!(cold.flows() >= 1024, "{}", cold.flows());
    let word = |packet: &[u8], at: usize| packet[at..at + 4].to_vec();
    let mut both = 0;
    for row in cold.rotation().rows.chunks(cold.rotation().row()) {
        let mut packet = vec![0; 64];
        let mut from = 0;
        for &(at, len) in &cold.rotation().places {
            let (at, len) = (at as usize, len as usize);
            packet[at..at + len].copy_from_slice(&row[from..from + len]);
            from += len;
        }
        both += usize::from(word(&packet, 26) != word(&packet, 30));
    }
    assert_eq!(both, cold.flows(), "each looks for two elements");
    Oracle::Kernel.compared(cold.flows(), "packets of flows");
}

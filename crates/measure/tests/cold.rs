//! Tests timing with cold caches on packets of many flows. Enough flows must be found, all of them
//! must take the path, and errors must contain the reason. Times are not tested.

use crate::support;

use std::collections::BTreeSet;
use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::{Case, Cold, Load, MeasureError};
use slowpath_oracle::Oracle;
use support::assembled::{ADD, EXIT, insn, object, result};
use support::{DROP, TX, prepare, witness};

/// The example program `firewall`, with a timing thread that measures it.
struct Setup {
    kernel: Arc<Kernel>,
    timing_thread: TimingThread,
    object: Arc<Object>,
}

impl Setup {
    fn new() -> Option<Setup> {
        let (timing_thread, kernel) = support::timing_thread()?;
        Some(Setup { kernel, timing_thread, object: support::example("firewall") })
    }

    fn with(self, object: Arc<Object>) -> Setup {
        Setup { object, ..self }
    }

    fn case(&self, packet: &[u8], maps: &Value) -> Arc<Case> {
        let witness = witness(packet, maps, &json!([]));
        let case = prepare(&self.timing_thread, &self.kernel, (&self.object, 0), witness);
        Arc::new(case.unwrap_or_else(|e| panic!("{e}")))
    }

    fn find(&self, case: &Arc<Case>, cache_bytes: u64) -> Result<Cold, MeasureError> {
        Cold::find(&self.timing_thread, &self.kernel, case, cache_bytes)
    }
}

fn packet() -> Vec<u8> {
    support::packet(6, [1024, 443], 64)
}

/// Returns the bytes that the rotation writes for flow number `number`, in a packet of zeros.
fn written(cold: &Cold, number: usize) -> Vec<u8> {
    let mut packet = vec![0; 64];
    cold.rotation().write(number, &mut packet);
    packet
}

/// Number of bytes of memory that a failing lookup in the firewall's hash map touches: a bucket and
/// another element.
const IN_HASH: u64 = 16 + 64;
/// Number of bytes of memory that a failing lookup in the firewall's trie touches.
const IN_TRIE: u64 = 64;
/// Maximum number of elements of the firewall's trie.
const PREFIXES: u64 = 1024;

#[test]
fn flows_exceed_the_cache_twice() {
    let Some(setup) = Setup::new() else { return };
    let case = setup.case(&packet(), &json!({}));
    let mut compared = 0;
    for cache_bytes in [4 << 10, 16 << 10, 64 << 10] {
        let cold = setup.find(&case, cache_bytes).unwrap_or_else(|e| panic!("{e}"));
        let flows = cold.flows();
        assert!(flows.is_power_of_two());
        assert_eq!(cold.limited(), None);
        assert_eq!(cold.entry_bytes(), flows as u64 * (IN_HASH + IN_TRIE));
        assert!(cold.entry_bytes() >= 2 * cache_bytes, "{flows}");
        assert!(cold.entry_bytes() / 2 < 2 * cache_bytes, "{flows} are more than it takes");
        assert_eq!(cold.rotation().count(), Some(flows));
        let packets: BTreeSet<Vec<u8>> = (0..flows).map(|number| written(&cold, number)).collect();
        assert_eq!(packets.len(), flows);
        compared += flows;
    }
    Oracle::Kernel.compared(compared, "packets of flows");
}

#[test]
fn small_maps_limit_the_flows_with_a_reason() {
    let Some(setup) = Setup::new() else { return };
    let cold =
        setup.find(&setup.case(&packet(), &json!({})), 64 << 20).unwrap_or_else(|e| panic!("{e}"));
    let reason = cold.limited().expect("is limited");
    assert!(reason.contains("fit into the last-level cache of 67108864 bytes"), "{reason}");
    assert!(cold.flows() <= 16384, "it has no more buckets");
    assert_eq!(cold.entry_bytes(), cold.flows() as u64 * IN_HASH + PREFIXES * IN_TRIE);
    Oracle::Kernel.compared(cold.flows(), "packets of flows");
}

#[test]
fn loads_have_the_elements_of_all_flows() {
    let Some(setup) = Setup::new() else { return };
    let case = setup.case(&packet(), &json!({}));
    let cold = Arc::new(setup.find(&case, 64 << 10).unwrap_or_else(|e| panic!("{e}")));
    let load =
        Load::cold(&setup.timing_thread, &setup.kernel, vec![Arc::clone(&cold), Arc::clone(&cold)]);
    let load = Arc::new(load.unwrap_or_else(|e| panic!("{e}")));
    let repeat = u32::try_from(2 * cold.flows()).expect("fits");
    // Each case is followed by an empty program with the path's action, which is to pass packets.
    for number in 0..4 {
        let sample =
            load.sample(&setup.timing_thread, number, repeat).unwrap_or_else(|e| panic!("{e}"));
        assert_eq!(sample.return_value, case.action(), "{number}");
    }
    assert!(load.sample(&setup.timing_thread, 4, 1).is_err());
    Oracle::Kernel.compared(4 * repeat as usize, "packets of flows");
}

#[test]
fn paths_without_look_ups_are_refused() {
    let Some(setup) = Setup::new() else { return };
    // Neither TCP nor UDP, so no map is looked up.
    let case = setup.case(&[0; 64], &json!({}));
    let refused = setup.find(&case, 1 << 20).expect_err("has no look-up");
    assert!(matches!(refused, MeasureError::NotCold { .. }), "{refused}");
    assert!(
        refused.to_string().contains("the lookups of the path do not differ between flows"),
        "{refused}"
    );
    Oracle::Kernel.compared(1, "refusals of flows");
}

/// Builds a program that looks up two words of the packet, at the given offsets, in a hash map. The
/// program drops the packet if the map does not contain both words.
fn two_look_ups(offsets: [i16; 2]) -> Arc<Object> {
    let mut insns = vec![
        insn(0x61, 8, 1, 0, 0),
        insn(0x61, 2, 1, 4, 0),
        insn(0xbf, 3, 8, 0, 0),
        insn(ADD, 3, 0, 0, 64),
        insn(0xbd, 3, 2, 2, 0),
        result(DROP),
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
            result(DROP),
            EXIT,
        ]);
    }
    insns.extend([result(TX), EXIT]);
    object([1, 4, 8, 1 << 16], &insns)
}

#[test]
fn look_ups_of_one_element_get_separate_elements() {
    let Some(setup) = Setup::new() else { return };
    let setup = setup.with(two_look_ups([26, 30]));
    let element = json!({ "key": "00000000", "value": "0100000000000000" });
    let maps = json!({ "counters": [element] });
    let case = setup.case(&[0; 64], &maps);
    assert_eq!(case.action(), TX, "both are found");
    let cold = setup.find(&case, 256 << 10).unwrap_or_else(|e| panic!("{e}"));
    assert!(cold.flows() >= 1024, "{}", cold.flows());
    let word = |packet: &[u8], at: usize| packet[at..at + 4].to_vec();
    let mut differing = 0;
    for number in 0..cold.flows() {
        let packet = written(&cold, number);
        differing += usize::from(word(&packet, 26) != word(&packet, 30));
    }
    assert_eq!(differing, cold.flows(), "each looks for two elements");
    Oracle::Kernel.compared(cold.flows(), "packets of flows");
}

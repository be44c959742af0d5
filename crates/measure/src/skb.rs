//! Decides how runs of tc programs are repeated: finds the changes of a run to the `struct sk_buff`
//! of its packet, and a way to undo them.
//!
//! Test runs do not return all changes, and some changes do not lead to another path. But a run
//! that finds the tag or the hash of an earlier run can take another time on the same path.
//! Therefore the changes are derived from the helpers that the path calls, and from the packet's
//! length.
//!
//! Source: `bpf_prog_test_run_skb` of `net/bpf/test_run.c`, and `net/core/filter.c`.

use std::collections::BTreeSet;
use std::ops::Range;

use slowpath_bpf::insn::{Call, Insn, helper_name};
use slowpath_bpf::lift::Lifted;
use slowpath_bpf::{Object, SCHED_CLS};
use slowpath_ir::CostEvent;
use slowpath_kernel::timing::SkbUndo;
use slowpath_kernel::witness::ANY;
use slowpath_replay::Effects;

/// Helpers that move the start or end of a packet, or change its VLAN tag, without the prefix
/// `bpf_`.
const GEOMETRY: [&str; 6] = [
    "skb_adjust_room",
    "skb_change_head",
    "skb_change_proto",
    "skb_change_tail",
    "skb_vlan_pop",
    "skb_vlan_push",
];
/// Helpers after which the packet has a hash.
const HASHES: [&str; 2] = ["get_hash_recalc", "set_hash"];
/// Helper that sends a copy of the packet.
const CLONE: &str = "clone_redirect";

/// Length of an Ethernet header in bytes.
const ETH_HLEN: usize = 14;
/// EtherTypes for which the kernel makes test runs only if the packet contains the whole network
/// header. Each pair also contains the length of this header in bytes.
const HEADERS: [([u8; 2], usize); 2] = [([0x08, 0x00], 20), ([0x86, 0xdd], 40)];

/// Lengthens a packet to the minimum length with which the kernel makes test runs of tc programs
/// for its EtherType. Counting shows whether the path depends on the length.
pub fn lengthen(packet: &mut Vec<u8>) {
    let header = HEADERS.iter().find(|(ty, _)| packet.get(12..ETH_HLEN) == Some(ty));
    let shortest = ETH_HLEN + header.map_or(1, |&(_, length)| length);
    if (ETH_HLEN..shortest).contains(&packet.len()) {
        packet.resize(shortest, ANY);
    }
}

/// Changes that a run makes to the `struct sk_buff` of its packet.
#[derive(Clone, Debug, Default)]
pub struct SkbRun {
    /// Names of the helpers that the run called, without `bpf_`. If the path is unknown, all
    /// helpers that the program may call.
    pub calls: BTreeSet<String>,
    /// Length of the packet in bytes, before and after the run.
    pub lengths: (usize, usize),
}

impl SkbRun {
    /// Returns the names of the helpers that a run called, without `bpf_`. `costs` are the cost
    /// events of the run.
    pub fn calls(lifted: &Lifted, costs: &[CostEvent]) -> BTreeSet<String> {
        let classes = &lifted.program.cost_classes;
        let name = |event: &CostEvent| {
            let called = classes.get(event.class.index())?.strip_prefix("call.")?;
            Some(called.split('.').next().unwrap_or(called).to_owned())
        };
        costs.iter().filter_map(name).collect()
    }

    /// Returns the names of all helpers that a program calls. If it contains tail calls, includes
    /// the helpers of all programs of the object.
    pub fn all_calls(object: &Object, program: usize) -> BTreeSet<String> {
        let own = SkbRun::calls_of(object, program..program + 1);
        if own.contains("tail_call") {
            SkbRun::calls_of(object, 0..object.programs.len())
        } else {
            own
        }
    }

    fn calls_of(object: &Object, programs: Range<usize>) -> BTreeSet<String> {
        let linked = programs.filter_map(|number| object.link(number, None).ok());
        let name = |insn: &Insn| match *insn {
            Insn::Call(Call::Helper(number)) => {
                helper_name(number).map(|name| name.trim_start_matches("bpf_").to_owned())
            }
            _ => None,
        };
        linked.flat_map(|program| program.insns).filter_map(|insn| name(&insn)).collect()
    }

    fn calls_any(&self, names: &[&str]) -> bool {
        names.iter().any(|name| self.calls.contains(*name))
    }

    /// Returns the called helpers that can change the packet's length or tag.
    fn geometry(&self) -> Vec<&str> {
        GEOMETRY.into_iter().filter(|name| self.calls.contains(*name)).collect()
    }

    /// Returns the steps with which a wrapper undoes the changes of a run. `effects` are the
    /// changes that the interpreter knows.
    ///
    /// # Errors
    /// The reason, if no wrapper can undo the changes.
    pub fn undo(&self, effects: &Effects) -> Result<SkbUndo, String> {
        if self.calls.contains(CLONE) {
            return Err("bpf_clone_redirect sends a copy of the packet in every run".to_owned());
        }
        let (before, after) = self.lengths;
        let geometry = self.geometry();
        let mut undo = SkbUndo { hashed: self.calls_any(&HASHES), ..SkbUndo::default() };
        let number = |length: usize| i32::try_from(length).unwrap_or(i32::MAX);
        match geometry[..] {
            // Removing a tag has no effect on a packet without one.
            ["skb_vlan_push"] | ["skb_vlan_pop", "skb_vlan_push"] if before == after => {
                undo.pushed_tag = true;
            }
            [] | [_] if before == after => {}
            ["skb_adjust_room"] => undo.room = number(after) - number(before),
            ["skb_change_tail"] => undo.length = Some(number(before)),
            _ => {
                let names: Vec<String> =
                    geometry.iter().map(|name| format!("bpf_{name}")).collect();
                let names = names.join(", ");
                return Err(format!("changes of the packet's length by {names} cannot be undone"));
            }
        }
        for &(name, value) in &effects.fields {
            match SCHED_CLS.field(name) {
                Some(_) if name == "pkt_type" => undo.packet_type = i32::try_from(value).ok(),
                Some(field) => undo.fields.push((*field, value)),
                None => {}
            }
        }
        Ok(undo)
    }

    /// Returns true if a run leaves a state that may change the time of the next run on the same
    /// path.
    pub fn leaves_state(&self) -> bool {
        self.lengths.0 != self.lengths.1
            || self.calls_any(&HASHES)
            || self.calls_any(&["skb_vlan_push", CLONE])
    }
}

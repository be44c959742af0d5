//! What a run does to a packet.

use slowpath_exec::concrete::Run;
use slowpath_ir::RegionId;

use super::{Twin, hex};

/// What a run did to a packet.
#[derive(Debug, PartialEq, Eq)]
pub struct Outcome {
    pub action: u32,
    pub packet: Vec<u8>,
    pub metadata: Vec<u8>,
}

impl Twin {
    pub(super) fn outcome(&self, run: &Run) -> Outcome {
        let layout = &self.lifted.layout;
        let byte = |region: RegionId, offset: u64| self.byte(run, (region, offset));
        let word = |region: RegionId, offset: u64| {
            u32::from_le_bytes([0, 1, 2, 3].map(|n| byte(region, offset + n)))
        };
        let field = |offset: u64| u64::from(word(layout.context, offset));
        let base = run.regs[self.lifted.program.regions[layout.packet.index()].base.index()];
        let (data, end, meta) = (field(0), field(4), field(8));
        let between = |from: u64, to: u64| {
            (from..to).map(|address| byte(layout.packet, address.wrapping_sub(base))).collect()
        };
        Outcome {
            action: word(layout.result, 0),
            packet: between(data, end),
            metadata: between(meta, data),
        }
    }
}

pub(super) fn bytes_match(theirs: &[u8], ours: &[u8], other: &[u8]) -> bool {
    if ours.len() != other.len() {
        return true;
    }
    let expected = ours.iter().zip(other);
    theirs.len() == ours.len() && theirs.iter().zip(expected).all(|(t, (a, b))| a != b || t == a)
}

/// How outcomes differ, in a few words.
pub(super) fn differing_outcome(
    theirs: &Outcome,
    ours: &Outcome,
    other: Option<&Outcome>,
) -> Option<String> {
    let other = other.unwrap_or(ours);
    let same = (ours.action != other.action || ours.action == theirs.action)
        && bytes_match(&theirs.packet, &ours.packet, &other.packet)
        && bytes_match(&theirs.metadata, &ours.metadata, &other.metadata);
    if same {
        return None;
    }
    let shape =
        |o: &Outcome| format!("{} ({}+{} bytes)", o.action, o.metadata.len(), o.packet.len());
    let first = theirs.packet.iter().zip(&ours.packet).position(|(a, b)| a != b);
    let byte = first.map_or(String::new(), |at| {
        let there = |o: &Outcome| hex(&o.packet[at..o.packet.len().min(at + 16)]);
        format!("; from byte {at}: {}, {}", there(theirs), there(ours))
    });
    Some(format!("action {} in the kernel, {} here{byte}", shape(theirs), shape(ours)))
}

//! Effects of a run on its packet.

use serde::{Serialize, Serializer};
use slowpath_exec::concrete::Run;
use slowpath_ir::RegionId;
use slowpath_kernel::TestRun;

use crate::pair::{Pair, hex};

/// Result of a run for its packet.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Return value of the program.
    pub action: u32,
    /// The packet after the run.
    #[serde(serialize_with = "digits")]
    pub packet: Vec<u8>,
    /// The metadata in front of the packet after the run.
    #[serde(serialize_with = "digits")]
    pub metadata: Vec<u8>,
}

/// Serialises bytes as hexadecimal digits.
pub fn digits<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(bytes))
}

impl From<TestRun> for Outcome {
    fn from(run: TestRun) -> Outcome {
        Outcome { action: run.return_value, packet: run.packet, metadata: run.metadata }
    }
}

impl Pair {
    /// Returns the result of a run of the interpreter.
    pub fn outcome(&self, run: &Run) -> Outcome {
        let layout = &self.lifted.layout;
        let byte = |region: RegionId, offset: u64| self.byte(Some(run), (region, offset));
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

    /// Returns how far a run of the interpreter moved start and end of the packet, in bytes. The
    /// start of the metadata is relative to the old start of the packet.
    pub fn moved(&self, run: &Run, length: usize) -> Moved {
        let context = self.lifted.layout.context;
        let field = |offset: u64| {
            let bytes = [0, 1, 2, 3].map(|n| self.byte(Some(run), (context, offset + n)));
            i64::from(u32::from_le_bytes(bytes))
        };
        let base =
            run.regs[self.lifted.program.regions[self.lifted.layout.packet.index()].base.index()];
        let start = i64::from(base as u32);
        Moved {
            head: field(0) - start,
            tail: field(4) - start - length as i64,
            metadata: field(8) - start,
        }
    }
}

/// Moves of the ends of a packet by a run, in bytes; negative towards the front.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Move of the first byte.
    pub head: i64,
    /// Move of the end.
    pub tail: i64,
    /// Move of the start of the metadata, which is the start of the packet before the run.
    pub metadata: i64,
}

/// Returns true if bytes are as expected. Where the two expectations differ, any byte is accepted.
pub fn bytes_match(theirs: &[u8], ours: &[u8], other: &[u8]) -> bool {
    if ours.len() != other.len() {
        return true;
    }
    let expected = ours.iter().zip(other);
    theirs.len() == ours.len() && theirs.iter().zip(expected).all(|(t, (a, b))| a != b || t == a)
}

/// Describes the difference between outcomes in a few words.
pub fn differing_outcome(
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

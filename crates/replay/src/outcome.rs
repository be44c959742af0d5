//! Describes the return value and the packet that a run leaves, and compares them between kernel
//! and interpreter.

use std::collections::BTreeMap;

use serde::{Serialize, Serializer};
use slowpath_bpf::Access;
use slowpath_exec::concrete::Run;
use slowpath_ir::RegionId;
use slowpath_kernel::{SETTABLE, TestRun};

use crate::pair::{Pair, hex};

/// Return value of a program's run, and the packet that the run left.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Outcome {
    /// Return value of the program.
    pub action: u32,
    /// The packet after the run.
    #[serde(serialize_with = "digits")]
    pub packet: Vec<u8>,
    /// The XDP metadata in front of the packet after the run.
    #[serde(serialize_with = "digits")]
    pub metadata: Vec<u8>,
    /// Fields of `struct __sk_buff` after the run, by name. Empty for programs without this
    /// structure.
    #[serde(skip_serializing_if = "BTreeMap::is_empty")]
    pub fields: BTreeMap<String, u64>,
}

/// Serialises bytes as a string of hexadecimal digits.
pub fn digits<S: Serializer>(bytes: &[u8], serializer: S) -> Result<S::Ok, S::Error> {
    serializer.serialize_str(&hex(bytes))
}

impl From<TestRun> for Outcome {
    fn from(run: TestRun) -> Outcome {
        let TestRun { return_value, packet, metadata, fields, .. } = run;
        Outcome { action: return_value, packet, metadata, fields }
    }
}

impl Pair {
    /// Returns the return value and the packet of a run of the interpreter.
    pub fn outcome(&self, run: &Run) -> Outcome {
        let layout = &self.lifted.layout;
        let field = |offset: u64| u64::from(self.word(run, layout.context, offset));
        let base = self.packet_base(run);
        let row = layout.program_type;
        let [data, mut end, mut meta] = row.ends().map(field);
        let mut fields = BTreeMap::new();
        if let Some(length) = row.length() {
            end = data + field(length);
            // A test run does not return metadata.
            meta = data;
            let fields_of_type = SETTABLE.iter().filter_map(|name| row.field(name));
            for known in fields_of_type.filter(|field| row.access(field) != Access::Never) {
                let byte = |n| {
                    let at = known.offset + u64::from(n);
                    u64::from(self.byte(Some(run), (layout.context, at))) << (8 * n)
                };
                fields.insert(known.name.to_owned(), (0..known.bytes).map(byte).sum());
            }
        }
        let between = |from: u64, to: u64| {
            let byte = |at: u64| self.byte(Some(run), (layout.packet, at.wrapping_sub(base)));
            (from..to).map(byte).collect()
        };
        Outcome {
            action: self.word(run, layout.result, 0),
            packet: between(data, end),
            metadata: between(meta, data),
            fields,
        }
    }

    /// Reads a 4-byte word of the interpreter's memory at the end of a run.
    fn word(&self, run: &Run, region: RegionId, offset: u64) -> u32 {
        u32::from_le_bytes([0, 1, 2, 3].map(|n| self.byte(Some(run), (region, offset + n))))
    }

    /// Returns the address that the packet's first byte had in the interpreter, before a run.
    fn packet_base(&self, run: &Run) -> u64 {
        let packet = self.lifted.layout.packet;
        run.regs[self.lifted.program.regions[packet.index()].base.index()]
    }

    /// Returns the distances by which a run of the interpreter moved the start and the end of the
    /// packet. `length` is the packet's length in bytes before the run.
    pub fn moved(&self, run: &Run, length: usize) -> Moved {
        let field = |offset| i64::from(self.word(run, self.lifted.layout.context, offset));
        let start = i64::from(self.packet_base(run) as u32);
        let [data, end, meta] = self.lifted.layout.program_type.ends().map(field);
        Moved { head: data - start, tail: end - start - length as i64, metadata: meta - start }
    }
}

/// Distances in bytes by which a run moved the start and the end of a packet. Positive distances
/// are towards the packet's end.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Moved {
    /// Distance in bytes by which the packet's start moved; negative if the packet grew.
    pub head: i64,
    /// Distance in bytes by which the packet's end moved; positive if the packet grew.
    pub tail: i64,
    /// Distance in bytes by which the start of the XDP metadata moved. Before the run, it was at
    /// the packet's start.
    pub metadata: i64,
}

/// Returns true if the kernel's bytes agree with the interpreter's. `other` is the result of a
/// repeated run on other unknown values, such as times. Where it differs from `interpreter`, any
/// byte is accepted.
pub fn bytes_match(kernel: &[u8], interpreter: &[u8], other: &[u8]) -> bool {
    if interpreter.len() != other.len() {
        return true;
    }
    let expected = interpreter.iter().zip(other);
    kernel.len() == interpreter.len()
        && kernel.iter().zip(expected).all(|(t, (a, b))| a != b || t == a)
}

/// Describes the difference between the results of kernel and interpreter. Returns `None` if they
/// agree. `other` is the result of a repeated run on other unknown values, such as times. Where it
/// differs from `interpreter`, any value is accepted.
pub fn differing_outcome(
    kernel: &Outcome,
    interpreter: &Outcome,
    other: Option<&Outcome>,
) -> Option<String> {
    let other = other.unwrap_or(interpreter);
    let field = interpreter.fields.iter().find(|&(name, value)| {
        other.fields.get(name) == Some(value) && kernel.fields.get(name) != Some(value)
    });
    let same = (interpreter.action != other.action || interpreter.action == kernel.action)
        && bytes_match(&kernel.packet, &interpreter.packet, &other.packet)
        && bytes_match(&kernel.metadata, &interpreter.metadata, &other.metadata)
        && field.is_none();
    if same {
        return None;
    }
    let shape =
        |o: &Outcome| format!("{} ({}+{} bytes)", o.action, o.metadata.len(), o.packet.len());
    let first = kernel.packet.iter().zip(&interpreter.packet).position(|(a, b)| a != b);
    let byte = first.map_or(String::new(), |at| {
        let there = |o: &Outcome| hex(&o.packet[at..o.packet.len().min(at + 16)]);
        format!("; from byte {at}: {}, {}", there(kernel), there(interpreter))
    });
    let field = field.map_or(String::new(), |(name, value)| {
        format!("; {name}: {:?}, {value}", kernel.fields.get(name))
    });
    Some(format!(
        "action {} in the kernel, {} here{byte}{field}",
        shape(kernel),
        shape(interpreter)
    ))
}

//! Helpers that the tests of this crate share: they provide the kernel, objects, packets and cases.

pub mod assembled;

use std::path::Path;
use std::sync::Arc;

use serde_json::{Value, json};
use slowpath_bpf::Object;
use slowpath_kernel::Kernel;
use slowpath_kernel::timing::TimingThread;
use slowpath_measure::{Case, MeasureError};
use slowpath_oracle::Oracle;

pub const DROP: u32 = 1;
pub const PASS: u32 = 2;
pub const TX: u32 = 3;
pub const REDIRECT: u32 = 4;

/// Returns the running kernel. Returns `None`, so that the test is skipped, if programs cannot be
/// loaded into it.
pub fn kernel() -> Option<Arc<Kernel>> {
    Kernel::available().map(Arc::new).map_err(|reason| Oracle::Kernel.missing(reason)).ok()
}

/// Returns a timing thread and the kernel. Returns `None`, so that the test is skipped, if one of
/// them is not available.
pub fn timing_thread() -> Option<(TimingThread, Arc<Kernel>)> {
    let kernel = kernel()?;
    let thread = TimingThread::start(None).map_err(|reason| Oracle::Kernel.missing(reason)).ok()?;
    Some((thread, kernel))
}

/// Reads the object file at a path relative to the root of the repository.
pub fn object(below: &str) -> Arc<Object> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(below);
    let bytes = std::fs::read(&path).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
    Arc::new(Object::parse(&bytes).unwrap_or_else(|e| panic!("{}: {e}", path.display())))
}

pub fn example(name: &str) -> Arc<Object> {
    object(&format!("examples/{name}.bpf.o"))
}

/// Returns a test object of the kernel crate. It has one program for each feature of the program
/// loader.
pub fn features() -> Arc<Object> {
    object("crates/kernel/tests/objects/features.bpf.o")
}

pub fn changes() -> Arc<Object> {
    object("crates/measure/tests/objects/changes.bpf.o")
}

/// Returns the index in the object of the program with this name.
pub fn program_number(object: &Object, name: &str) -> usize {
    let number = object.programs.iter().position(|program| program.name == name);
    number.unwrap_or_else(|| panic!("no program {name}"))
}

/// Builds an IPv4 packet from 10.0.0.1 to 10.0.0.2. Its last bytes are zeros.
pub fn packet(protocol: u8, ports: [u16; 2], length: usize) -> Vec<u8> {
    let mut packet = vec![2; 12];
    packet.extend([8, 0, 0x45, 0]);
    packet.extend((length as u16 - 14).to_be_bytes());
    packet.extend([0, 0, 0, 0, 64, protocol, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2]);
    packet.extend(ports.map(u16::to_be_bytes).concat());
    packet.extend((length as u16 - 34).to_be_bytes());
    packet.resize(length, 0);
    packet
}

/// Builds a witness with the given packet, map content and unknown results of calls.
pub fn witness(packet: &[u8], maps: &Value, unknowns: &Value) -> Value {
    let digits: String = packet.iter().map(|byte| format!("{byte:02x}")).collect();
    json!({ "packet": digits, "maps": maps, "unknowns": unknowns, "environment": [] })
}

/// Prepares the path of a witness, so that it can be timed.
pub fn prepare(
    timing_thread: &TimingThread,
    kernel: &Arc<Kernel>,
    (object, number): (&Arc<Object>, usize),
    witness: Value,
) -> Result<Case, MeasureError> {
    Case::prepare(timing_thread, kernel, object, number, witness, None)
}

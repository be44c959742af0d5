//! A loaded program with its maps, and test runs of the program on packets.
//!
//! Durations are the kernel's averages over all repetitions, without the system call. They are
//! valid only for this machine.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use slowpath_bpf::{FirstByte, ProgramType};

use crate::error::{MapError, RunError};
use crate::program::{Variant, load_generated};
use crate::sys::{RawRun, test_run};
use crate::{Context, Map, context};

/// Length of the shortest packet that test runs accept: an Ethernet header.
const SHORTEST: usize = 14;
/// Maximum number of bytes by which a program can enlarge a packet: the room that the kernel keeps
/// free around it.
const GROWTH: usize = 8192;

/// Upper bound in bytes on the length to which a program can enlarge a packet in a `struct sk_buff`
/// (`SKB_MAX_ALLOC`).
const LONGEST: usize = 1 << 18;

/// A program in the kernel, with its maps.
#[derive(Debug)]
pub struct LoadedProgram {
    fd: OwnedFd,
    /// Programs that this program can tail-call. They are kept open because a program array drops
    /// its entries once no process refers to the array.
    _callees: BTreeMap<usize, OwnedFd>,
    maps: BTreeMap<usize, Map>,
    variant: Variant,
}

/// Result of a test run, in which the kernel runs a program on a given packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// Return value of the program, such as an XDP action.
    pub return_value: u32,
    /// The packet as the last repetition left it.
    pub packet: Vec<u8>,
    /// The metadata in front of the packet, as the last repetition left it.
    pub metadata: Vec<u8>,
    /// Fields of `struct __sk_buff` that the kernel returns, by name; for tc programs only.
    pub fields: BTreeMap<String, u64>,
    /// Average duration of one repetition, in whole nanoseconds.
    pub duration: Duration,
}

impl LoadedProgram {
    pub(crate) fn new(
        fd: OwnedFd,
        callees: BTreeMap<usize, OwnedFd>,
        maps: BTreeMap<usize, Map>,
        variant: Variant,
    ) -> Self {
        LoadedProgram { fd, _callees: callees, maps, variant }
    }

    /// Loads generated code as a program without BTF types. The kernel keeps the maps alive that
    /// the code refers to.
    pub(crate) fn generated(name: &str, code: &[u8], variant: Variant) -> io::Result<Self> {
        let fd = load_generated(name, code, variant)?;
        Ok(LoadedProgram::new(fd, BTreeMap::new(), BTreeMap::new(), variant))
    }

    /// Returns the type and attach properties that a program must have in order to tail-call this
    /// program.
    pub fn variant(&self) -> Variant {
        self.variant
    }

    /// Returns true if the program is an XDP program.
    pub fn is_xdp(&self) -> bool {
        self.variant.row.length().is_none()
    }

    /// Encodes a context as the structure that test runs of this program type take. `len` is the
    /// length of the packet in bytes.
    pub(crate) fn encode(&self, context: &Context, len: usize) -> Vec<u8> {
        if self.is_xdp() {
            context.encode(len).to_vec()
        } else {
            context::encode_fields(self.variant.row, &context.fields)
        }
    }

    /// Returns true if the program accepts packets in several buffers. Such a program cannot
    /// tail-call a program that does not accept them, and vice versa.
    pub fn fragments(&self) -> bool {
        self.variant.fragments
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// Returns the map with this name, if the program can reach it. A map of global data has the
    /// name of its section.
    pub fn map(&self, name: &str) -> Option<&Map> {
        self.maps.values().find(|map| map.definition().name == name)
    }

    /// Returns the map at this index of [`slowpath_bpf::Object::maps`], if the program can reach
    /// it.
    pub fn map_by_number(&self, number: usize) -> Option<&Map> {
        self.maps.get(&number)
    }

    /// Returns the maps that the program can reach, by their indices in
    /// [`slowpath_bpf::Object::maps`].
    pub(crate) fn maps_by_number(&self) -> &BTreeMap<usize, Map> {
        &self.maps
    }

    /// Returns the maps that the program can reach.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &Map> {
        self.maps.values()
    }

    /// Runs the program on a packet of at least 14 bytes, `repeat` times (0 counts as 1). Each
    /// repetition starts with the packet, maps and context that the previous one left. Not even the
    /// start of the packet is restored (`bpf_test_run` of `net/bpf/test_run.c`).
    pub fn run(&self, packet: &[u8], repeat: u32) -> Result<TestRun, RunError> {
        self.run_in(packet, repeat, &Context::default())
    }

    /// Like [`LoadedProgram::run`], but the packet has the metadata, device and queue of `context`.
    ///
    /// # Errors
    /// If the kernel does not run the packet. [`RunError::Interrupted`] if a signal arrived before
    /// all repetitions were done.
    pub fn run_in(
        &self,
        packet: &[u8],
        repeat: u32,
        context: &Context,
    ) -> Result<TestRun, RunError> {
        let len = packet.len();
        // Test runs remove the Ethernet header for types without a link layer.
        let least = if self.variant.row.first == FirstByte::Link { SHORTEST } else { 1 };
        if len < least {
            return Err(RunError::TooShort { len });
        }
        let ran = match (self.variant.row.length(), self.variant.row.first) {
            (None, _) => run(self.fd(), packet, repeat, context),
            (_, FirstByte::Link) => run_skb(self.fd(), self.variant.row, (packet, repeat), context),
            _ => {
                let mut frame = vec![0; SHORTEST];
                frame[SHORTEST - 2..].copy_from_slice(&context.protocol(packet).to_be_bytes());
                frame.extend(packet);
                let ran = run_skb(self.fd(), self.variant.row, (&frame, repeat), context);
                ran.map(|mut ran| {
                    ran.packet.drain(..SHORTEST.min(ran.packet.len()));
                    ran
                })
            }
        };
        ran.map_err(|cause| RunError::of(len, context, cause))
    }
}

impl Map {
    /// Puts a program into a slot of a program array.
    pub fn set_program(&self, slot: u32, program: &LoadedProgram) -> Result<(), MapError> {
        self.set_fd(slot, program.fd())
    }
}

pub(crate) fn run(
    program: BorrowedFd,
    packet: &[u8],
    repeat: u32,
    context: &Context,
) -> io::Result<TestRun> {
    let input = [context.metadata.as_slice(), packet].concat();
    let mut out = vec![0; input.len() + GROWTH];
    let mut after = context.encode(packet.len());
    let RawRun { return_value, size, duration } =
        test_run(program, &input, &mut out, &mut after, repeat)?;
    let layout = context::decode(&after);
    let start = layout.data as usize;
    // Check the kernel's sizes before slicing.
    let within = start <= size && size <= out.len();
    if !within || layout.end < layout.data {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(TestRun {
        return_value,
        packet: out[start..size].to_vec(),
        metadata: out[..start].to_vec(),
        fields: BTreeMap::new(),
        duration: Duration::from_nanos(duration.into()),
    })
}

/// Runs a program on a packet in a `struct sk_buff` (`bpf_prog_test_run_skb`).
fn run_skb(
    program: BorrowedFd,
    row: &ProgramType,
    (packet, repeat): (&[u8], u32),
    context: &Context,
) -> io::Result<TestRun> {
    let mut out = vec![0; packet.len() + LONGEST];
    let mut after = context::encode_fields(row, &context.fields);
    let RawRun { return_value, size, duration } =
        test_run(program, packet, &mut out, &mut after, repeat)?;
    out.truncate(size);
    Ok(TestRun {
        return_value,
        packet: out,
        metadata: Vec::new(),
        fields: context::decode_fields(row, &after),
        duration: Duration::from_nanos(duration.into()),
    })
}

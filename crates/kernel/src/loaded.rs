//! A program in the kernel with its maps, and running packets through it.
//!
//! Durations are the kernel's own averages over all repetitions, without the system call; they say
//! what this machine does and nothing about another.

use std::collections::BTreeMap;
use std::io;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::Duration;

use crate::error::{MapError, RunError};
use crate::sys::{RawRun, test_run};
use crate::{Context, Map, context};

/// Shortest packet of a test run: an Ethernet header.
const SHORTEST: usize = 14;
/// How much longer than before a packet can be: what the kernel keeps free around it.
const GROWTH: usize = 8192;

/// A program in the kernel.
#[derive(Debug)]
pub struct Loaded {
    fd: OwnedFd,
    /// What it can tail-call: program arrays keep the programs only as long as somebody does.
    _callees: BTreeMap<usize, OwnedFd>,
    maps: BTreeMap<usize, Map>,
    fragments: bool,
}

/// What a test run gave.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TestRun {
    /// What the program returned; valid are 0 (aborted) to 4 (redirect).
    pub return_value: u32,
    /// The packet afterwards.
    pub packet: Vec<u8>,
    /// The metadata in front of it afterwards.
    pub metadata: Vec<u8>,
    /// Of one run, on average, in whole nanoseconds.
    pub duration: Duration,
}

impl Loaded {
    pub(crate) fn new(
        fd: OwnedFd,
        callees: BTreeMap<usize, OwnedFd>,
        maps: BTreeMap<usize, Map>,
    ) -> Self {
        Loaded { fd, _callees: callees, maps, fragments: false }
    }

    /// The same, of a program for packets in fragments (`SEC("xdp.frags")`).
    pub(crate) fn with_fragments(self, fragments: bool) -> Self {
        Loaded { fragments, ..self }
    }

    /// Whether it is for packets in fragments: only programs of its kind call it.
    pub fn fragments(&self) -> bool {
        self.fragments
    }

    pub(crate) fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    /// The map with this name, if the program can reach one; for global data it is the name of the
    /// section.
    pub fn map(&self, name: &str) -> Option<&Map> {
        self.maps.values().find(|map| map.definition().name == name)
    }

    /// The map with this number in [`slowpath_bpf::Object::maps`], if the program can reach it.
    pub fn map_at(&self, number: usize) -> Option<&Map> {
        self.maps.get(&number)
    }

    /// The same, by their numbers in [`slowpath_bpf::Object::maps`].
    pub(crate) fn maps_by_number(&self) -> &BTreeMap<usize, Map> {
        &self.maps
    }

    /// The maps that the program can reach.
    pub(crate) fn maps(&self) -> impl Iterator<Item = &Map> {
        self.maps.values()
    }

    /// Runs a packet of at least 14 bytes `repeat` times (0 counts as 1). A repetition gets packet,
    /// maps and context as the one before left them: nothing is set back, not even where the packet
    /// starts (`bpf_test_run` of `net/bpf/test_run.c`).
    pub fn run(&self, packet: &[u8], repeat: u32) -> Result<TestRun, RunError> {
        self.run_in(packet, repeat, &Context::default())
    }

    /// [`Loaded::run`] with more about how the packet arrives.
    ///
    /// # Errors
    /// If the kernel does not run it; [`RunError::Interrupted`] if a signal came before all
    /// repetitions were made.
    pub fn run_in(
        &self,
        packet: &[u8],
        repeat: u32,
        context: &Context,
    ) -> Result<TestRun, RunError> {
        let len = packet.len();
        if len < SHORTEST {
            return Err(RunError::TooShort { len });
        }
        run(self.fd(), packet, repeat, context).map_err(|cause| RunError::of(len, context, cause))
    }
}

impl Map {
    /// Puts a program into a slot of a program array.
    pub fn set_program(&self, slot: u32, program: &Loaded) -> Result<(), MapError> {
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
    // What the kernel says about sizes is not trusted to fit.
    let within = start <= size && size <= out.len();
    if !within || layout.end < layout.data {
        return Err(io::ErrorKind::InvalidData.into());
    }
    Ok(TestRun {
        return_value,
        packet: out[start..size].to_vec(),
        metadata: out[..start].to_vec(),
        duration: Duration::from_nanos(duration.into()),
    })
}

//! Runs programs on a virtual Ethernet device and records what happens to each frame.
//!
//! A socket sends a frame. The driver or the kernel's generic code receives it and runs a chain of
//! programs, which call each other by tail calls. At each exit, a program either continues the
//! chain, or records its result, the packet and the metadata in a map and drops the frame.
//! Therefore the device never sends a frame.
//!
//! Each namespace has one pair of devices, which are created in the same order. Therefore the
//! programs of several [`VethChain`]s see the same interface indices.
//!
//! Source: veth(4), packet(7), `drivers/net/veth.c`, `net/core/dev.c`
//! (`netif_receive_generic_xdp`).

mod entry;
mod recording;

use std::io;
use std::os::fd::AsRawFd;
use std::thread::sleep;
use std::time::Duration;

use slowpath_bpf::{MapKind, Object};

use crate::error::{LoadError, WireError};
use crate::generated::KEY;
use crate::sys::{MapSpec, RawMap};
use crate::{Answer, Device, FrameSocket, Kernel, Link, LoadedProgram, Mode, Namespace};
use entry::entry;
pub use recording::Record;
use recording::{Exits, LAYOUT, recording};

/// Maximum number of programs in the chain. It is the kernel's limit of tail calls
/// (`MAX_TAIL_CALL_CNT`).
const PROGRAMS: u32 = 33;
/// Number of times that the map with the result is read before a frame counts as lost.
const MAX_READS: u32 = 500;
/// Number of times that the map with the result is read without a pause. Most frames arrive before
/// the call that sends them returns.
const EAGER_READS: u32 = 20;
/// Pause between two reads of the map with the result, after the first [`EAGER_READS`] reads.
const PAUSE: Duration = Duration::from_micros(200);

/// A virtual Ethernet device that runs a chain of programs on each frame.
#[derive(Debug)]
pub struct VethChain {
    record: RawMap,
    next: RawMap,
    programs: usize,
    /// True if all programs accept packets in several buffers.
    fragments: bool,
    socket: FrameSocket,
    mode: Mode,
    // Declared before `namespace`: the program is detached before its device is removed.
    link: Option<Link>,
    near: Device,
    namespace: Namespace,
}

impl VethChain {
    /// Creates a device without programs. `mtu` is the maximum length of packets without their
    /// Ethernet header. The programs call each other, so either all of them accept packets in
    /// several buffers (`fragments`) or none does.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN` or virtual Ethernet, or if the devices do not support this MTU.
    pub fn new(
        kernel: &Kernel,
        mode: Mode,
        mtu: u32,
        fragments: bool,
    ) -> Result<VethChain, WireError> {
        let map = |name, kind, value_size, max_entries| {
            let cpus = kernel.possible_cpus();
            RawMap::create(&MapSpec::plain(name, kind, value_size, max_entries, cpus))
                .map_err(|cause| WireError::Record { action: "create", cause })
        };
        let record = map("slowpath.record", MapKind::ARRAY, LAYOUT.size(), 1)?;
        let next = map("slowpath.next", MapKind::PROG_ARRAY, 4, PROGRAMS)?;
        let namespace = Namespace::new()?;
        let [near, far] = namespace.create_pair(["near", "far"])?;
        for device in [near, far] {
            namespace.set_mtu(device, mtu)?;
        }
        let socket = namespace.frame_socket(far)?;
        let (programs, link) = (0, None);
        Ok(VethChain { record, next, programs, fragments, socket, mode, link, near, namespace })
    }

    /// Loads a program and appends it to the chain. The program gets its own maps, and the calls
    /// listed in `answers` get fixed results. If the program returns one of `results`, the next
    /// program of the chain gets the packet.
    ///
    /// # Errors
    /// As [`Kernel::load`], and [`LoadError::NotRecorded`].
    pub fn load(
        &mut self,
        kernel: &Kernel,
        (object, program): (&Object, usize),
        answers: &[Answer],
        results: &[u32],
    ) -> Result<LoadedProgram, LoadError> {
        let exits = Exits {
            record: self.record.fd(),
            next: self.next.fd(),
            program: self.programs,
            results,
            fragments: self.fragments,
        };
        let loaded = kernel.load_transformed(object, program, answers, |linked| {
            recording(linked, &exits)
                .map_err(|reason| LoadError::NotRecorded { program: linked.name.clone(), reason })
        })?;
        let slot = (self.programs as u32).to_ne_bytes();
        let put = self.next.update(&slot, &loaded.fd().as_raw_fd().to_ne_bytes());
        put.map_err(|cause| {
            let program = object.programs.get(program).map(|entry| entry.name.clone());
            LoadError::Refused { program: program.unwrap_or_default(), cause }
        })?;
        self.programs += 1;
        Ok(loaded)
    }

    /// Attaches the chain to the device; `first` is its first program. Before the chain runs on a
    /// frame, the headroom is set to zero, to erase data of earlier frames.
    ///
    /// # Errors
    /// If the kernel does not attach the chain, for example because packets can be too long.
    pub fn attach(&mut self, first: &LoadedProgram) -> Result<(), WireError> {
        let code = entry(self.next.fd());
        let entry = LoadedProgram::generated("slowpath.entry", &code.code(), first.variant());
        let refused = |cause| WireError::Record { action: "load a program for", cause };
        let entry = entry.map_err(refused)?;
        self.link = Some(entry.attach(&self.namespace, self.near, self.mode)?);
        Ok(())
    }

    /// Sends a frame and waits for its record. Returns `None` if no record arrives within a tenth
    /// of a second.
    ///
    /// # Errors
    /// If the frame is shorter than an Ethernet header or too long for the device, or the record
    /// cannot be read.
    pub fn send(&self, frame: &[u8]) -> Result<Option<Record>, WireError> {
        // A frame that counted as lost may have arrived since.
        let before = LAYOUT.count(&self.value()?);
        self.socket.send(frame)?;
        for read in 0..MAX_READS {
            let value = self.value()?;
            let count = LAYOUT.count(&value);
            if count != before {
                // If an earlier frame arrived late, the record may be that frame's.
                let only_one = count == before.wrapping_add(1);
                return match LAYOUT.record(&value) {
                    Some(record) => Ok(Some(record).filter(|_| only_one)),
                    None => {
                        let cause = io::ErrorKind::InvalidData.into();
                        Err(WireError::Record { action: "fill", cause })
                    }
                };
            }
            if read >= EAGER_READS {
                sleep(PAUSE);
            }
        }
        Ok(None)
    }

    /// Reads the value of the map that contains the record.
    fn value(&self) -> Result<Vec<u8>, WireError> {
        let value = self.record.lookup(&KEY);
        value.map_err(|cause| WireError::Record { action: "read", cause })
    }
}

//! Sends packets to a program on a virtual Ethernet device and records when they return.
//!
//! Two private network namespaces are connected by a pair of devices. A packet socket sends packets
//! on the first device. The program runs at the second device, in the driver or in the kernel's
//! generic code, on a CPU of its own. For the driver, a kernel thread pinned to this CPU polls the
//! device. For generic code, packets are steered to this CPU (RPS). Packets that the program sends
//! back (`XDP_TX`) arrive at the first device, where a generated program records their latency and
//! drops them. A kernel thread on the CPU of the sender polls the first device.
//!
//! The last bytes of each packet are a [`Mark`]: the number of the packet and the time of sending.
//!
//! Packet sockets without a queueing discipline send as many packets as the device takes. A ring
//! shared with the kernel (`PACKET_TX_RING`) sends fewer: it waits until the program's device has
//! freed a packet.
//!
//! Source: veth(4), packet(7), `drivers/net/veth.c`, `Documentation/networking/napi.rst`,
//! `Documentation/networking/scaling.rst`.

mod recorder;

use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;
use std::{fs, io, thread};

use serde_json::Value;
use slowpath_codes as codes;
use thiserror::Error;

use crate::error::LinkError;
use crate::generated::GeneratedError;
use crate::sys::{MOST_FRAMES, monotonic, pin, pin_thread, real_time_thread};
use crate::witness::{self, Installed};
use crate::{
    Device, DeviceCounts, FrameSocket, InstallError, Kernel, Link, LoadedProgram, Mode, Namespace,
    NamespaceError,
};
use recorder::Recorder;
pub use recorder::{MARK, MOST_PACKETS, Mark, Recorded};

/// Number of the next pair of devices. Device names contain it, so that the kernel threads of
/// different devices can be told apart.
static DEVICES: AtomicU32 = AtomicU32::new(0);

/// Length of an Ethernet header in bytes. `USUAL_MTU` is the usual MTU of Ethernet in bytes.
const ETHERNET: usize = 14;
const USUAL_MTU: u32 = 1500;
/// Real-time priority of the threads that poll devices. `SENDING` is that of the packet sender,
/// which never sleeps. The polling thread on the same CPU therefore needs the higher priority.
const POLLING: i32 = 2;
const SENDING: i32 = 1;

/// CPUs of the program and of the packet sender, and the mode in which the program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct EchoPlaces {
    /// Place in the receive path where the program runs.
    pub mode: Mode,
    /// CPU that sends packets and records their return.
    pub sender: usize,
    /// CPU that runs the program.
    pub program: usize,
}

/// A program on a device, and a sender of packets to this device.
#[derive(Debug)]
pub struct Echo {
    recorder: Recorder,
    socket: FrameSocket,
    sender: usize,
    // Declared before the namespaces: programs are detached before their devices are removed.
    _links: [Link; 2],
    near: Device,
    far: Device,
    near_namespace: Namespace,
    far_namespace: Namespace,
    _program: LoadedProgram,
    _installed: Installed,
}

/// Counts of packets by the stage that they reached, since the devices were created.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct EchoCounts {
    /// Packets for which the queue of the program's device had no room.
    pub refused: u64,
    /// Packets that the program received.
    pub arrived: u64,
    /// Packets that the program sent back and that reached the sender's device.
    pub returned: u64,
    /// Packets that the program sent back and for which the sender's device had no room.
    pub lost_back: u64,
    /// Returned packets that the recording program counted, with and without a valid mark.
    pub recorded: Recorded,
}

impl EchoCounts {
    /// Returns the number of packets that the program received and did not send back. It includes
    /// packets that the program is still processing.
    #[must_use]
    pub fn kept(&self) -> u64 {
        self.arrived.saturating_sub(self.returned + self.lost_back)
    }

    /// Returns the number of packets for which the sender need not wait any longer: lost, recorded,
    /// or kept by the program. It includes packets that the program is still processing.
    #[must_use]
    pub fn settled(&self) -> u64 {
        let Recorded { marked, unmarked } = self.recorded;
        self.refused + self.lost_back + self.kept() + marked + unmarked
    }
}

/// An error while packets are sent to a program or their return is recorded.
#[derive(Debug, Error)]
pub enum EchoError {
    /// The network namespaces or their devices could not be created or used.
    #[error(transparent)]
    Namespace(#[from] NamespaceError),
    /// A program could not be attached to its device.
    #[error(transparent)]
    Link(#[from] LinkError),
    /// The program that records packets could not be loaded or read.
    #[error(transparent)]
    Generated(#[from] GeneratedError),
    /// The program's maps could not be filled.
    #[error(transparent)]
    Install(#[from] InstallError),
    /// The kernel thread that polls a device does not appear in `/proc`.
    #[error(
        "the kernel thread of a network device is not visible, so it cannot be pinned to a CPU; \
         run in the process namespace of the machine (for containers: --pid=host)"
    )]
    Hidden,
    /// A thread could not be pinned to its CPU.
    #[error("CPU {cpu} cannot be used alone: {cause}; choose another one with --cpu")]
    Pinned {
        /// Number of the CPU.
        cpu: usize,
        /// The error of the operating system.
        cause: io::Error,
    },
}

impl EchoError {
    /// Returns the error code of the cause, such as `SP0301`.
    #[must_use]
    pub fn code(&self) -> codes::Code {
        match self {
            EchoError::Namespace(error) => error.code(),
            EchoError::Link(error) => error.code(),
            EchoError::Generated(error) => error.code(),
            EchoError::Install(error) => error.code(),
            EchoError::Hidden | EchoError::Pinned { .. } => codes::MACHINE_UNSUITABLE,
        }
    }
}

impl Echo {
    /// Attaches a loaded program to a new virtual device, and fills its maps with the content of
    /// `witness`. Packets have at most `length` bytes, including their mark.
    ///
    /// # Errors
    /// If the process may not create namespaces and devices, or change threads of the kernel. Also
    /// if the kernel does not attach the program.
    pub fn new(
        kernel: &Kernel,
        program: LoadedProgram,
        witness: &Value,
        length: usize,
        places: EchoPlaces,
    ) -> Result<Echo, EchoError> {
        let recorder = Recorder::new(kernel.possible_cpus())?;
        let (near_namespace, far_namespace) = (Namespace::new()?, Namespace::new()?);
        let number = DEVICES.fetch_add(1, Ordering::Relaxed);
        let names = ["a", "b"].map(|end| format!("{end}{:x}.{number:x}", std::process::id()));
        let [near_name, far_name] = names.each_ref().map(String::as_str);
        let [near, far] = near_namespace.create_pair([near_name, far_name])?;
        let far = near_namespace.move_device(far, &far_namespace)?;
        let mtu = u32::try_from(length.saturating_sub(ETHERNET)).unwrap_or(u32::MAX).max(USUAL_MTU);
        near_namespace.set_mtu(near, mtu)?;
        far_namespace.set_mtu(far, mtu)?;
        let socket = near_namespace.frame_socket(near)?;
        socket.send_directly()?;
        let install = || witness::install_towards(&program, witness, far);
        let installed = far_namespace.enter(install)??;
        let links = [
            program.attach(&far_namespace, far, places.mode)?,
            recorder.program().attach(&near_namespace, near, Mode::Native)?,
        ];
        let poll = |namespace: &Namespace, device, name: &str, cpu| -> Result<(), EchoError> {
            namespace.set(device, "threaded", "1")?;
            let thread = polling_thread(name).ok_or(EchoError::Hidden)?;
            pin_thread(thread, cpu)
                .and_then(|()| real_time_thread(thread, POLLING))
                .map_err(|cause| EchoError::Pinned { cpu, cause })
        };
        poll(&near_namespace, near, near_name, places.sender)?;
        match places.mode {
            Mode::Native => poll(&far_namespace, far, far_name, places.program)?,
            Mode::Generic => {
                far_namespace.set(far, "queues/rx-0/rps_cpus", &mask(places.program))?
            }
        }
        Ok(Echo {
            recorder,
            socket,
            sender: places.sender,
            _links: links,
            near,
            far,
            near_namespace,
            far_namespace,
            _program: program,
            _installed: installed,
        })
    }

    /// Reads the packet counters of both devices and of the recording program.
    ///
    /// # Errors
    /// If the kernel does not report them.
    pub fn counts(&self) -> Result<EchoCounts, EchoError> {
        let near: DeviceCounts = self.near_namespace.counts(self.near)?;
        let far = self.far_namespace.counts(self.far)?;
        Ok(EchoCounts {
            refused: near.send_dropped,
            arrived: far.received,
            returned: far.sent,
            lost_back: far.send_dropped,
            recorded: self.recorder.recorded()?,
        })
    }

    /// Discards the latencies recorded so far. The packet counters keep their values.
    ///
    /// # Errors
    /// If the kernel does not clear the map of latencies.
    pub fn forget(&self) -> Result<(), EchoError> {
        Ok(self.recorder.forget()?)
    }

    /// Returns the latencies in nanoseconds of the packets that returned since [`Echo::forget`],
    /// ordered by packet number. Packets that did not return are left out.
    ///
    /// # Errors
    /// If the map of latencies cannot be read.
    pub fn latencies(&self) -> Result<Vec<u32>, EchoError> {
        Ok(self.recorder.latencies()?)
    }

    /// Runs `job` on a new thread that is pinned to the CPU of the sender. The job gets a port that
    /// sends copies of `packet`. The thread has real-time priority. A job should take less than a
    /// second, because the kernel interrupts longer jobs in favour of other work.
    ///
    /// # Errors
    /// If the thread cannot be started or pinned.
    ///
    /// # Panics
    /// If `job` panics.
    pub fn send<T: Send>(
        &self,
        packet: &[u8],
        job: impl FnOnce(&mut EchoPort) -> T + Send,
    ) -> Result<T, EchoError> {
        let cpu = self.sender;
        let work = || {
            pin(cpu)
                .and_then(|()| real_time_thread(0, SENDING))
                .map_err(|cause| EchoError::Pinned { cpu, cause })?;
            Ok(job(&mut EchoPort::new(&self.socket, packet)))
        };
        thread::scope(|scope| {
            let started =
                thread::Builder::new().name("sender".to_owned()).spawn_scoped(scope, work);
            let thread = started.map_err(|cause| NamespaceError::Thread { cause })?;
            thread.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
        })
    }
}

/// A port on which copies of one packet are sent, each with its own mark.
#[derive(Debug)]
pub struct EchoPort<'a> {
    socket: &'a FrameSocket,
    frames: Vec<u8>,
    length: usize,
}

impl EchoPort<'_> {
    /// Maximum number of packets in one call of [`EchoPort::send`].
    pub const MOST: u32 = MOST_FRAMES as u32;

    fn new<'a>(socket: &'a FrameSocket, packet: &[u8]) -> EchoPort<'a> {
        let length = packet.len() + MARK;
        let mut frame = packet.to_vec();
        frame.resize(length, 0);
        EchoPort { socket, frames: frame.repeat(MOST_FRAMES), length }
    }

    /// Returns the current time in nanoseconds, by the clock that marks use (`CLOCK_MONOTONIC`).
    pub fn now(&self) -> u64 {
        monotonic()
    }

    /// Sends `count` packets, at most [`EchoPort::MOST`], numbered from `first`. Stops at the first
    /// packet that the device refuses. Returns the number of sent packets.
    ///
    /// # Errors
    /// If the packet does not fit the device.
    pub fn send(&mut self, first: u32, count: u32) -> Result<u32, EchoError> {
        let count = count.min(Self::MOST) as usize;
        let time = monotonic();
        let frames = self.frames.chunks_exact_mut(self.length).take(count);
        for (number, frame) in (first..).zip(frames) {
            let at = frame.len() - MARK;
            frame[at..].copy_from_slice(&Mark { time, number }.bytes());
        }
        let sent = self.socket.send_many(&self.frames[..count * self.length], self.length)?;
        Ok(sent as u32)
    }
}

/// Returns the id of the kernel thread that polls the device with this name.
fn polling_thread(device: &str) -> Option<i32> {
    // The kernel names the thread after its device (`napi_kthread_create`).
    let wanted = format!("napi/{device}-");
    let found = || {
        let mut processes = fs::read_dir("/proc").ok()?.filter_map(Result::ok);
        processes.find_map(|process| {
            let id = process.file_name().to_str()?.parse().ok()?;
            let name = fs::read_to_string(process.path().join("comm")).ok()?;
            name.starts_with(&wanted).then_some(id)
        })
    };
    (0..20).find_map(|attempt| {
        if attempt > 0 {
            thread::sleep(Duration::from_millis(5));
        }
        found()
    })
}

/// Formats the set that contains one CPU as the kernel does: in groups of 8 hexadecimal digits,
/// with the highest CPU numbers first.
fn mask(cpu: usize) -> String {
    let groups = (0..=cpu / 32).rev().map(|group| {
        let bits: u32 = if group == cpu / 32 { 1 << (cpu % 32) } else { 0 };
        format!("{bits:08x}")
    });
    groups.collect::<Vec<_>>().join(",")
}

#[cfg(test)]
mod tests {
    use super::mask;

    #[test]
    fn masks_have_the_bit_of_their_cpu() {
        assert_eq!(mask(0), "00000001");
        assert_eq!(mask(31), "80000000");
        assert_eq!(mask(33), "00000002,00000000");
    }
}

//! Creates private network namespaces, and devices in them.
//!
//! The namespace has no name and is not pinned: only an open file descriptor keeps it alive. It
//! ends when its [`Namespace`] is dropped, or when the process ends for any reason. Shortly
//! afterwards, the kernel removes its devices in the background. Its devices are invisible from
//! outside.
//!
//! Source: network_namespaces(7), veth(4).

#[cfg(target_os = "linux")]
mod netlink;
#[cfg(not(target_os = "linux"))]
#[path = "namespace/no_netlink.rs"]
mod netlink;

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::panic::resume_unwind;
use std::thread;

use crate::error::NamespaceError;
use crate::sys::{
    join_network, mount_own_sysfs, own_network, packet_socket, send, send_directly, send_many,
    unshare_network,
};
use crate::unavailable::Unavailable;

/// A network namespace that belongs to this process alone.
#[derive(Debug)]
pub struct Namespace {
    fd: OwnedFd,
}

/// A network device in a [`Namespace`], identified by its interface index.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Device {
    index: u32,
}

/// Packet counters of a device for sent and received packets, as in `/proc/net/dev`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct DeviceCounts {
    /// Number of received packets, including those that an XDP program dropped.
    pub received: u64,
    /// Number of received packets that were dropped because there was no room for them.
    pub receive_dropped: u64,
    /// Number of sent packets.
    pub sent: u64,
    /// Number of packets that were dropped on sending because there was no room for them.
    pub send_dropped: u64,
}

/// A socket that sends frames on a device.
#[derive(Debug)]
pub struct FrameSocket {
    fd: OwnedFd,
    device: Device,
}

impl FrameSocket {
    /// Sends a frame. `frame` starts with the Ethernet header.
    ///
    /// # Errors
    /// If the frame is shorter than the header, it is too long for the device, or the device has no
    /// room.
    pub fn send(&self, frame: &[u8]) -> Result<(), NamespaceError> {
        send(self.fd.as_fd(), frame).map_err(|cause| self.device.failed("send on", cause))
    }

    /// Lets frames bypass the queueing discipline of the device; see [`FrameSocket::send_many`].
    pub(crate) fn send_directly(&self) -> Result<(), NamespaceError> {
        let set = send_directly(self.fd.as_fd());
        set.map_err(|cause| self.device.failed("open", cause))
    }

    /// Sends frames of `length` bytes that lie one after the other in `frames`, without waiting.
    /// Returns the number of frames before the first that the device refused for lack of room.
    pub(crate) fn send_many(&self, frames: &[u8], length: usize) -> Result<usize, NamespaceError> {
        match send_many(self.fd.as_fd(), frames, length) {
            Err(cause) if cause.raw_os_error() == Some(libc::ENOBUFS) => Ok(0),
            sent => sent.map_err(|cause| self.device.failed("send on", cause)),
        }
    }
}

impl Device {
    /// The loopback device, whose index is 1 in every namespace (`LOOPBACK_IFINDEX`).
    pub const LOOPBACK: Device = Device { index: 1 };

    /// Returns the device's interface index (`ifindex`) in its namespace.
    pub fn index(self) -> u32 {
        self.index
    }

    fn failed(self, action: &'static str, cause: io::Error) -> NamespaceError {
        NamespaceError::Device { device: format!("number {}", self.index), action, cause }
    }
}

impl Namespace {
    /// Creates a namespace that contains only a loopback device, which is up.
    ///
    /// # Errors
    /// Without `CAP_SYS_ADMIN`, or if the kernel does not support namespaces.
    pub fn new() -> Result<Namespace, NamespaceError> {
        let made = on_own_thread(|| {
            unshare_network()?;
            own_network()
        })?;
        let namespace = Namespace { fd: made.map_err(Unavailable::of_namespace)? };
        namespace.enter(|| netlink::set_up(Device::LOOPBACK.index))?.map_err(|cause| {
            NamespaceError::Device { device: "lo".to_owned(), action: "start", cause }
        })?;
        Ok(namespace)
    }

    /// Runs `job` in the namespace and returns its result. The job runs on a new thread, with the
    /// CPU affinity of the calling thread. Sockets that it opens and devices that it names belong
    /// to the namespace.
    ///
    /// # Errors
    /// If the thread cannot be started, or may not enter the namespace.
    ///
    /// # Panics
    /// If `job` panics.
    pub fn enter<T: Send>(&self, job: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
        let done = on_own_thread(|| join_network(self.fd.as_fd()).map(|()| job()))?;
        Ok(done.map_err(Unavailable::of_namespace)?)
    }

    /// Creates a pair of connected virtual Ethernet devices and sets them up. The devices have no
    /// addresses, so the kernel does not send packets of its own on them.
    ///
    /// # Errors
    /// If the kernel does not support virtual Ethernet, or a name is taken or too long.
    pub fn create_pair(&self, names: [&str; 2]) -> Result<[Device; 2], NamespaceError> {
        self.enter(|| {
            let failed = |action| {
                move |cause| NamespaceError::Device { device: names.join(" and "), action, cause }
            };
            netlink::create_pair(names).map_err(failed("create"))?;
            let mut devices = [Device::LOOPBACK; 2];
            for (device, name) in devices.iter_mut().zip(names) {
                device.index = netlink::index(name).map_err(failed("find"))?;
                netlink::disable_addr_gen(device.index).map_err(failed("silence"))?;
            }
            for device in devices {
                netlink::set_up(device.index).map_err(failed("start"))?;
            }
            Ok(devices)
        })?
    }

    /// Moves a device to another namespace and sets it up there. Returns the moved device.
    ///
    /// # Errors
    /// If there is no such device, or the kernel does not move it.
    pub fn move_device(&self, device: Device, to: &Namespace) -> Result<Device, NamespaceError> {
        let moved = self.enter(|| {
            let name = netlink::name(device.index)?;
            netlink::move_to(device.index, to.fd.as_fd()).map(|()| name)
        })?;
        let name = moved.map_err(|cause| device.failed("move", cause))?;
        to.enter(|| {
            let index = netlink::index(&name)?;
            netlink::disable_addr_gen(index)?;
            netlink::set_up(index).map(|()| Device { index })
        })?
        .map_err(|cause| device.failed("start the moved", cause))
    }

    /// Writes a setting of a device, a file below `/sys/class/net/NAME`.
    ///
    /// # Errors
    /// If there is no such device or setting, or without `CAP_SYS_ADMIN`.
    pub fn set(&self, device: Device, setting: &str, value: &str) -> Result<(), NamespaceError> {
        self.enter(|| {
            let name = netlink::name(device.index)?;
            mount_own_sysfs()?;
            std::fs::write(format!("/sys/class/net/{name}/{setting}"), value)
        })?
        .map_err(|cause| device.failed("change a setting of", cause))
    }

    /// Removes a device and its peer.
    ///
    /// # Errors
    /// If there is no such device, or it is the loopback device.
    pub fn remove(&self, device: Device) -> Result<(), NamespaceError> {
        self.enter(|| netlink::remove(device.index))?
            .map_err(|cause| device.failed("remove", cause))
    }

    /// Sets the MTU of a device, which is the maximum packet length without the Ethernet header.
    ///
    /// # Errors
    /// If there is no such device, or it does not support the MTU.
    pub fn set_mtu(&self, device: Device, mtu: u32) -> Result<(), NamespaceError> {
        self.enter(|| netlink::set_mtu(device.index, mtu))?
            .map_err(|cause| device.failed("set the MTU of", cause))
    }

    /// Opens a socket through which raw frames can be sent on a device (packet(7)).
    ///
    /// # Errors
    /// If the namespace has no such device, or without `CAP_NET_RAW`.
    pub fn frame_socket(&self, device: Device) -> Result<FrameSocket, NamespaceError> {
        let opened = self.enter(|| packet_socket(device.index))?;
        let fd = opened.map_err(|cause| device.failed("open", cause))?;
        Ok(FrameSocket { fd, device })
    }

    /// Reads the packet counters of a device.
    ///
    /// # Errors
    /// If the namespace has no such device.
    pub fn counts(&self, device: Device) -> Result<DeviceCounts, NamespaceError> {
        self.enter(|| {
            let name = netlink::name(device.index)?;
            let table = std::fs::read_to_string("/proc/thread-self/net/dev")?;
            row(&table, &name).ok_or_else(|| io::ErrorKind::NotFound.into())
        })?
        .map_err(|cause| device.failed("count", cause))
    }
}

/// Runs a job on a new thread, because each thread has its own current namespace.
fn on_own_thread<T: Send>(job: impl FnOnce() -> T + Send) -> Result<T, NamespaceError> {
    thread::scope(|scope| {
        let started = thread::Builder::new().name("namespace".to_owned()).spawn_scoped(scope, job);
        let thread = started.map_err(|cause| NamespaceError::Thread { cause })?;
        Ok(thread.join().unwrap_or_else(|panic| resume_unwind(panic)))
    })
}

/// Finds the row of a device in `/proc/net/dev`, and parses its counters. The columns for receiving
/// are bytes, packets, errors, dropped and four more. The columns for sending follow in the same
/// order.
fn row(table: &str, name: &str) -> Option<DeviceCounts> {
    let rows = table.lines().filter_map(|line| line.trim().split_once(':'));
    let (_, numbers) = rows.into_iter().find(|(device, _)| *device == name)?;
    let mut counts = numbers.split_whitespace().map(|number| number.parse::<u64>().ok());
    let mut packets = |skip: usize| {
        let packets = counts.nth(skip).flatten()?;
        Some((packets, counts.nth(1).flatten()?))
    };
    let ((received, receive_dropped), (sent, send_dropped)) = (packets(1)?, packets(5)?);
    Some(DeviceCounts { received, receive_dropped, sent, send_dropped })
}

#[cfg(test)]
mod tests {
    use super::{DeviceCounts, row};

    #[test]
    fn counts_are_those_of_the_devices_row() {
        let table = "Inter-|   Receive                      |  Transmit\n \
                     face |bytes packets errs drop fifo frame compressed multicast|bytes\n    \
                     lo: 1 2 3 4 5 6 7 8 9 10 11 12 13 14 15 16\n  \
                     near:100 200 0 3 0 0 0 0 500 600 0 7 0 0 0 0\n";
        let counts = |received, receive_dropped, sent, send_dropped| {
            Some(DeviceCounts { received, receive_dropped, sent, send_dropped })
        };
        assert_eq!(row(table, "lo"), counts(2, 4, 10, 12));
        assert_eq!(row(table, "near"), counts(200, 3, 600, 7));
        assert_eq!(row(table, "far"), None);
        assert_eq!(row("lo: 1 2 3 4 5 6 7 8 9 10 x", "lo"), None);
    }
}

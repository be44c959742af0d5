//! Reads and changes the network namespace of the calling thread.

use std::fs::File;
use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// File that stands for the network namespace of the calling thread.
const OWN: &str = "/proc/thread-self/ns/net";

/// Returns a handle for the calling thread's network namespace. It keeps the namespace alive.
pub fn own_network() -> io::Result<OwnedFd> {
    File::open(OWN).map(OwnedFd::from)
}

/// Moves the calling thread to a new network namespace. The namespace contains only a loopback
/// device, which is down.
#[cfg(target_os = "linux")]
pub fn unshare_network() -> io::Result<()> {
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: only unsharing the table of file descriptors is unsafe, and this flag does not do so.
    unsafe { unshare_unsafe(UnshareFlags::NEWNET) }.map_err(io::Error::from)
}

/// Moves the calling thread into an existing network namespace.
#[cfg(target_os = "linux")]
pub fn join_network(namespace: BorrowedFd) -> io::Result<()> {
    use rustix::thread::{LinkNameSpaceType, move_into_link_name_space};
    let kind = Some(LinkNameSpaceType::Network);
    move_into_link_name_space(namespace, kind).map_err(io::Error::from)
}

/// Mounts a `/sys` that shows the devices of the calling thread's network namespace. Only this
/// thread sees it, because it gets its own mount namespace.
#[cfg(target_os = "linux")]
pub fn mount_own_sysfs() -> io::Result<()> {
    use rustix::thread::{UnshareFlags, unshare_unsafe};
    // SAFETY: only unsharing the table of file descriptors is unsafe, and this flag does not do so.
    unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?;
    let mount = |source: &std::ffi::CStr, target: &std::ffi::CStr, flags| {
        let (kind, none) = (source.as_ptr(), std::ptr::null());
        // SAFETY: all addresses are those of texts that end with a zero, or null.
        let done = unsafe { libc::mount(source.as_ptr(), target.as_ptr(), kind, flags, none) };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    // The new mount must not appear in other mount namespaces.
    mount(c"none", c"/", libc::MS_REC | libc::MS_PRIVATE)?;
    mount(c"sysfs", c"/sys", 0)
}

#[cfg(not(target_os = "linux"))]
pub fn mount_own_sysfs() -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

#[cfg(not(target_os = "linux"))]
pub fn unshare_network() -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

#[cfg(not(target_os = "linux"))]
pub fn join_network(_: BorrowedFd) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

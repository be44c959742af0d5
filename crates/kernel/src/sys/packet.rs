//! Sends raw frames on a device, with packet sockets (packet(7)).

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

/// Opens a socket that sends on the device with this index, in the calling thread's network
/// namespace. It receives nothing.
#[cfg(target_os = "linux")]
pub fn packet_socket(index: u32) -> io::Result<OwnedFd> {
    use rustix::net::{AddressFamily, SocketFlags, SocketType, socket_with};
    use std::os::fd::AsRawFd;
    // Without a protocol, the socket receives no frames.
    let socket = socket_with(AddressFamily::PACKET, SocketType::RAW, SocketFlags::CLOEXEC, None)?;
    let address = libc::sockaddr_ll {
        sll_family: libc::AF_PACKET as u16,
        sll_protocol: 0,
        sll_ifindex: index as i32,
        sll_hatype: 0,
        sll_pkttype: 0,
        sll_halen: 0,
        sll_addr: [0; 8],
    };
    // SAFETY: the length passed is that of the address.
    let bound = unsafe {
        libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of_val(&address) as libc::socklen_t,
        )
    };
    if bound == 0 { Ok(socket) } else { Err(io::Error::last_os_error()) }
}

#[cfg(target_os = "linux")]
pub fn send(socket: BorrowedFd, frame: &[u8]) -> io::Result<()> {
    rustix::net::send(socket, frame, rustix::net::SendFlags::empty())?;
    Ok(())
}

#[cfg(not(target_os = "linux"))]
pub fn packet_socket(_: u32) -> io::Result<OwnedFd> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

#[cfg(not(target_os = "linux"))]
pub fn send(_: BorrowedFd, _: &[u8]) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

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

/// Lets a socket bypass the queueing discipline of its device, and gives it a send buffer that
/// never fills. Then only the device can refuse a frame (`PACKET_QDISC_BYPASS`, `SO_SNDBUFFORCE`).
#[cfg(target_os = "linux")]
pub fn send_directly(socket: BorrowedFd) -> io::Result<()> {
    use std::os::fd::AsRawFd;
    let set = |level, option, value: libc::c_int| {
        // SAFETY: the length passed is that of the value.
        let done = unsafe {
            libc::setsockopt(
                socket.as_raw_fd(),
                level,
                option,
                (&raw const value).cast(),
                size_of_val(&value) as libc::socklen_t,
            )
        };
        if done == 0 { Ok(()) } else { Err(io::Error::last_os_error()) }
    };
    set(libc::SOL_SOCKET, libc::SO_SNDBUFFORCE, SEND_BUFFER)?;
    set(libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS, 1)
}

/// Size of the send buffer in bytes: far more than all frames that devices hold at a time.
#[cfg(target_os = "linux")]
const SEND_BUFFER: libc::c_int = 64 << 20;

/// Sends frames of `length` bytes that lie one after the other in `frames`, at most
/// [`MOST_FRAMES`], without waiting. Stops at the first frame that the device refuses, and returns
/// the number of sent frames. Returns an error if the first frame cannot be sent.
#[cfg(target_os = "linux")]
pub fn send_many(socket: BorrowedFd, frames: &[u8], length: usize) -> io::Result<usize> {
    use std::os::fd::AsRawFd;
    // SAFETY: zeros are valid in both structures.
    let (mut vectors, mut messages) = unsafe {
        (
            std::mem::zeroed::<[libc::iovec; MOST_FRAMES]>(),
            std::mem::zeroed::<[libc::mmsghdr; MOST_FRAMES]>(),
        )
    };
    let mut count = 0;
    let slots = vectors.iter_mut().zip(&mut messages);
    for (frame, (vector, message)) in frames.chunks_exact(length.max(1)).zip(slots) {
        // The kernel only reads the frame.
        vector.iov_base = frame.as_ptr().cast_mut().cast();
        vector.iov_len = frame.len();
        message.msg_hdr.msg_iov = vector;
        message.msg_hdr.msg_iovlen = 1;
        count += 1;
    }
    let (fd, wait) = (socket.as_raw_fd(), libc::MSG_DONTWAIT);
    // SAFETY: the first `count` messages refer to vectors, and these to frames, which outlive the
    // call.
    let sent = unsafe { libc::sendmmsg(fd, messages.as_mut_ptr(), count, wait) };
    usize::try_from(sent).map_err(|_| io::Error::last_os_error())
}

/// Maximum number of frames that [`send_many`] sends.
pub const MOST_FRAMES: usize = 32;

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

#[cfg(not(target_os = "linux"))]
pub fn send_directly(_: BorrowedFd) -> io::Result<()> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

#[cfg(not(target_os = "linux"))]
pub fn send_many(_: BorrowedFd, _: &[u8], _: usize) -> io::Result<usize> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

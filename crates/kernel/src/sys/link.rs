//! Attaches programs to network devices.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};

use super::attr::{LinkCreateAttr, LinkUpdateAttr};
use super::{Command, bpf, bpf_fd, field};

/// `BPF_XDP` of `enum bpf_attach_type`.
const XDP: u32 = 37;

/// Attaches an XDP program to a device of the calling thread's network namespace. The program stays
/// attached until the returned file descriptor is closed. `flags` are `XDP_FLAGS_*` of
/// `uapi/linux/if_link.h`.
pub fn attach_xdp(program: BorrowedFd, ifindex: u32, flags: u32) -> io::Result<OwnedFd> {
    let mut attr = LinkCreateAttr { program: field(program), ifindex, attach: XDP, flags };
    // SAFETY: the structure holds no addresses.
    unsafe { bpf_fd(Command::LinkCreate, &mut attr) }
}

/// Replaces the program that the link `link` attaches to a device.
pub fn replace_xdp(link: BorrowedFd, program: BorrowedFd) -> io::Result<()> {
    let mut attr = LinkUpdateAttr { link: field(link), program: field(program), flags: 0 };
    // SAFETY: the structure holds no addresses.
    unsafe { bpf(Command::LinkUpdate, &mut attr) }.map(drop)
}

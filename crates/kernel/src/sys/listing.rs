//! Reads the ids and addresses that the kernel gives to programs, maps and links.

use std::io;
use std::os::fd::BorrowedFd;

use super::attr::{NextIdAttr, ObjectInfoAttr};
use super::{Command, address_mut, bpf, field, length};

/// The kind of a kernel object that has an id.
#[derive(Clone, Copy)]
pub enum ObjectKind {
    Programs,
    Maps,
    Links,
}

/// Returns the lowest id above `after` that an object of this kind has. Returns `None` if no object
/// has a higher id.
pub fn next_id(kind: ObjectKind, after: u32) -> io::Result<Option<u32>> {
    let command = match kind {
        ObjectKind::Programs => Command::ProgNextId,
        ObjectKind::Maps => Command::MapNextId,
        ObjectKind::Links => Command::LinkNextId,
    };
    let mut attr = NextIdAttr { start: after, next: 0 };
    // SAFETY: the structure holds no addresses.
    match unsafe { bpf(command, &mut attr) } {
        Ok(_) => Ok(Some(attr.next)),
        Err(cause) if cause.kind() == io::ErrorKind::NotFound => Ok(None),
        Err(cause) => Err(cause),
    }
}

/// Returns the id of a program, which is the second field of `struct bpf_prog_info`.
pub fn program_id(program: BorrowedFd) -> io::Result<u32> {
    let mut info = [0; 8];
    let size = length(&info)?;
    let mut attr = ObjectInfoAttr { fd: field(program), size, info: address_mut(&mut info) };
    // SAFETY: address and size are those of one array; the kernel writes no more than that.
    unsafe { bpf(Command::ObjectInfo, &mut attr)? };
    let [_, _, _, _, id @ ..] = info;
    Ok(u32::from_ne_bytes(id))
}

/// Returns the address of a program's machine code. Returns 0 if it has none or the kernel hides
/// it.
pub fn program_address(program: BorrowedFd) -> io::Result<u64> {
    // `info` is `struct bpf_prog_info` up to `jited_ksyms`, which points to `nr_jited_ksyms`
    // numbers.
    const COUNT: usize = 104;
    const ADDRESSES: usize = 112;
    let mut address = [0; 8];
    let mut info = [0; 120];
    info[COUNT..COUNT + 4].copy_from_slice(&1_u32.to_ne_bytes());
    info[ADDRESSES..].copy_from_slice(&address_mut(&mut address).to_ne_bytes());
    let size = length(&info)?;
    let mut attr = ObjectInfoAttr { fd: field(program), size, info: address_mut(&mut info) };
    // SAFETY: addresses and sizes are those of two arrays. The kernel writes 8 bytes to `address`,
    // and no more than its size to `info`.
    unsafe { bpf(Command::ObjectInfo, &mut attr)? };
    Ok(u64::from_ne_bytes(address))
}

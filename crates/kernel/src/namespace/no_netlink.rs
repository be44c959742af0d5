//! Replaces the operations on devices on systems other than Linux. Each of them fails with
//! `ENOSYS`.

use std::io;
use std::os::fd::BorrowedFd;

fn missing<T>() -> io::Result<T> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

pub fn create_pair(_: [&str; 2]) -> io::Result<()> {
    missing()
}

pub fn disable_addr_gen(_: u32) -> io::Result<()> {
    missing()
}

pub fn set_up(_: u32) -> io::Result<()> {
    missing()
}

pub fn set_mtu(_: u32, _: u32) -> io::Result<()> {
    missing()
}

pub fn remove(_: u32) -> io::Result<()> {
    missing()
}

pub fn index(_: &str) -> io::Result<u32> {
    missing()
}

pub fn name(_: u32) -> io::Result<String> {
    missing()
}

pub fn move_to(_: u32, _: BorrowedFd) -> io::Result<()> {
    missing()
}

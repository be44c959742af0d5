//! Reads the compiled form of a program from the kernel: its machine code, and the address of the
//! code for each source line record (`struct bpf_line_info`).

use std::io;
use std::os::fd::BorrowedFd;

use super::attr::{NAME, ObjectInfoAttr};
use super::{Command, address_mut, bpf, field};

/// Size of `struct bpf_line_info` in bytes.
pub const LINE: usize = 16;
/// Size of an address in bytes.
const ADDRESS: usize = 8;

/// The machine code of a program as the kernel reports it.
#[derive(Debug)]
pub struct RawImage {
    /// The machine code of all functions, one after the other.
    pub code: Vec<u8>,
    /// Address in the kernel's memory and size in bytes of the machine code of each function.
    pub functions: Vec<(u64, u32)>,
    /// Line records: source line and column, packed as in `struct bpf_line_info`, and the address
    /// of the machine code for this line.
    pub lines: Vec<(u32, u64)>,
}

/// `struct bpf_prog_info` of `uapi/linux/bpf.h`, up to the last field used here.
#[repr(C)]
#[derive(Default)]
struct ProgramInfo {
    kind: u32,
    id: u32,
    tag: [u8; 8],
    code_size: u32,
    translated_size: u32,
    code: u64,
    translated: u64,
    load_time: u64,
    user: u32,
    map_count: u32,
    maps: u64,
    name: [u8; NAME],
    ifindex: u32,
    flags: u32,
    netns_dev: u64,
    netns_ino: u64,
    address_count: u32,
    length_count: u32,
    addresses: u64,
    lengths: u64,
    btf: u32,
    function_size: u32,
    functions: u64,
    function_count: u32,
    line_count: u32,
    lines: u64,
    line_addresses: u64,
    line_address_count: u32,
    line_size: u32,
    line_address_size: u32,
    tag_count: u32,
}

const _: () = assert!(size_of::<ProgramInfo>() == 184);

/// Reads the machine code of a program that was loaded with line records.
pub fn image(program: BorrowedFd) -> io::Result<RawImage> {
    let mut sizes = ProgramInfo::default();
    // SAFETY: all addresses are 0, and so are the sizes.
    unsafe { read_info(program, &mut sizes)? };
    let mut code = vec![0; sizes.code_size as usize];
    let mut addresses = vec![0; sizes.address_count as usize * ADDRESS];
    let mut lengths = vec![0; sizes.length_count as usize * 4];
    let mut lines = vec![0; sizes.line_count as usize * LINE];
    let mut line_addresses = vec![0; sizes.line_address_count as usize * ADDRESS];
    let mut info = ProgramInfo {
        code_size: sizes.code_size,
        code: address_mut(&mut code),
        address_count: sizes.address_count,
        addresses: address_mut(&mut addresses),
        length_count: sizes.length_count,
        lengths: address_mut(&mut lengths),
        line_count: sizes.line_count,
        line_size: LINE as u32,
        lines: address_mut(&mut lines),
        line_address_count: sizes.line_address_count,
        line_address_size: ADDRESS as u32,
        line_addresses: address_mut(&mut line_addresses),
        function_size: sizes.function_size,
        ..ProgramInfo::default()
    };
    // SAFETY: each address is that of a vector as long as its size or count says.
    unsafe { read_info(program, &mut info)? };
    let words = |bytes: &[u8]| -> Vec<u64> {
        bytes.as_chunks().0.iter().map(|word| u64::from_ne_bytes(*word)).collect()
    };
    let lengths = lengths.as_chunks().0.iter().map(|word| u32::from_ne_bytes(*word));
    let columns = lines.as_chunks::<LINE>().0.iter();
    let columns = columns.map(|line| u32::from_ne_bytes([line[12], line[13], line[14], line[15]]));
    Ok(RawImage {
        code,
        functions: words(&addresses).into_iter().zip(lengths).collect(),
        lines: columns.zip(words(&line_addresses)).collect(),
    })
}

/// Reads the information about a program into the memory that `info` refers to.
///
/// # Safety
///
/// Each address in `info` points to as much memory as its size or count says.
unsafe fn read_info(program: BorrowedFd, info: &mut ProgramInfo) -> io::Result<()> {
    let info: *mut ProgramInfo = info;
    let size = size_of::<ProgramInfo>() as u32;
    let mut attr = ObjectInfoAttr { fd: field(program), size, info: info as u64 };
    // SAFETY: `info` is a structure of this size; the caller guarantees the rest.
    unsafe { bpf(Command::ObjectInfo, &mut attr) }.map(|_| ())
}

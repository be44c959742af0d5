//! Safe wrappers of the system calls that this crate uses. Most of them are commands of bpf(2).
//!
//! Source: bpf(2) and the kernel's `uapi/linux/bpf.h`. The kernel accepts structures that are
//! shorter than its own. It also accepts longer ones if the fields unknown to it are zero.

// The only unsafe code of the crate: the kernel reads and writes memory that the structures point
// to, and returns file descriptors as numbers. Each function builds these structures from slices
// that outlive the call, and checks every length that the kernel does not check itself.
#![allow(unsafe_code)]

mod attr;
mod image;
mod link;
mod listing;
mod live;
mod namespace;
mod packet;
mod perf;
mod ring;
mod shared;
mod thread;

use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};

use slowpath_bpf::MapKind;

pub use image::{LINE, RawImage, image};
pub use link::{attach_xdp, replace_xdp};
pub use listing::{ObjectKind, next_id, program_address, program_id};
pub use live::{LiveSpec, test_run_live};
pub use namespace::{join_network, mount_own_sysfs, own_network, unshare_network};
pub use packet::{MOST_FRAMES, packet_socket, send, send_directly, send_many};
pub use perf::Listener;
pub use ring::{Positions, records};
pub use thread::{
    block_signals, monotonic, monotonic_raw, pin, pin_thread, pin_to_current_cpu, real_time,
    real_time_thread, thread_id,
};

use attr::{
    BtfLoadAttr, FdAttr, MapBatchAttr, MapCreateAttr, MapElementAttr, NAME, ProgLoadAttr,
    TestRunAttr,
};

/// A command of bpf(2). The numbers are those of `enum bpf_cmd`.
#[derive(Clone, Copy)]
enum Command {
    MapCreate = 0,
    MapLookup = 1,
    MapUpdate = 2,
    MapDelete = 3,
    MapNextKey = 4,
    ProgLoad = 5,
    ProgTestRun = 10,
    ProgNextId = 11,
    MapNextId = 12,
    ObjectInfo = 15,
    BtfLoad = 18,
    MapFreeze = 22,
    MapLookupBatch = 24,
    MapUpdateBatch = 26,
    LinkCreate = 28,
    LinkUpdate = 29,
    LinkNextId = 31,
}

/// Calls bpf(2), and retries the command if a signal interrupts it.
///
/// # Safety
///
/// `attr` is the structure of this command, without padding. The memory that it points to has the
/// lengths that the kernel expects.
unsafe fn bpf<T>(command: Command, attr: &mut T) -> io::Result<RawFd> {
    // A signal may interrupt a command, and loading gives up early (EAGAIN) when one is pending.
    for _ in 0..16 {
        // SAFETY: guaranteed by the caller.
        match unsafe { bpf_once(command, attr) } {
            Err(cause) if matches!(cause.raw_os_error(), Some(libc::EINTR | libc::EAGAIN)) => {}
            result => return result,
        }
    }
    Err(io::Error::from_raw_os_error(libc::EINTR))
}

/// Calls bpf(2) once.
///
/// # Safety
///
/// As for [`bpf`].
#[cfg(target_os = "linux")]
unsafe fn bpf_once<T>(command: Command, attr: &mut T) -> io::Result<RawFd> {
    let attr: *mut T = attr;
    // SAFETY: `attr` is valid for its size; the caller guarantees the memory that it points to.
    let result = unsafe { libc::syscall(libc::SYS_bpf, command as i32, attr, size_of::<T>()) };
    match RawFd::try_from(result) {
        Ok(fd @ 0..) => Ok(fd),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(not(target_os = "linux"))]
unsafe fn bpf_once<T>(_: Command, _: &mut T) -> io::Result<RawFd> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

/// Calls bpf(2) for a command that returns a new file descriptor.
///
/// # Safety
///
/// As for [`bpf`], and `command` must return a new file descriptor.
unsafe fn bpf_fd<T>(command: Command, attr: &mut T) -> io::Result<OwnedFd> {
    // SAFETY: guaranteed by the caller.
    unsafe { bpf(command, attr).map(|fd| OwnedFd::from_raw_fd(fd)) }
}

/// Returns the address of a slice; 0 for an empty one, which means "none" to the kernel.
fn address(slice: &[u8]) -> u64 {
    if slice.is_empty() { 0 } else { slice.as_ptr() as u64 }
}

fn address_mut(slice: &mut [u8]) -> u64 {
    if slice.is_empty() { 0 } else { slice.as_mut_ptr() as u64 }
}

fn length(slice: &[u8]) -> io::Result<u32> {
    u32::try_from(slice.len()).map_err(|_| io::ErrorKind::InvalidInput.into())
}

/// Converts a file descriptor to the unsigned number that the structures of bpf(2) contain.
fn field(fd: BorrowedFd) -> u32 {
    fd.as_raw_fd() as u32
}

/// Converts a name to one that the kernel accepts. Such a name has at most 15 characters, which are
/// letters, digits, `_` or `.`.
fn name(name: &str) -> [u8; NAME] {
    let mut field = [0; NAME];
    for (to, byte) in field[..NAME - 1].iter_mut().zip(name.bytes()) {
        *to = if byte.is_ascii_alphanumeric() || byte == b'.' { byte } else { b'_' };
    }
    field
}

/// Definition of a map to create with bpf(2).
#[derive(Clone, Copy)]
pub struct MapSpec<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub key_size: u32,
    pub value_size: u32,
    pub max_entries: u32,
    pub flags: u32,
    pub extra: u64,
    /// Inner map of a map of maps to create. All inner maps must have its type and sizes.
    pub inner: Option<BorrowedFd<'a>>,
    /// BTF types of keys and values: file descriptor of the types, id of the key's type, and id of
    /// the value's type.
    pub btf: Option<(BorrowedFd<'a>, u32, u32)>,
    /// Number of possible CPUs. Per-CPU maps have a value for each of them.
    pub cpus: Cpus,
}

/// The number of possible CPUs of the machine, which can be larger than the number of present CPUs.
/// The value always comes from the kernel, because it determines how many bytes a map lookup
/// writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Cpus(usize);

impl<'a> MapSpec<'a> {
    /// Returns the definition of a map with 4-byte keys, without flags and types (BTF).
    pub fn plain(
        name: &'a str,
        kind: MapKind,
        value_size: u32,
        max_entries: u32,
        cpus: Cpus,
    ) -> MapSpec<'a> {
        MapSpec {
            name,
            kind: kind.0,
            key_size: 4,
            value_size,
            max_entries,
            flags: 0,
            extra: 0,
            inner: None,
            btf: None,
            cpus,
        }
    }
}

impl Cpus {
    pub fn read() -> io::Result<Cpus> {
        let list = std::fs::read_to_string("/sys/devices/system/cpu/possible")?;
        Cpus::parse(&list).ok_or_else(|| io::ErrorKind::InvalidData.into())
    }

    /// Parses a list of CPU ranges, such as `0-3,8`. Returns the number of possible CPUs: the
    /// highest CPU number plus one, which includes CPU numbers that the list leaves out.
    pub(crate) fn parse(list: &str) -> Option<Cpus> {
        let last = list.trim().rsplit([',', '-']).next()?;
        last.parse::<usize>().ok()?.checked_add(1).map(Cpus)
    }

    pub fn count(self) -> usize {
        self.0
    }
}

/// Type numbers of the maps that keep a value for each CPU.
const PER_CPU: [u32; 4] = [5, 6, 10, 21];
/// Type numbers of the maps whose values a process writes as file descriptors and reads as ids.
const OF_FDS: [u32; 5] = [3, 4, 8, 12, 13];

/// Returns true if maps of this type keep a value for each CPU.
pub fn is_per_cpu(kind: u32) -> bool {
    PER_CPU.contains(&kind)
}

/// Returns the size in bytes that a value has in a system call (`bpf_map_value_size`).
fn syscall_value_size(spec: &MapSpec) -> usize {
    let size = spec.value_size as usize;
    if is_per_cpu(spec.kind) {
        size.next_multiple_of(8) * spec.cpus.count()
    } else if OF_FDS.contains(&spec.kind) {
        4
    } else {
        size
    }
}

/// Elements that one system call read from a map.
pub struct Elements {
    /// The keys, one after the other.
    pub keys: Vec<u8>,
    /// The values, one after the other. In a per-CPU map, these include the values of all CPUs.
    pub values: Vec<u8>,
    /// Position at which the next batch starts; `None` after the last batch.
    pub next_position: Option<Vec<u8>>,
}

/// A map in the kernel. The sizes are in bytes: those of a key, and of all values of a key in
/// system calls.
#[derive(Debug)]
pub struct RawMap {
    fd: OwnedFd,
    key_size: usize,
    value_size: usize,
}

impl RawMap {
    pub fn create(spec: &MapSpec) -> io::Result<RawMap> {
        let (btf_fd, btf_key, btf_value) =
            spec.btf.map_or((0, 0, 0), |(fd, key, value)| (field(fd), key, value));
        let mut attr = MapCreateAttr {
            kind: spec.kind,
            key_size: spec.key_size,
            value_size: spec.value_size,
            max_entries: spec.max_entries,
            flags: spec.flags,
            inner_fd: spec.inner.map_or(0, field),
            name: name(spec.name),
            btf_fd,
            btf_key,
            btf_value,
            extra: spec.extra,
            ..MapCreateAttr::default()
        };
        // SAFETY: the structure holds no addresses.
        let fd = unsafe { bpf_fd(Command::MapCreate, &mut attr)? };
        Ok(RawMap { fd, key_size: spec.key_size as usize, value_size: syscall_value_size(spec) })
    }

    pub fn share(&self) -> io::Result<RawMap> {
        let RawMap { key_size, value_size, .. } = *self;
        Ok(RawMap { fd: self.fd.try_clone()?, key_size, value_size })
    }

    pub fn fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }

    fn element(&self, key: &[u8]) -> io::Result<MapElementAttr> {
        if key.len() != self.key_size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        Ok(MapElementAttr { fd: field(self.fd()), key: address(key), ..MapElementAttr::default() })
    }

    /// Returns the value of a key. For a per-CPU map, returns the values of all CPUs, one after the
    /// other.
    pub fn lookup(&self, key: &[u8]) -> io::Result<Vec<u8>> {
        let mut value = vec![0; self.value_size];
        let mut attr = self.element(key)?;
        attr.value = address_mut(&mut value);
        // SAFETY: key and value have the lengths that the kernel expects for this map.
        unsafe { bpf(Command::MapLookup, &mut attr)? };
        Ok(value)
    }

    pub fn update(&self, key: &[u8], value: &[u8]) -> io::Result<()> {
        if value.len() != self.value_size {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attr = self.element(key)?;
        attr.value = address(value);
        // SAFETY: key and value have the lengths that the kernel expects; it only reads them.
        unsafe { bpf(Command::MapUpdate, &mut attr) }.map(|_| ())
    }

    /// Writes many elements in one call. `keys` and `values` are the concatenated keys and values
    /// of the elements. If the call fails, some elements may have been written. Kernels before 5.6
    /// and some map types do not support this.
    pub fn update_batch(&self, keys: &[u8], values: &[u8]) -> io::Result<()> {
        let count = keys.len().checked_div(self.key_size).unwrap_or(0);
        if count * self.key_size != keys.len() || count * self.value_size != values.len() {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attr = MapBatchAttr {
            keys: address(keys),
            values: address(values),
            count: u32::try_from(count).map_err(|_| io::ErrorKind::InvalidInput)?,
            fd: field(self.fd()),
            ..MapBatchAttr::default()
        };
        // SAFETY: keys and values have the lengths that the kernel expects for this count; it only
        // reads them.
        unsafe { bpf(Command::MapUpdateBatch, &mut attr) }.map(|_| ())
    }

    /// Reads at most `most` elements in one call. Starts at the position `from`, which an earlier
    /// call returned, or at the first element if it is `None`. Kernels before 5.6 and some map
    /// types do not support this.
    pub fn lookup_batch(&self, from: Option<&[u8]>, most: usize) -> io::Result<Elements> {
        let mut keys = vec![0; most * self.key_size];
        let mut values = vec![0; most * self.value_size];
        // Depending on the map type, a position is a key or the number of a bucket.
        let mut next_position = vec![0; self.key_size.max(size_of::<u32>())];
        if from.is_some_and(|from| from.len() != next_position.len()) {
            return Err(io::ErrorKind::InvalidInput.into());
        }
        let mut attr = MapBatchAttr {
            start: from.map_or(0, address),
            end: address_mut(&mut next_position),
            keys: address_mut(&mut keys),
            values: address_mut(&mut values),
            count: u32::try_from(most).map_err(|_| io::ErrorKind::InvalidInput)?,
            fd: field(self.fd()),
            ..MapBatchAttr::default()
        };
        // SAFETY: keys and values have room for this count, and positions have the length that the
        // kernel expects for this map.
        let done = unsafe { bpf(Command::MapLookupBatch, &mut attr) };
        let next_position = match done {
            Ok(_) => Some(next_position),
            Err(cause) if cause.kind() == io::ErrorKind::NotFound => None,
            Err(cause) => return Err(cause),
        };
        let count = (attr.count as usize).min(most);
        keys.truncate(count * self.key_size);
        values.truncate(count * self.value_size);
        Ok(Elements { keys, values, next_position })
    }

    pub fn delete(&self, key: &[u8]) -> io::Result<()> {
        let mut attr = self.element(key)?;
        // SAFETY: the key has the length that the kernel expects; it only reads it.
        unsafe { bpf(Command::MapDelete, &mut attr) }.map(|_| ())
    }

    /// Returns the key that follows `key`, or the first key if `key` is `None`.
    pub fn next_key(&self, key: Option<&[u8]>) -> io::Result<Vec<u8>> {
        let mut next = vec![0; self.key_size];
        let mut attr = match key {
            Some(key) => self.element(key)?,
            None => MapElementAttr { fd: field(self.fd()), ..MapElementAttr::default() },
        };
        attr.value = address_mut(&mut next);
        // SAFETY: both keys have the length that the kernel expects for this map.
        unsafe { bpf(Command::MapNextKey, &mut attr)? };
        Ok(next)
    }

    /// Forbids further writes to the map from user space.
    pub fn freeze(&self) -> io::Result<()> {
        let mut attr = FdAttr { fd: field(self.fd()) };
        // SAFETY: the structure holds no addresses.
        unsafe { bpf(Command::MapFreeze, &mut attr) }.map(|_| ())
    }
}

/// Loads an encoded `.BTF` section into the kernel.
pub fn load_btf(data: &[u8]) -> io::Result<OwnedFd> {
    let mut attr =
        BtfLoadAttr { btf: address(data), size: length(data)?, ..BtfLoadAttr::default() };
    // SAFETY: address and size are those of one slice, which the kernel only reads.
    unsafe { bpf_fd(Command::BtfLoad, &mut attr) }
}

/// Program to load with bpf(2).
pub struct ProgSpec<'a> {
    pub name: &'a str,
    pub kind: u32,
    pub attach: u32,
    pub flags: u32,
    /// Encoded instructions, with 8 bytes for each.
    pub code: &'a [u8],
    /// License of the program. A NUL byte is appended when the program is loaded.
    pub license: &'a str,
    pub types: Option<TypeInfo<'a>>,
}

/// Types (BTF) that belong to a program.
#[derive(Clone, Copy)]
pub struct TypeInfo<'a> {
    /// File descriptor of the types that were loaded into the kernel.
    pub fd: BorrowedFd<'a>,
    /// Records of `struct bpf_func_info` (8 bytes) with the first instruction and the BTF type of
    /// each function.
    pub functions: &'a [u8],
    /// Records of [`LINE`] bytes that state the source line of instructions.
    pub lines: &'a [u8],
}

/// Level of detail of the verifier's log.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LogLevel {
    /// Each instruction that the verifier visits, and its verdict (`BPF_LOG_LEVEL1`).
    Everything = 1,
    /// Only the verdict (`BPF_LOG_STATS`).
    Verdict = 4,
}

pub fn load_program(spec: &ProgSpec) -> io::Result<OwnedFd> {
    load_logged(spec, &mut [], 0)
}

/// Like [`load_program`], but the verifier writes to `log`. Fails with `ENOSPC` if its text does
/// not fit.
pub fn load_program_with(
    spec: &ProgSpec,
    log: &mut [u8],
    log_level: LogLevel,
) -> io::Result<OwnedFd> {
    load_logged(spec, log, log_level as u32)
}

fn load_logged(spec: &ProgSpec, log: &mut [u8], log_level: u32) -> io::Result<OwnedFd> {
    let mut license = spec.license.as_bytes().to_vec();
    license.push(0);
    let functions = spec.types.map_or(&[][..], |types| types.functions);
    let lines = spec.types.map_or(&[][..], |types| types.lines);
    let mut attr = ProgLoadAttr {
        kind: spec.kind,
        insn_count: length(spec.code)? / 8,
        insns: address(spec.code),
        license: address(&license),
        log_level,
        log_size: length(log)?,
        log: address_mut(log),
        flags: spec.flags,
        name: name(spec.name),
        attach: spec.attach,
        btf_fd: spec.types.map_or(0, |types| field(types.fd)),
        func_info_size: if functions.is_empty() { 0 } else { 8 },
        func_info: address(functions),
        func_info_count: length(functions)? / 8,
        line_info_size: if lines.is_empty() { 0 } else { LINE as u32 },
        line_info: address(lines),
        line_info_count: length(lines)? / LINE as u32,
        ..ProgLoadAttr::default()
    };
    // SAFETY: addresses and counts are those of slices, the licence ends with a zero, and the
    // kernel writes to the log only.
    unsafe { bpf_fd(Command::ProgLoad, &mut attr) }
}

/// Result of a test run, as bpf(2) returns it.
pub struct RawRun {
    pub return_value: u32,
    /// Number of bytes of the output buffer that metadata and packet occupy.
    pub size: usize,
    /// Average time in nanoseconds of one repetition.
    pub duration: u32,
}

/// Runs a program `repeat` times on `data` and `context`. Writes the resulting packet to `out` and
/// the resulting context to `context`. A signal can end a call with several repetitions early
/// (EINTR). Only the caller can retry it, because completed repetitions may have had effects.
pub fn test_run(
    program: BorrowedFd,
    data: &[u8],
    out: &mut [u8],
    context: &mut [u8],
    repeat: u32,
) -> io::Result<RawRun> {
    let context_in = context.to_vec();
    let mut attr = TestRunAttr {
        fd: field(program),
        size_in: length(data)?,
        size_out: length(out)?,
        data_in: address(data),
        data_out: address_mut(out),
        repeat,
        context_size_in: length(&context_in)?,
        context_size_out: length(context)?,
        context_in: address(&context_in),
        context_out: address_mut(context),
        ..TestRunAttr::default()
    };
    // SAFETY: all addresses and sizes are those of slices; the kernel writes to `out` and
    // `context` only.
    let run = unsafe {
        let command = if repeat > 1 { bpf_once } else { bpf };
        command(Command::ProgTestRun, &mut attr)
    };
    run?;
    let TestRunAttr { return_value, size_out, duration, .. } = attr;
    Ok(RawRun { return_value, size: size_out as usize, duration })
}

/// Opens an `AF_XDP` socket, which redirects can refer to. The socket is not bound to a device.
#[cfg(target_os = "linux")]
pub fn xdp_socket() -> io::Result<OwnedFd> {
    // SAFETY: the call takes numbers only.
    let fd = unsafe { libc::socket(libc::AF_XDP, libc::SOCK_RAW | libc::SOCK_CLOEXEC, 0) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // SAFETY: the call returned a new file descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

#[cfg(not(target_os = "linux"))]
pub fn xdp_socket() -> io::Result<OwnedFd> {
    Err(io::Error::from_raw_os_error(libc::ENOSYS))
}

//! Reads the machine code that the kernel compiled for each BPF instruction.
//!
//! The kernel reports the address of the machine code for each source line (`struct
//! bpf_line_info`). Therefore the program is loaded with one made-up line for each instruction; its
//! column number is the instruction's index. The line stays with its instruction when the verifier
//! replaces or removes other instructions.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::io;
use std::ops::Range;
use std::os::fd::{AsFd, OwnedFd};

use slowpath_bpf::insn::Insn;
use slowpath_bpf::{BpfProgram, Btf, Object};

use crate::error::LoadError;
use crate::program::{self, Types};
use crate::sys::{self, LINE, RawImage, load_btf};
use crate::{Kernel, btf, reachable};

/// The machine code of a program, with the byte range to which each BPF instruction was compiled.
#[derive(Clone, Debug)]
pub struct MachineCode {
    /// The BPF instructions that were passed to the kernel. A slot is an index into them.
    pub insns: Vec<Insn>,
    /// The machine code of all functions, one after the other.
    pub bytes: Vec<u8>,
    parts: BTreeMap<usize, Range<usize>>,
}

impl MachineCode {
    /// Returns the range of the bytes to which the instruction at a slot (index in `insns`) was
    /// compiled. Returns `None` if the verifier removed the instruction. The prologue of a function
    /// belongs to its first instruction.
    pub fn part(&self, slot: usize) -> Option<Range<usize>> {
        self.parts.get(&slot).cloned()
    }

    /// Returns the byte range of the instruction whose machine code contains the byte at `offset`.
    /// Returns `None` if `offset` belongs to no instruction.
    pub fn part_at(&self, offset: usize) -> Option<Range<usize>> {
        self.parts.values().find(|part| part.contains(&offset)).cloned()
    }
}

impl Kernel {
    /// Returns the machine code of the program at index `program` of [`Object::programs`].
    ///
    /// # Errors
    /// As [`Kernel::load`]. Also if the kernel does not compile programs, or does not show their
    /// code.
    pub fn machine_code(&self, object: &Object, program: usize) -> Result<MachineCode, LoadError> {
        let loaded = self.load(object, program)?;
        let mut reachable = reachable::find_reachable(object, program, &|| self.types())?;
        let refused = |cause| LoadError::Refused { program: String::new(), cause };
        let missing = || refused(io::ErrorKind::NotFound.into());
        let linked = reachable.programs.remove(&program).ok_or_else(missing)?;
        let (minimal, fd) = types(object, &linked).map_err(refused)?;
        let btf = minimal.as_ref().or(object.btf.as_ref());
        let types = btf.map(|btf| Types { btf, fd: Some(fd.as_fd()) });
        let license = object.license.as_deref().unwrap_or_default();
        let fd =
            program::load(&linked, license, loaded.maps_by_number(), types, &lines(&linked.insns))?;
        let image = sys::image(fd.as_fd()).map_err(refused)?;
        if image.code.is_empty() {
            return Err(refused(io::ErrorKind::Unsupported.into()));
        }
        Ok(MachineCode { insns: linked.insns, parts: parts(&image), bytes: image.code })
    }
}

/// Loads the object's BTF types into the kernel. If the object has none, or the kernel rejects
/// them, loads and returns a minimal set of types instead, because line records require types.
fn types(object: &Object, program: &BpfProgram) -> io::Result<(Option<Btf>, OwnedFd)> {
    let functions = program.subprograms.iter().filter(|f| !f.global);
    let static_functions: Vec<&str> = functions.map(|f| f.name.as_str()).collect();
    if let Some(own) = &object.btf
        && let Ok(fd) = load_btf(&btf::encode(own, &static_functions))
    {
        return Ok((None, fd));
    }
    // A single `void *`, without names.
    let mut bytes = vec![0x9f, 0xeb, 1, 0];
    for word in [24_u32, 0, 12, 12, 1, 0, 2 << 24, 0] {
        bytes.extend_from_slice(&word.to_ne_bytes());
    }
    bytes.push(0);
    let minimal = Btf::parse(&bytes).map_err(io::Error::other)?;
    Ok((Some(minimal), load_btf(&bytes)?))
}

/// Builds line records (`struct bpf_line_info`), one for each instruction, with the index of the
/// instruction as column number.
fn lines(insns: &[Insn]) -> Vec<u8> {
    let mut records = Vec::with_capacity(insns.len() * LINE);
    for (slot, insn) in insns.iter().enumerate() {
        if !matches!(insn, Insn::SecondSlot) {
            for word in [slot as u32, 0, 0, slot as u32] {
                records.extend_from_slice(&word.to_ne_bytes());
            }
        }
    }
    records
}

/// Computes the byte range of machine code for each instruction slot. A range ends where the code
/// of the next instruction starts.
fn parts(image: &RawImage) -> BTreeMap<usize, Range<usize>> {
    let (mut parts, mut from) = (BTreeMap::new(), 0);
    for &(address, length) in &image.functions {
        let until = from + length as usize;
        let inside = address..address + u64::from(length);
        let mut starts: Vec<(usize, usize)> = image
            .lines
            .iter()
            .filter(|(_, at)| inside.contains(at))
            .map(|&(slot, at)| (from + (at - address) as usize, slot as usize))
            .collect();
        starts.sort_unstable();
        for (number, &(start, slot)) in starts.iter().enumerate() {
            let end = starts.get(number + 1).map_or(until, |&(next, _)| next);
            parts.insert(slot, start..end.min(image.code.len()));
        }
        from = until;
    }
    parts
}

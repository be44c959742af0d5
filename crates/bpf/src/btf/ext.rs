//! `.BTF.ext`: what BTF says about instructions: source lines and CO-RE relocations.
//!
//! Function information is not read: symbols say where functions start, and BTF has their types by
//! name.

use super::parse::{Reader, header_len, part};
use super::{Btf, StringId, TypeId};
use crate::ObjectError;
use crate::error::{DAMAGED, printable};

/// A source line that starts at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRecord {
    /// In bytes, from the start of the section.
    pub offset: u32,
    pub file: StringId,
    pub text: StringId,
    pub line: u32,
    pub column: u32,
}

/// A CO-RE relocation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreRecord {
    /// In bytes, from the start of the section.
    pub offset: u32,
    pub ty: TypeId,
    pub access: StringId,
    /// `enum bpf_core_relo_kind`.
    pub kind: u32,
}

/// Records by name of section, in the order of their offsets.
#[derive(Clone, Debug, Default)]
pub(crate) struct BtfExt {
    pub lines: Vec<(String, Vec<LineRecord>)>,
    pub core: Vec<(String, Vec<CoreRecord>)>,
}

impl BtfExt {
    pub fn parse(data: &[u8], btf: &Btf) -> Result<Self, ObjectError> {
        let what = "the section of extensions";
        let header_len = header_len(data, what)?;
        let cut = || ObjectError::btf("parts of .BTF.ext reach beyond its end", DAMAGED);
        // Header: magic, version, flags, length; then offset and length of each part.
        let mut header = Reader::new(data.get(8..header_len as usize).ok_or_else(cut)?);
        let mut next = || header.u32();
        let _func_info = (next(), next());
        let line_info = (next().unwrap_or(0), next().unwrap_or(0));
        let core = (next().unwrap_or(0), next().unwrap_or(0));
        let lines = part(data, header_len, line_info.0, line_info.1).ok_or_else(cut)?;
        let core = part(data, header_len, core.0, core.1).ok_or_else(cut)?;
        let mut lines = records(lines, btf, 16, line_record).ok_or_else(cut)?;
        let mut core = records(core, btf, 16, core_record).ok_or_else(cut)?;
        lines.iter_mut().for_each(|(_, list)| list.sort_by_key(|line| line.offset));
        core.iter_mut().for_each(|(_, list)| list.sort_by_key(|core| core.offset));
        Ok(BtfExt { lines, core })
    }
}

/// Reads a part: the size of a record, then for each section its name, a count, and the records,
/// of which only the first `known` bytes are understood.
fn records<T>(
    data: &[u8],
    btf: &Btf,
    known: usize,
    read: impl Fn(&mut Reader) -> Option<T>,
) -> Option<Vec<(String, Vec<T>)>> {
    let mut reader = Reader::new(data);
    let mut found = Vec::new();
    if reader.is_empty() {
        return Some(found);
    }
    let size = reader.u32()? as usize;
    if size < known {
        return None;
    }
    while !reader.is_empty() {
        let name = printable(btf.string(StringId(reader.u32()?)).as_bytes());
        let count = reader.u32()?;
        let mut list = Vec::new();
        for _ in 0..count {
            list.push(read(&mut Reader::new(reader.take(size)?))?);
        }
        found.push((name, list));
    }
    Some(found)
}

fn line_record(reader: &mut Reader) -> Option<LineRecord> {
    let (offset, file, text) = (reader.u32()?, StringId(reader.u32()?), StringId(reader.u32()?));
    let position = reader.u32()?;
    Some(LineRecord { offset, file, text, line: position >> 10, column: position & 0x3ff })
}

fn core_record(reader: &mut Reader) -> Option<CoreRecord> {
    let (offset, ty, access) = (reader.u32()?, TypeId(reader.u32()?), StringId(reader.u32()?));
    Some(CoreRecord { offset, ty, access, kind: reader.u32()? })
}

//! Reads and writes the section `.BTF.ext`, which contains function types, source lines and CO-RE
//! relocations of instructions.

use super::encode::{MAGIC, len, words};
use super::parse::{Reader, header_len, part};
use super::{Btf, StringId, Strings, TypeId};
use crate::ObjectError;
use crate::error::{DAMAGED, printable};

/// Size in bytes of the header that is written to `.BTF.ext`.
const HEADER: u32 = 32;

/// A record of `.BTF.ext` that gives the type of the function that starts at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FuncRecord {
    /// Offset of the instruction from the start of the section, in bytes.
    pub offset: u32,
    /// Type of the function, a [`super::Kind::Func`].
    pub ty: TypeId,
}

/// A record of `.BTF.ext` that gives the source line of the code that starts at an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LineRecord {
    /// Offset of the instruction from the start of the section, in bytes.
    pub offset: u32,
    pub file: StringId,
    pub text: StringId,
    pub line: u32,
    pub column: u32,
}

/// A CO-RE relocation of an instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct CoreRecord {
    /// Offset of the instruction from the start of the section, in bytes.
    pub offset: u32,
    pub ty: TypeId,
    pub access: StringId,
    /// Kind of relocation, as a number in `enum bpf_core_relo_kind`.
    pub kind: u32,
}

/// All records of `.BTF.ext`, grouped by section name. The records of a section are sorted by
/// offset.
#[derive(Clone, Debug, Default)]
pub(crate) struct BtfExt {
    pub functions: Vec<(String, Vec<FuncRecord>)>,
    pub lines: Vec<(String, Vec<LineRecord>)>,
    pub core: Vec<(String, Vec<CoreRecord>)>,
}

impl BtfExt {
    pub fn parse(data: &[u8], btf: &Btf) -> Result<Self, ObjectError> {
        let text = "the section of extensions";
        let header_len = header_len(data, text)?;
        let cut = || ObjectError::btf("parts of .BTF.ext reach beyond its end", DAMAGED);
        // Header: magic, version, flags, length; then offset and length of each part.
        let mut header = Reader::new(data.get(8..header_len as usize).ok_or_else(cut)?);
        let mut next = || header.u32();
        let functions = (next().unwrap_or(0), next().unwrap_or(0));
        let line_info = (next().unwrap_or(0), next().unwrap_or(0));
        let core = (next().unwrap_or(0), next().unwrap_or(0));
        let functions = part(data, header_len, functions.0, functions.1);
        let lines = part(data, header_len, line_info.0, line_info.1).ok_or_else(cut)?;
        let core = part(data, header_len, core.0, core.1).ok_or_else(cut)?;
        // Function types are needed only for writing an object, so a damaged part is not an error.
        let functions = functions.and_then(|part| records(part, btf, 8, func_record));
        let mut functions = functions.unwrap_or_default();
        let mut lines = records(lines, btf, 16, line_record).ok_or_else(cut)?;
        let mut core = records(core, btf, 16, core_record).ok_or_else(cut)?;
        functions.iter_mut().for_each(|(_, list)| list.sort_by_key(|function| function.offset));
        lines.iter_mut().for_each(|(_, list)| list.sort_by_key(|line| line.offset));
        core.iter_mut().for_each(|(_, list)| list.sort_by_key(|core| core.offset));
        Ok(BtfExt { functions, lines, core })
    }

    /// Returns the type of the function that starts at an 8-byte slot of a section; `None` if no
    /// record names the slot.
    pub fn function_type(&self, section: &str, slot: usize) -> Option<TypeId> {
        let (_, records) = self.functions.iter().find(|(name, _)| name == section)?;
        let at = |record: &FuncRecord| u64::from(record.offset);
        let found = records.binary_search_by_key(&(slot as u64 * 8), at).ok()?;
        Some(records[found].ty)
    }
}

/// Encodes a section `.BTF.ext` without CO-RE relocations. Adds section names to `strings`. The
/// records must be sorted by offset; their string numbers are offsets into `strings`.
pub(crate) fn encode(
    functions: &[(String, Vec<FuncRecord>)],
    lines: &[(String, Vec<LineRecord>)],
    strings: &mut Strings,
) -> Vec<u8> {
    let functions = encode_part(functions, 8, strings, |f| vec![f.offset, f.ty.0]);
    let lines = encode_part(lines, 16, strings, |line| {
        // The line number has 22 bits, the column 10.
        let position = line.line << 10 | line.column.min(0x3ff);
        vec![line.offset, line.file.0, line.text.0, position]
    });
    let end = len(&functions) + len(&lines);
    let header = words(&[HEADER, 0, len(&functions), len(&functions), len(&lines), end, 0]);
    [&MAGIC[..], &header, &functions, &lines].concat()
}

/// Encodes one part of `.BTF.ext`, such as all function types: the size of a record, then for each
/// section its name, the record count and the records. Returns no bytes if no section has records.
fn encode_part<T>(
    sections: &[(String, Vec<T>)],
    size: u32,
    strings: &mut Strings,
    record: impl Fn(&T) -> Vec<u32>,
) -> Vec<u8> {
    let mut out = vec![size];
    for (name, records) in sections.iter().filter(|(_, records)| !records.is_empty()) {
        out.extend([strings.offset(name), records.len() as u32]);
        out.extend(records.iter().flat_map(&record));
    }
    if out.len() == 1 { Vec::new() } else { words(&out) }
}

/// Reads one part of `.BTF.ext`, such as all function types: the size of a record, then for each
/// section its name, the record count and the records. Reads the first `known` bytes of each record
/// and skips the rest, which later versions of the format may add.
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

fn func_record(reader: &mut Reader) -> Option<FuncRecord> {
    Some(FuncRecord { offset: reader.u32()?, ty: TypeId(reader.u32()?) })
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

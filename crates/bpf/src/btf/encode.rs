//! Encodes type tables in the BTF format.

use std::collections::HashMap;

use super::{Btf, EnumType, FuncLinkage, Kind, Param, RawMember, StringId, Type, VarLinkage};

/// First bytes of a BTF header: magic number, version 1, no flags.
pub(super) const MAGIC: [u8; 4] = [0x9f, 0xeb, 1, 0];
/// Size of a BTF header in bytes.
const HEADER: u32 = 24;

/// A BTF string table under construction, which stores each string once.
#[derive(Debug)]
pub(crate) struct Strings {
    bytes: Vec<u8>,
    known: HashMap<String, u32>,
}

impl Default for Strings {
    fn default() -> Self {
        Strings { bytes: vec![0], known: HashMap::from([(String::new(), 0)]) }
    }
}

impl Strings {
    /// Returns the offset of a string, adding it if it is new. Ignores a NUL byte and everything
    /// after it.
    pub fn offset(&mut self, text: &str) -> u32 {
        let text = text.split('\0').next().unwrap_or_default();
        if let Some(known) = self.known.get(text) {
            return *known;
        }
        let offset = len(&self.bytes);
        self.bytes.extend_from_slice(text.as_bytes());
        self.bytes.push(0);
        self.known.insert(text.to_owned(), offset);
        offset
    }
}

/// Returns the length of `bytes` as a 32-bit number, the type that the format uses for lengths.
pub(super) fn len(bytes: &[u8]) -> u32 {
    u32::try_from(bytes.len()).unwrap_or(u32::MAX)
}

/// Returns the bytes of 32-bit words in little-endian order.
pub(super) fn words(words: &[u32]) -> Vec<u8> {
    words.iter().flat_map(|word| word.to_le_bytes()).collect()
}

impl Btf {
    /// Encodes the types as a section `.BTF`. Types keep their numbers; strings that no type uses
    /// are dropped.
    pub fn encode(&self) -> Vec<u8> {
        let mut strings = Strings::default();
        let types = self.encode_types(&mut strings);
        section(&types, &strings)
    }

    /// Encodes all types except `void`, and adds their names to `strings`.
    pub(crate) fn encode_types(&self, strings: &mut Strings) -> Vec<u8> {
        let mut writer = Writer { btf: self, strings, out: Vec::new() };
        self.types.iter().skip(1).for_each(|ty| writer.ty(ty));
        words(&writer.out)
    }
}

/// Builds a section `.BTF` from encoded types and a string table.
pub(crate) fn section(types: &[u8], strings: &Strings) -> Vec<u8> {
    let sizes = [HEADER, 0, len(types), len(types), len(&strings.bytes)];
    [&MAGIC[..], &words(&sizes), types, &strings.bytes].concat()
}

struct Writer<'a> {
    btf: &'a Btf,
    strings: &'a mut Strings,
    out: Vec<u32>,
}

impl Writer<'_> {
    fn string(&mut self, id: StringId) -> u32 {
        self.strings.offset(self.btf.string(id))
    }

    /// Appends the three words with which every encoded type starts. `flag` is the highest bit of
    /// the second word, `parts` the number of members, parameters or variables, and `third` the
    /// third word.
    fn head(&mut self, name: StringId, kind: u32, flag: bool, parts: usize, third: u32) {
        let name = self.string(name);
        // A type has at most 65,535 parts: the parser rejects larger ones.
        let info = u32::from(flag) << 31 | kind << 24 | (parts as u32 & 0xffff);
        self.out.extend([name, info, third]);
    }

    fn ty(&mut self, ty: &Type) {
        let name = ty.name;
        match &ty.kind {
            Kind::Void => self.head(name, 0, false, 0, 0),
            Kind::Int(int) => {
                self.head(name, 1, false, 0, int.size);
                let encoding =
                    u32::from(int.signed) | u32::from(int.char) << 1 | u32::from(int.bool) << 2;
                let word = encoding << 24 | u32::from(int.offset) << 16 | u32::from(int.bits);
                self.out.push(word);
            }
            Kind::Ptr(to) => self.head(name, 2, false, 0, to.0),
            Kind::Array { element, index, len } => {
                self.head(name, 3, false, 0, 0);
                self.out.extend([element.0, index.0, *len]);
            }
            Kind::Struct { size, members } => self.composite(name, 4, *size, members),
            Kind::Union { size, members } => self.composite(name, 5, *size, members),
            Kind::Enum(of) => self.enumeration(name, of),
            Kind::Fwd { union } => self.head(name, 7, *union, 0, 0),
            Kind::Typedef(to) => self.head(name, 8, false, 0, to.0),
            Kind::Volatile(to) => self.head(name, 9, false, 0, to.0),
            Kind::Const(to) => self.head(name, 10, false, 0, to.0),
            Kind::Restrict(to) => self.head(name, 11, false, 0, to.0),
            Kind::Func { proto, linkage } => {
                let linkage = match linkage {
                    FuncLinkage::Static => 0,
                    FuncLinkage::Global => 1,
                    FuncLinkage::Extern => 2,
                };
                self.head(name, 12, false, linkage, proto.0);
            }
            Kind::FuncProto { ret, params } => {
                self.head(name, 13, false, params.len(), ret.0);
                for Param { name, ty } in params {
                    let name = self.string(*name);
                    self.out.extend([name, ty.0]);
                }
            }
            Kind::Var { ty, linkage } => {
                self.head(name, 14, false, 0, ty.0);
                self.out.push(match linkage {
                    VarLinkage::Static => 0,
                    VarLinkage::Global => 1,
                    VarLinkage::Extern => 2,
                });
            }
            Kind::DataSec { size, vars } => {
                self.head(name, 15, false, vars.len(), *size);
                self.out.extend(vars.iter().flat_map(|var| [var.ty.0, var.offset, var.size]));
            }
            Kind::Float { size } => self.head(name, 16, false, 0, *size),
            Kind::DeclTag { ty, component } => {
                self.head(name, 17, false, 0, ty.0);
                self.out.push(*component as u32);
            }
            Kind::TypeTag(to) => self.head(name, 18, false, 0, to.0),
        }
    }

    fn composite(&mut self, name: StringId, kind: u32, size: u32, members: &[RawMember]) {
        let bitfields = members.iter().any(|member| member.bitfield != 0);
        self.head(name, kind, bitfields, members.len(), size);
        for member in members {
            let name = self.string(member.name);
            let offset = u32::from(member.bitfield) << 24 | member.bit_offset;
            self.out.extend([name, member.ty.0, offset]);
        }
    }

    fn enumeration(&mut self, name: StringId, ty: &EnumType) {
        // Values of more than 32 bits need another kind (`BTF_KIND_ENUM64`).
        let narrow = |value: u64| match ty.signed {
            true => i64::from(value as i32) as u64 == value,
            false => u64::from(value as u32) == value,
        };
        let wide = ty.size > 4 || !ty.variants.iter().all(|variant| narrow(variant.value));
        self.head(name, if wide { 19 } else { 6 }, ty.signed, ty.variants.len(), ty.size);
        for variant in &ty.variants {
            let name = self.string(variant.name);
            self.out.extend([name, variant.value as u32]);
            if wide {
                self.out.push((variant.value >> 32) as u32);
            }
        }
    }
}

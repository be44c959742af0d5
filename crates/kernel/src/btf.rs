//! Encodes the type information (BTF) of a BPF object for the kernel. Each type keeps its id.
//!
//! The kernel checks BTF more strictly than compilers. As libbpf does for older kernels, the
//! encoder replaces types that the kernel may reject and that loading does not need. Variables and
//! sections become pointers, unnamed parameters get a name, and kernel functions count as global.
//! Functions that are static after linking are marked as static.
//!
//! Source: the kernel's `Documentation/bpf/btf.rst` and `kernel/bpf/btf.c`.

#[cfg(test)]
mod tests;

use std::collections::HashMap;

use slowpath_bpf::Btf;
use slowpath_bpf::btf::{EnumType, FuncLinkage, Kind, Param, RawMember, StringId, TypeId};

/// Magic number 0xeb9f, version 1 and no flags, with which BTF data starts.
const MAGIC: [u8; 4] = [0x9f, 0xeb, 1, 0];
const HEADER: u32 = 24;

/// Encodes types as a `.BTF` section. The functions named in `static_functions` are marked as
/// static.
pub fn encode(btf: &Btf, static_functions: &[&str]) -> Vec<u8> {
    let mut writer = Writer {
        btf,
        static_functions,
        types: Vec::new(),
        strings: vec![0],
        offsets: HashMap::from([("", 0)]),
    };
    for (id, _) in btf.types().skip(1) {
        writer.write(id);
    }
    let (types, strings) = (writer.types, writer.strings);
    let len = |bytes: &[u8]| u32::try_from(bytes.len()).unwrap_or(u32::MAX);
    let mut bytes = MAGIC.to_vec();
    for field in [HEADER, 0, len(&types), len(&types), len(&strings)] {
        bytes.extend_from_slice(&field.to_ne_bytes());
    }
    bytes.extend_from_slice(&types);
    bytes.extend_from_slice(&strings);
    bytes
}

struct Writer<'a> {
    btf: &'a Btf,
    static_functions: &'a [&'a str],
    types: Vec<u8>,
    strings: Vec<u8>,
    offsets: HashMap<&'a str, u32>,
}

impl<'a> Writer<'a> {
    fn word(&mut self, word: u32) {
        self.types.extend_from_slice(&word.to_ne_bytes());
    }

    fn string(&mut self, text: &'a str) -> u32 {
        if let Some(offset) = self.offsets.get(text) {
            return *offset;
        }
        let offset = u32::try_from(self.strings.len()).unwrap_or(0);
        self.strings.extend_from_slice(text.as_bytes());
        self.strings.push(0);
        self.offsets.insert(text, offset);
        offset
    }

    /// Writes the three 4-byte words at the start of a BTF type: its name, a word with `kind`,
    /// `flag` (the highest bit) and `len` (the low 16 bits), and the word `third`.
    fn head(&mut self, name: StringId, kind: u32, flag: bool, len: usize, third: u32) {
        let name = self.string(self.btf.string(name));
        self.word(name);
        // A type has at most 65,535 members: the parser rejects others.
        self.word(u32::from(flag) << 31 | kind << 24 | (len as u32 & 0xffff));
        self.word(third);
    }

    fn pointer_to_void(&mut self) {
        self.head(StringId(0), 2, false, 0, 0);
    }

    fn write(&mut self, id: TypeId) {
        let btf = self.btf;
        let name = btf.get(id).map(|ty| ty.name).unwrap_or_default();
        match btf.kind(id) {
            Kind::Int(int) => {
                self.head(name, 1, false, 0, int.size);
                let encoding =
                    u32::from(int.signed) | u32::from(int.char) << 1 | u32::from(int.bool) << 2;
                self.word(encoding << 24 | u32::from(int.offset) << 16 | u32::from(int.bits));
            }
            Kind::Ptr(to) => self.head(StringId(0), 2, false, 0, to.0),
            Kind::Array { element, index, len } => {
                self.head(StringId(0), 3, false, 0, 0);
                for word in [element.0, index.0, *len] {
                    self.word(word);
                }
            }
            Kind::Struct { size, members } => self.composite(name, 4, *size, members),
            Kind::Union { size, members } => self.composite(name, 5, *size, members),
            Kind::Enum(e) => self.enumeration(name, e),
            Kind::Fwd { union } => self.head(name, 7, *union, 0, 0),
            Kind::Typedef(to) => self.head(name, 8, false, 0, to.0),
            Kind::Volatile(to) => self.head(StringId(0), 9, false, 0, to.0),
            Kind::Const(to) => self.head(StringId(0), 10, false, 0, to.0),
            Kind::Restrict(to) => self.head(StringId(0), 11, false, 0, to.0),
            Kind::Func { proto, linkage } => {
                let is_static = self.static_functions.contains(&btf.string(name));
                let linkage = match linkage {
                    FuncLinkage::Static => 0,
                    FuncLinkage::Global | FuncLinkage::Extern => usize::from(!is_static),
                };
                self.head(name, 12, false, linkage, proto.0);
            }
            Kind::FuncProto { ret, params } => self.prototype(*ret, params),
            Kind::Float { size } => self.head(name, 16, false, 0, *size),
            Kind::DeclTag { ty, component } if !matches!(btf.kind(*ty), Kind::Var { .. }) => {
                self.head(name, 17, false, 0, ty.0);
                self.types.extend_from_slice(&component.to_ne_bytes());
            }
            Kind::TypeTag(to) => self.head(name, 18, false, 0, to.0),
            Kind::Void | Kind::Var { .. } | Kind::DataSec { .. } | Kind::DeclTag { .. } => {
                self.pointer_to_void();
            }
        }
    }

    fn composite(&mut self, name: StringId, kind: u32, size: u32, members: &'a [RawMember]) {
        let bitfields = members.iter().any(|m| m.bitfield != 0);
        self.head(name, kind, bitfields, members.len(), size);
        for member in members {
            let name = self.string(self.btf.string(member.name));
            self.word(name);
            self.word(member.ty.0);
            self.word(u32::from(member.bitfield) << 24 | member.bit_offset);
        }
    }

    fn enumeration(&mut self, name: StringId, e: &'a EnumType) {
        // Kind 19 is `BTF_KIND_ENUM64`.
        let wide = e.size > 4;
        self.head(name, if wide { 19 } else { 6 }, e.signed, e.variants.len(), e.size);
        for variant in &e.variants {
            let name = self.string(self.btf.string(variant.name));
            self.word(name);
            self.word(variant.value as u32);
            if wide {
                self.word((variant.value >> 32) as u32);
            }
        }
    }

    fn prototype(&mut self, ret: TypeId, params: &'a [Param]) {
        self.head(StringId(0), 13, false, params.len(), ret.0);
        for param in params {
            let name = match self.btf.string(param.name) {
                "" if param.ty != TypeId::VOID => "arg",
                name => name,
            };
            let name = self.string(name);
            self.word(name);
            self.word(param.ty.0);
        }
    }
}

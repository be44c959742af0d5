//! Parses type tables in the BTF format.

use super::{
    Btf, EnumType, FuncLinkage, IntType, Kind, Param, RawMember, SecVar, StringId, Type, TypeId,
    VarLinkage, Variant, essential_name,
};
use crate::ObjectError;
use crate::error::DAMAGED;

const MAGIC: u16 = 0xeb9f;

/// A reader that takes little-endian numbers and byte ranges from the front of `data`.
pub(super) struct Reader<'data> {
    data: &'data [u8],
}

impl<'data> Reader<'data> {
    pub fn new(data: &'data [u8]) -> Self {
        Reader { data }
    }

    pub fn u32(&mut self) -> Option<u32> {
        let (first, rest) = self.data.split_first_chunk::<4>()?;
        self.data = rest;
        Some(u32::from_le_bytes(*first))
    }

    pub fn take(&mut self, len: usize) -> Option<&'data [u8]> {
        let (first, rest) = self.data.split_at_checked(len)?;
        self.data = rest;
        Some(first)
    }

    pub fn is_empty(&self) -> bool {
        self.data.is_empty()
    }
}

/// Returns the `len` bytes at `base + offset`; `None` if they reach beyond the end of `data`.
pub(super) fn part(data: &[u8], base: u32, offset: u32, len: u32) -> Option<&[u8]> {
    let start = (base as usize).checked_add(offset as usize)?;
    data.get(start..start.checked_add(len as usize)?)
}

/// Checks the first bytes of the header, which are the same in `.BTF` and `.BTF.ext`. Returns the
/// header's length in bytes. `what` is the name of the section in error messages.
pub(super) fn header_len(data: &[u8], what: &str) -> Result<u32, ObjectError> {
    let short = || ObjectError::btf(format!("{what} is shorter than its header"), DAMAGED);
    let (magic, rest) = data.split_first_chunk::<2>().ok_or_else(short)?;
    if u16::from_be_bytes(*magic) == MAGIC {
        let hint = "compile for a little-endian machine (-target bpfel)";
        return Err(ObjectError::btf(format!("{what} is big-endian"), hint));
    }
    if u16::from_le_bytes(*magic) != MAGIC {
        let what = format!("{what} does not start with the magic number of BTF");
        return Err(ObjectError::btf(what, "pass BTF, such as /sys/kernel/btf/vmlinux"));
    }
    if rest.first() != Some(&1) {
        let version = rest.first().copied().unwrap_or(0);
        let what = format!("{what} has version {version}");
        return Err(ObjectError::btf(what, "slowpath reads version 1"));
    }
    Reader::new(rest.get(2..).ok_or_else(short)?).u32().ok_or_else(short)
}

impl Btf {
    /// Parses the bytes of a section `.BTF` or of a BTF file.
    pub fn parse(data: &[u8]) -> Result<Btf, ObjectError> {
        let header_len = header_len(data, "the section")?;
        let cut = || ObjectError::btf("its header names parts beyond its end", DAMAGED);
        let mut header = Reader::new(data.get(8..).ok_or_else(cut)?);
        let mut next = || header.u32().ok_or_else(cut);
        let (type_off, type_len, str_off, str_len) = (next()?, next()?, next()?, next()?);
        let types = part(data, header_len, type_off, type_len).ok_or_else(cut)?;
        let strings = part(data, header_len, str_off, str_len).ok_or_else(cut)?;
        if strings.first().is_some_and(|b| *b != 0) || strings.last().is_some_and(|b| *b != 0) {
            return Err(ObjectError::btf(
                "its table of strings does not start and end with a zero \
                 byte",
                DAMAGED,
            ));
        }
        let mut btf = Btf {
            types: vec![Type { name: StringId(0), kind: Kind::Void }],
            strings: strings.to_vec(),
            by_name: Vec::new(),
        };
        let mut reader = Reader::new(types);
        while !reader.is_empty() {
            let id = btf.types.len();
            let ty = read_type(&mut reader).map_err(|what| {
                ObjectError::btf(format!("type {id}: {what}"), "slowpath knows the kinds 1 to 19")
            })?;
            btf.types.push(ty);
        }
        btf.by_name = btf.index();
        Ok(btf)
    }

    /// Returns the numbers of all named types, sorted by name without CO-RE flavour (`___` and the
    /// text after it).
    pub(super) fn index(&self) -> Vec<TypeId> {
        let mut named: Vec<(&str, TypeId)> = self
            .types()
            .filter(|(_, ty)| ty.name.0 != 0)
            .map(|(id, ty)| (essential_name(self.string(ty.name)), id))
            .collect();
        named.sort_unstable();
        named.into_iter().map(|(_, id)| id).collect()
    }
}

fn read_type(reader: &mut Reader) -> Result<Type, &'static str> {
    const CUT: &str = "cut off";
    let (Some(name), Some(info), Some(third)) = (reader.u32(), reader.u32(), reader.u32()) else {
        return Err(CUT);
    };
    let vlen = info & 0xffff;
    let flag = info >> 31 != 0;
    let ty = TypeId(third);
    let mut next = || reader.u32().ok_or(CUT);
    let kind = match (info >> 24) & 0x1f {
        1 => int(third, next()?),
        2 => Kind::Ptr(ty),
        3 => Kind::Array { element: TypeId(next()?), index: TypeId(next()?), len: next()? },
        kind @ (4 | 5) => {
            let mut members = Vec::new();
            for _ in 0..vlen {
                let (name, ty, offset) = (StringId(next()?), TypeId(next()?), next()?);
                let (bit_offset, bitfield) =
                    if flag { (offset & 0xff_ffff, (offset >> 24) as u8) } else { (offset, 0) };
                members.push(RawMember { name, ty, bit_offset, bitfield });
            }
            let size = third;
            if kind == 4 { Kind::Struct { size, members } } else { Kind::Union { size, members } }
        }
        kind @ (6 | 19) => {
            let mut variants = Vec::new();
            for _ in 0..vlen {
                let (name, low) = (StringId(next()?), next()?);
                let value = match (kind, flag) {
                    (19, _) => u64::from(low) | u64::from(next()?) << 32,
                    (_, true) => i64::from(low as i32) as u64,
                    (_, false) => low.into(),
                };
                variants.push(Variant { name, value });
            }
            // Before kernel 6.0, BTF did not record the signedness of 4-byte enumerations.
            Kind::Enum(EnumType { size: third, signed: flag, variants })
        }
        7 => Kind::Fwd { union: flag },
        8 => Kind::Typedef(ty),
        9 => Kind::Volatile(ty),
        10 => Kind::Const(ty),
        11 => Kind::Restrict(ty),
        12 => Kind::Func {
            proto: ty,
            linkage: match vlen {
                0 => FuncLinkage::Static,
                1 => FuncLinkage::Global,
                _ => FuncLinkage::Extern,
            },
        },
        13 => {
            let mut params = Vec::new();
            for _ in 0..vlen {
                params.push(Param { name: StringId(next()?), ty: TypeId(next()?) });
            }
            Kind::FuncProto { ret: ty, params }
        }
        14 => Kind::Var {
            ty,
            linkage: match next()? {
                0 => VarLinkage::Static,
                1 => VarLinkage::Global,
                _ => VarLinkage::Extern,
            },
        },
        15 => {
            let mut vars = Vec::new();
            for _ in 0..vlen {
                vars.push(SecVar { ty: TypeId(next()?), offset: next()?, size: next()? });
            }
            Kind::DataSec { size: third, vars }
        }
        16 => Kind::Float { size: third },
        17 => Kind::DeclTag { ty, component: next()? as i32 },
        18 => Kind::TypeTag(ty),
        _ => return Err("unknown kind"),
    };
    Ok(Type { name: StringId(name), kind })
}

fn int(size: u32, data: u32) -> Kind {
    let encoding = data >> 24;
    Kind::Int(IntType {
        size,
        bits: data as u8,
        offset: (data >> 16) as u8,
        signed: encoding & 1 != 0,
        char: encoding & 2 != 0,
        bool: encoding & 4 != 0,
    })
}

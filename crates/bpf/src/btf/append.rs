//! Appends one BTF type table to another, as a static linker does.

use super::{
    Btf, BtfExt, CoreRecord, FuncRecord, Kind, LineRecord, Param, RawMember, SecVar, StringId,
    Type, TypeId,
};

/// Numbers that are added to the type numbers and the string offsets of a table when it is appended
/// to another table.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Shift {
    types: u32,
    strings: u32,
}

impl Shift {
    /// Returns the number that a type of the appended table has in the joined table; `void` keeps
    /// number 0.
    pub fn ty(self, id: TypeId) -> TypeId {
        if id == TypeId::VOID { id } else { TypeId(id.0.saturating_add(self.types)) }
    }

    fn string(self, id: StringId) -> StringId {
        if id.0 == 0 { id } else { StringId(id.0.saturating_add(self.strings)) }
    }

    fn member(self, member: &RawMember) -> RawMember {
        RawMember { name: self.string(member.name), ty: self.ty(member.ty), ..*member }
    }

    fn kind(self, kind: &Kind) -> Kind {
        let members = |members: &[RawMember]| members.iter().map(|m| self.member(m)).collect();
        match kind {
            Kind::Void => Kind::Void,
            Kind::Int(int) => Kind::Int(*int),
            Kind::Ptr(to) => Kind::Ptr(self.ty(*to)),
            Kind::Array { element, index, len } => {
                Kind::Array { element: self.ty(*element), index: self.ty(*index), len: *len }
            }
            Kind::Struct { size, members: all } => {
                Kind::Struct { size: *size, members: members(all) }
            }
            Kind::Union { size, members: all } => {
                Kind::Union { size: *size, members: members(all) }
            }
            Kind::Enum(original) => {
                let mut shifted = original.clone();
                for variant in &mut shifted.variants {
                    variant.name = self.string(variant.name);
                }
                Kind::Enum(shifted)
            }
            Kind::Fwd { union } => Kind::Fwd { union: *union },
            Kind::Typedef(of) => Kind::Typedef(self.ty(*of)),
            Kind::Volatile(of) => Kind::Volatile(self.ty(*of)),
            Kind::Const(of) => Kind::Const(self.ty(*of)),
            Kind::Restrict(of) => Kind::Restrict(self.ty(*of)),
            Kind::Func { proto, linkage } => {
                Kind::Func { proto: self.ty(*proto), linkage: *linkage }
            }
            Kind::FuncProto { ret, params } => {
                let param = |p: &Param| Param { name: self.string(p.name), ty: self.ty(p.ty) };
                Kind::FuncProto { ret: self.ty(*ret), params: params.iter().map(param).collect() }
            }
            Kind::Var { ty, linkage } => Kind::Var { ty: self.ty(*ty), linkage: *linkage },
            Kind::DataSec { size, vars } => {
                let var = |var: &SecVar| SecVar { ty: self.ty(var.ty), ..*var };
                Kind::DataSec { size: *size, vars: vars.iter().map(var).collect() }
            }
            Kind::Float { size } => Kind::Float { size: *size },
            Kind::DeclTag { ty, component } => {
                Kind::DeclTag { ty: self.ty(*ty), component: *component }
            }
            Kind::TypeTag(of) => Kind::TypeTag(self.ty(*of)),
        }
    }

    /// Returns a copy of the records of `.BTF.ext` with the type numbers and string offsets of the
    /// joined table.
    pub fn ext(self, ext: &BtfExt) -> BtfExt {
        let line = |line: &LineRecord| LineRecord {
            file: self.string(line.file),
            text: self.string(line.text),
            ..*line
        };
        let core = |core: &CoreRecord| CoreRecord {
            ty: self.ty(core.ty),
            access: self.string(core.access),
            ..*core
        };
        let function = |record: &FuncRecord| FuncRecord { ty: self.ty(record.ty), ..*record };
        BtfExt {
            functions: sections(&ext.functions, function),
            lines: sections(&ext.lines, line),
            core: sections(&ext.core, core),
        }
    }
}

fn sections<T>(original: &[(String, Vec<T>)], shift: impl Fn(&T) -> T) -> Vec<(String, Vec<T>)> {
    let shifted = |records: &[T]| records.iter().map(&shift).collect();
    original.iter().map(|(name, records)| (name.clone(), shifted(records))).collect()
}

impl Btf {
    /// Appends all types of `other` to this table, also types that this table already contains.
    /// Returns the amounts by which the type numbers and string offsets of `other` grow.
    pub(crate) fn append(&mut self, other: &Btf) -> Shift {
        let shift =
            Shift { types: (self.types.len() - 1) as u32, strings: self.strings.len() as u32 };
        self.strings.extend_from_slice(&other.strings);
        self.types.extend(
            other
                .types
                .iter()
                .skip(1)
                .map(|of| Type { name: shift.string(of.name), kind: shift.kind(&of.kind) }),
        );
        self.by_name = self.index();
        shift
    }
}

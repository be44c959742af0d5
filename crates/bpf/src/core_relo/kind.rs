//! Defines the kinds of CO-RE relocations (`enum bpf_core_relo_kind` of the kernel's
//! `uapi/linux/bpf.h`).

/// The kind of number that a relocation puts into the instruction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum RelocationKind {
    FieldByteOffset,
    FieldByteSize,
    FieldExists,
    FieldSigned,
    FieldShiftLeft,
    FieldShiftRight,
    TypeIdLocal,
    TypeIdTarget,
    TypeExists,
    TypeSize,
    EnumvalExists,
    EnumvalValue,
    TypeMatches,
}

impl RelocationKind {
    pub fn new(number: u32) -> Option<Self> {
        use RelocationKind::*;
        const KINDS: [RelocationKind; 13] = [
            FieldByteOffset,
            FieldByteSize,
            FieldExists,
            FieldSigned,
            FieldShiftLeft,
            FieldShiftRight,
            TypeIdLocal,
            TypeIdTarget,
            TypeExists,
            TypeSize,
            EnumvalExists,
            EnumvalValue,
            TypeMatches,
        ];
        KINDS.get(number as usize).copied()
    }

    pub fn of_type(self) -> bool {
        use RelocationKind::*;
        matches!(self, TypeIdLocal | TypeIdTarget | TypeExists | TypeSize | TypeMatches)
    }

    pub fn of_enum(self) -> bool {
        use RelocationKind::*;
        matches!(self, EnumvalExists | EnumvalValue)
    }
}

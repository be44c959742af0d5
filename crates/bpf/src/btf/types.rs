//! The types that BTF describes, and the table of them.

/// Number of a type in its [`Btf`]; 0 is `void`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TypeId(pub u32);

impl TypeId {
    /// `void`.
    pub const VOID: TypeId = TypeId(0);
}

/// Offset of a string in its [`Btf`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Default)]
pub struct StringId(pub u32);

/// Type information of an object or of a kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Btf {
    pub(super) types: Vec<Type>,
    pub(super) strings: Vec<u8>,
    /// Types with a name, by essential name.
    pub(super) by_name: Vec<TypeId>,
}

/// One type.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Its name; empty for many kinds.
    pub name: StringId,
    /// What it is.
    pub kind: Kind,
}

/// What a type is.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// No type.
    Void,
    /// An integer.
    Int(IntType),
    /// A pointer.
    Ptr(TypeId),
    /// An array.
    Array {
        /// Type of its elements.
        element: TypeId,
        /// Type of its index.
        index: TypeId,
        /// How many elements.
        len: u32,
    },
    /// A structure.
    Struct {
        /// In bytes.
        size: u32,
        /// Its members, in order.
        members: Vec<RawMember>,
    },
    /// A union.
    Union {
        /// In bytes.
        size: u32,
        /// Its members, in order.
        members: Vec<RawMember>,
    },
    /// An enumeration of any size.
    Enum(EnumType),
    /// A structure or union that is declared only.
    Fwd {
        /// Whether it is a union.
        union: bool,
    },
    /// A second name of a type.
    Typedef(TypeId),
    /// `volatile`.
    Volatile(TypeId),
    /// `const`.
    Const(TypeId),
    /// `restrict`.
    Restrict(TypeId),
    /// A function.
    Func {
        /// Its [`Kind::FuncProto`].
        proto: TypeId,
        /// Whether other files see it.
        linkage: FuncLinkage,
    },
    /// The type of a function.
    FuncProto {
        /// What it returns.
        ret: TypeId,
        /// Its parameters; a last one without type stands for `...`.
        params: Vec<Param>,
    },
    /// A variable.
    Var {
        /// Its type.
        ty: TypeId,
        /// Whether other files see it.
        linkage: VarLinkage,
    },
    /// The variables of a section.
    DataSec {
        /// In bytes; 0 in compiler output.
        size: u32,
        /// Its variables.
        vars: Vec<SecVar>,
    },
    /// A floating-point number.
    Float {
        /// In bytes.
        size: u32,
    },
    /// An attribute of a declaration; its text is the type's name.
    DeclTag {
        /// What has the attribute.
        ty: TypeId,
        /// Number of a member or parameter; -1 for the whole.
        component: i32,
    },
    /// An attribute of a type; its text is the type's name.
    TypeTag(TypeId),
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntType {
    /// In bytes.
    pub size: u32,
    /// How many bits count.
    pub bits: u8,
    /// The first bit that counts.
    pub offset: u8,
    /// Whether it is signed.
    pub signed: bool,
    /// Whether it is a character type.
    pub char: bool,
    /// Whether it is `_Bool`.
    pub bool: bool,
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    /// In bytes.
    pub size: u32,
    /// Whether its values are signed.
    pub signed: bool,
    /// Its constants.
    pub variants: Vec<Variant>,
}

/// One constant of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Its name.
    pub name: StringId,
    /// Its value, sign-extended to 64 bits where it is signed.
    pub value: u64,
}

/// A member of a structure or union as it is stored.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawMember {
    /// Its name; empty for anonymous structures and unions.
    pub name: StringId,
    /// Its type.
    pub ty: TypeId,
    /// From the start of the structure, in bits.
    pub bit_offset: u32,
    /// Width in bits of a bit field; 0 for other members.
    pub bitfield: u8,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Its name.
    pub name: StringId,
    /// Its type.
    pub ty: TypeId,
}

/// A variable in a section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecVar {
    /// Its [`Kind::Var`].
    pub ty: TypeId,
    /// From the start of the section, in bytes; 0 in compiler output.
    pub offset: u32,
    /// In bytes.
    pub size: u32,
}

/// Who sees a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuncLinkage {
    /// Its own file.
    Static,
    /// Everybody; verified on its own.
    Global,
    /// Defined elsewhere.
    Extern,
}

/// Who sees a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarLinkage {
    /// Its own file.
    Static,
    /// Everybody.
    Global,
    /// Defined elsewhere.
    Extern,
}

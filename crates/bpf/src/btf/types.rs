//! Defines BTF types and the table that holds them.

/// Number of a type in its [`Btf`]; 0 is `void`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash, Default)]
pub struct TypeId(pub u32);

impl TypeId {
    /// The type `void`, which has number 0 in every table.
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
    /// Numbers of the named types, sorted by name without CO-RE flavour.
    pub(super) by_name: Vec<TypeId>,
}

/// A BTF type: its name, and its kind with the data of that kind.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Type {
    /// Name of the type; empty for types without a name, such as pointers.
    pub name: StringId,
    /// Kind of the type, with its data.
    pub kind: Kind,
}

/// Kind of a type, with its data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The type `void`.
    Void,
    /// An integer.
    Int(IntType),
    /// A pointer, and the number of the type that it points to.
    Ptr(TypeId),
    /// An array.
    Array {
        /// Type of the elements.
        element: TypeId,
        /// Type of the index.
        index: TypeId,
        /// Number of elements.
        len: u32,
    },
    /// A structure.
    Struct {
        /// Size in bytes.
        size: u32,
        /// Members, in order.
        members: Vec<RawMember>,
    },
    /// A union.
    Union {
        /// Size in bytes.
        size: u32,
        /// Members, in order.
        members: Vec<RawMember>,
    },
    /// An enumeration of any size.
    Enum(EnumType),
    /// A forward declaration of a structure or union.
    Fwd {
        /// True for a union, false for a structure.
        union: bool,
    },
    /// A typedef, and the number of the type that it names.
    Typedef(TypeId),
    /// A type with the qualifier `volatile`, and the number of the type without it.
    Volatile(TypeId),
    /// A type with the qualifier `const`, and the number of the type without it.
    Const(TypeId),
    /// A type with the qualifier `restrict`, and the number of the type without it.
    Restrict(TypeId),
    /// A function.
    Func {
        /// The function's prototype, a [`Kind::FuncProto`].
        proto: TypeId,
        /// Visibility outside the source file.
        linkage: FuncLinkage,
    },
    /// A function prototype.
    FuncProto {
        /// Type of the return value.
        ret: TypeId,
        /// Parameters; a last parameter of type `void` stands for `...`.
        params: Vec<Param>,
    },
    /// A variable.
    Var {
        /// Type of the variable.
        ty: TypeId,
        /// Visibility outside the source file.
        linkage: VarLinkage,
    },
    /// The variables of an ELF section.
    DataSec {
        /// Size in bytes; 0 in compiler output.
        size: u32,
        /// Variables of the section.
        vars: Vec<SecVar>,
    },
    /// A floating-point number.
    Float {
        /// Size in bytes.
        size: u32,
    },
    /// An attribute of a declaration. The name of the `DeclTag` itself is the text of the
    /// attribute.
    DeclTag {
        /// Declaration that has the attribute.
        ty: TypeId,
        /// Index of the member or parameter; -1 for the declaration as a whole.
        component: i32,
    },
    /// An attribute of the type with this number. The name of the `TypeTag` itself is the text of
    /// the attribute.
    TypeTag(TypeId),
}

/// An integer type.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct IntType {
    /// Size in bytes.
    pub size: u32,
    /// Number of bits that hold the value.
    pub bits: u8,
    /// Bit at which the value starts inside the integer; 0 except in old encodings of bit fields.
    pub offset: u8,
    /// True for a signed type.
    pub signed: bool,
    /// True for a character type.
    pub char: bool,
    /// True for `_Bool`.
    pub bool: bool,
}

/// An enumeration.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct EnumType {
    /// Size in bytes.
    pub size: u32,
    /// True if the values of the constants are signed.
    pub signed: bool,
    /// Constants of the enumeration.
    pub variants: Vec<Variant>,
}

/// One constant of an enumeration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Variant {
    /// Name of the constant.
    pub name: StringId,
    /// Value, sign-extended to 64 bits if the enumeration is signed.
    pub value: u64,
}

/// A member of a structure or union as BTF stores it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RawMember {
    /// Name; empty for an anonymous structure or union.
    pub name: StringId,
    /// Type of the member.
    pub ty: TypeId,
    /// Offset from the start of the structure, in bits.
    pub bit_offset: u32,
    /// Width in bits of a bit field; 0 for other members.
    pub bitfield: u8,
}

/// A parameter of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Param {
    /// Name of the parameter.
    pub name: StringId,
    /// Type of the parameter.
    pub ty: TypeId,
}

/// A variable that belongs to a section, with its position in the section.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SecVar {
    /// Type of the variable, a [`Kind::Var`].
    pub ty: TypeId,
    /// Offset from the start of the section, in bytes; 0 in compiler output.
    pub offset: u32,
    /// Size in bytes.
    pub size: u32,
}

/// Linkage of a function.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FuncLinkage {
    /// Visible in its own file only.
    Static,
    /// Visible in all files; the kernel verifies the function separately.
    Global,
    /// Defined in another file or in the kernel.
    Extern,
}

/// Linkage of a variable.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum VarLinkage {
    /// Visible in its own file only.
    Static,
    /// Visible in all files.
    Global,
    /// Defined in another file or in the kernel.
    Extern,
}

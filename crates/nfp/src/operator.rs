//! Operators, shifts and multiplication steps with their spelling in listings.
//!
//! Spelling only; the meaning is in `lift`.

/// Declares an enum whose variants have one spelling each.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// Every variant, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// The spelling in listings.
            pub fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// The variant with this spelling.
            pub fn from_text(text: &str) -> Option<Self> {
                match text {
                    $($text => Some($name::$variant),)*
                    _ => None,
                }
            }
        }
    };
}
pub(crate) use spelled;

spelled!(
    /// An operator of the arithmetic-logic unit.
    AluOp {
        /// Sum.
        Add = "+",
        /// Sum of the first operand and the low half word of the second.
        Add16 = "+16",
        /// Like [`AluOp::Add16`].
        Add8 = "+8",
        /// Sum and the carry flag.
        AddCarry = "+carry",
        /// Difference.
        Sub = "-",
        /// Difference, one less when the carry flag (no borrow) is clear.
        SubCarry = "-carry",
        /// Second operand minus the first.
        SubReversed = "B-A",
        /// The second operand.
        B = "B",
        /// Its complement.
        NotB = "~B",
        /// Bitwise and.
        And = "AND",
        /// Complement of the first and the second operand.
        NotAnd = "~AND",
        /// The first and the complement of the second operand.
        AndNot = "AND~",
        /// Bitwise or.
        Or = "OR",
        /// Bitwise exclusive or.
        Xor = "XOR",
    }
);

impl AluOp {
    /// Whether it works bit by bit: such operators clear carry and overflow.
    pub fn is_logical(self) -> bool {
        use AluOp::{And, AndNot, B, NotAnd, NotB, Or, Xor};
        matches!(self, B | NotB | And | NotAnd | AndNot | Or | Xor)
    }

    /// Whether the result does not depend on the first operand.
    pub fn ignores_first(self) -> bool {
        matches!(self, AluOp::B | AluOp::NotB)
    }
}

spelled!(
    /// One instruction of a multi-step multiplication.
    MulStep {
        /// Takes both factors.
        Start = "start",
        /// The only step of 24 × 8 bits.
        Step24x8 = "24x8_step1",
        /// Delivers the product of 24 × 8 bits.
        Last24x8 = "24x8_last",
        /// First step of 16 × 16 bits.
        Step16x16First = "16x16_step1",
        /// Second step of 16 × 16 bits.
        Step16x16Second = "16x16_step2",
        /// Delivers the low word of the product.
        Last16x16 = "16x16_last",
        /// First step of 32 × 32 bits.
        Step32x32First = "32x32_step1",
        /// Second step of 32 × 32 bits.
        Step32x32Second = "32x32_step2",
        /// Third step of 32 × 32 bits.
        Step32x32Third = "32x32_step3",
        /// Fourth step of 32 × 32 bits.
        Step32x32Fourth = "32x32_step4",
        /// Delivers the low word of the product.
        Last32x32 = "32x32_last",
        /// Delivers the high word of the product.
        Last32x32High = "32x32_last2",
    }
);

impl MulStep {
    /// Whether it writes a result and the condition codes.
    pub fn delivers(self) -> bool {
        use MulStep::{Last16x16, Last24x8, Last32x32, Last32x32High};
        matches!(self, Last16x16 | Last24x8 | Last32x32 | Last32x32High)
    }
}

/// The direction of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftKind {
    /// `<<n`
    Left,
    /// `>>n`, zeros come in.
    Right,
    /// `<<rotn`
    RotateLeft,
    /// `>>rotn`
    RotateRight,
}

/// The amount of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftAmount {
    /// A constant, 0 to 31 bits.
    Bits(u8),
    /// The low five bits of the first operand of the previous logical ALU operation.
    Indirect,
}

/// A shift of the second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// Its direction.
    pub kind: ShiftKind,
    /// Its amount.
    pub amount: ShiftAmount,
}

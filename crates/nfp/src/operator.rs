//! The operators, shifts and multiplication steps of instructions, with their spelling in listings.
//! The module `lift` defines their meaning.

/// Declares an enum whose variants have one spelling each.
macro_rules! spelled {
    ($(#[$doc:meta])* $name:ident { $($(#[$variant_doc:meta])* $variant:ident = $text:literal,)* }) => {
        $(#[$doc])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
        pub enum $name {
            $($(#[$variant_doc])* $variant,)*
        }

        impl $name {
            /// All variants, in the order of declaration.
            pub const ALL: &'static [$name] = &[$($name::$variant,)*];

            /// Returns the spelling in listings.
            pub fn text(self) -> &'static str {
                match self {
                    $($name::$variant => $text,)*
                }
            }

            /// Returns the variant with this spelling.
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
        /// Sum of both operands.
        Add = "+",
        /// Sum of the first operand and the low half word of the second.
        Add16 = "+16",
        /// Sum with the same result as [`AluOp::Add16`].
        Add8 = "+8",
        /// Sum of both operands and the carry flag.
        AddCarry = "+carry",
        /// First operand minus the second.
        Sub = "-",
        /// First operand minus the second, minus one more if the carry flag (no borrow) is clear.
        SubCarry = "-carry",
        /// Second operand minus the first.
        SubReversed = "B-A",
        /// The second operand, unchanged (a move).
        B = "B",
        /// Bitwise complement of the second operand.
        NotB = "~B",
        /// Bitwise and of both operands.
        And = "AND",
        /// Bitwise and of the second operand and the complement of the first.
        NotAnd = "~AND",
        /// Bitwise and of the first operand and the complement of the second.
        AndNot = "AND~",
        /// Bitwise or of both operands.
        Or = "OR",
        /// Bitwise exclusive or of both operands.
        Xor = "XOR",
    }
);

impl AluOp {
    /// Returns true for bitwise operators, which clear carry and overflow.
    pub fn is_logical(self) -> bool {
        use AluOp::{And, AndNot, B, NotAnd, NotB, Or, Xor};
        matches!(self, B | NotB | And | NotAnd | AndNot | Or | Xor)
    }

    /// Returns true if the operator uses only the second operand.
    pub fn ignores_first(self) -> bool {
        matches!(self, AluOp::B | AluOp::NotB)
    }
}

spelled!(
    /// One instruction of a multi-step multiplication.
    MulStep {
        /// First instruction of every multiplication, which loads both factors.
        Start = "start",
        /// The only step of a multiplication of 24 × 8 bits.
        Step24x8 = "24x8_step1",
        /// Writes the product of 24 × 8 bits.
        Last24x8 = "24x8_last",
        /// First step of a multiplication of 16 × 16 bits.
        Step16x16First = "16x16_step1",
        /// Second step of a multiplication of 16 × 16 bits.
        Step16x16Second = "16x16_step2",
        /// Writes the low word of the product of 16 × 16 bits.
        Last16x16 = "16x16_last",
        /// First step of a multiplication of 32 × 32 bits.
        Step32x32First = "32x32_step1",
        /// Second step of a multiplication of 32 × 32 bits.
        Step32x32Second = "32x32_step2",
        /// Third step of a multiplication of 32 × 32 bits.
        Step32x32Third = "32x32_step3",
        /// Fourth step of a multiplication of 32 × 32 bits.
        Step32x32Fourth = "32x32_step4",
        /// Writes the low word of the product of 32 × 32 bits.
        Last32x32 = "32x32_last",
        /// Writes the high word of the product of 32 × 32 bits.
        Last32x32High = "32x32_last2",
    }
);

impl MulStep {
    /// Returns true if the step writes a result and the condition codes.
    pub fn writes_result(self) -> bool {
        use MulStep::{Last16x16, Last24x8, Last32x32, Last32x32High};
        matches!(self, Last16x16 | Last24x8 | Last32x32 | Last32x32High)
    }
}

/// Direction and kind of a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftKind {
    /// `<<n`: to the left, fills with zeros.
    Left,
    /// `>>n`: to the right, fills with zeros.
    Right,
    /// `<<rotn`: rotation to the left.
    RotateLeft,
    /// `>>rotn`: rotation to the right.
    RotateRight,
}

/// The number of bits by which a shift moves its operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum ShiftAmount {
    /// A constant amount, 0 to 31 bits.
    Bits(u8),
    /// The low five bits of the first operand of the previous logical ALU operation.
    Indirect,
}

/// A shift that an instruction applies to its second operand.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shift {
    /// Direction of the shift, and whether it is a rotation.
    pub kind: ShiftKind,
    /// Number of bits by which the value is shifted.
    pub amount: ShiftAmount,
}

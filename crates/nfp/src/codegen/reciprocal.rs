//! Computes reciprocals for division by constants, as the kernel's `lib/math/reciprocal_div.c`
//! does. Chooses between the possible reciprocals as the driver does (`wrp_div_imm`). The method is
//! that of Granlund and Montgomery, "Division by Invariant Integers using Multiplication", section
//! 4.

/// The numbers that replace a division by a constant: a multiplier and a shift.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Reciprocal {
    /// The low 32 bits of the multiplier.
    pub factor: u32,
    /// Number of bits by which the high word of the product is shifted to the right.
    pub shift: u8,
    /// Logarithm of the divisor to base 2, rounded up.
    pub exponent: u8,
    /// True if the multiplier has a 33rd bit, which is not in `factor`.
    pub wide: bool,
}

/// Returns the reciprocal for a divisor of at most 2^31 and for dividends of `bits` bits
/// (`reciprocal_value_adv`).
fn reciprocal(divisor: u32, bits: u32) -> Reciprocal {
    let exponent = divisor.next_power_of_two().trailing_zeros();
    let mut shift = exponent;
    let mut low = (1u128 << (32 + exponent)) / u128::from(divisor);
    let high = (1u128 << (32 + exponent)) + (1u128 << (32 + exponent - bits));
    let mut high = high / u128::from(divisor);
    while shift > 0 && low >> 1 < high >> 1 {
        low >>= 1;
        high >>= 1;
        shift -= 1;
    }
    // The casts are lossless except for the 33rd bit of the multiplier, which `wide` stores.
    let (factor, wide) = (high as u32, high > u128::from(u32::MAX));
    Reciprocal { factor, shift: shift as u8, exponent: exponent as u8, wide }
}

/// Returns the reciprocal that the driver uses, and the number of bits by which the dividend is
/// shifted right before the multiplication. If the multiplier for an even divisor is too wide, the
/// shift divides out the factors of 2.
pub(super) fn chosen(divisor: u32) -> (Reciprocal, u8) {
    let reciprocal_of = reciprocal(divisor, 32);
    if reciprocal_of.wide && divisor.is_multiple_of(2) {
        let halvings = divisor.trailing_zeros();
        (reciprocal(divisor >> halvings, 32 - halvings), halvings as u8)
    } else {
        (reciprocal_of, 0)
    }
}

/// Returns true if the driver generates wrong code for a division by this constant. The code then
/// contains a shift by zero bits. The SmartNIC executes it as a shift by the operand of the
/// previous operation.
pub(super) fn is_wrong(divisor: u32) -> bool {
    if divisor > 1 << 31 {
        return false;
    }
    let (Reciprocal { shift, wide, .. }, _) = chosen(divisor);
    let exponent = chosen_exponent(divisor);
    match (divisor == 1 << exponent, wide) {
        (true, _) => exponent == 0,
        (false, true) => shift == 1,
        (false, false) => shift == 0,
    }
}

/// Returns the logarithm to base 2 of a divisor up to 2^31, rounded up.
pub(super) fn chosen_exponent(divisor: u32) -> u8 {
    reciprocal(divisor, 32).exponent
}

#[cfg(test)]
mod tests;

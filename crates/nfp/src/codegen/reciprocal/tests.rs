//! Tests that multiplying by a reciprocal gives the same results as division.

use proptest::prelude::*;

use super::{chosen, chosen_exponent, is_wrong};

/// Computes the quotient as the emitted code does, except for the shifts that the driver gets
/// wrong.
fn quotient(dividend: u32, divisor: u32) -> u32 {
    if divisor > 1 << 31 {
        return u32::from(dividend >= divisor);
    }
    let exponent = chosen_exponent(divisor);
    if divisor == 1 << exponent {
        return dividend >> exponent;
    }
    let (reciprocal, halvings) = chosen(divisor);
    let high = |value: u32| ((u64::from(value) * u64::from(reciprocal.factor)) >> 32) as u32;
    if reciprocal.wide {
        let high = high(dividend);
        let half = (dividend.wrapping_sub(high) >> 1).wrapping_add(high);
        return half >> (reciprocal.shift - 1);
    }
    high(dividend >> halvings) >> reciprocal.shift
}

fn interesting() -> impl Strategy<Value = u32> {
    prop_oneof![
        any::<u32>(),
        (0u32..32, -3i32..=3).prop_map(|(bit, by)| (1u32 << bit).wrapping_add_signed(by)),
        0u32..1000,
        (0u32..10).prop_map(|by| u32::MAX - by),
    ]
}

proptest! {
    #[test]
    fn reciprocals_divide(dividend in interesting(), divisor in interesting()) {
        prop_assume!(divisor > 0);
        prop_assert_eq!(quotient(dividend, divisor), dividend / divisor);
    }
}

#[test]
fn small_divisors_divide_around_their_multiples() {
    for divisor in 1..2000u32 {
        for multiple in [1, 2, 3, 1000, u32::MAX / divisor] {
            let around = multiple.saturating_mul(divisor);
            for dividend in [around.wrapping_sub(1), around, around.saturating_add(1)] {
                assert_eq!(quotient(dividend, divisor), dividend / divisor, "{dividend}/{divisor}");
            }
        }
    }
}

#[test]
fn shifts_by_zero_are_known() {
    // 641 divides 2^32 + 1. For 28 / 4 and dividends of 30 bits, the multiplier needs all 32 bits.
    for divisor in [1, 28, 641] {
        assert!(is_wrong(divisor), "{divisor}");
    }
    for divisor in [2, 3, 5, 6, 7, 10, 12, 60, 100, 1000, 1 << 31] {
        assert!(!is_wrong(divisor), "{divisor}");
    }
    assert!(!is_wrong(u32::MAX));
    assert!(is_wrong(6_700_417), "the other factor of 2^32 + 1");
}

//! Tests that rates and slowness compare and multiply like exact rational numbers.

use proptest::prelude::*;
use slowpath_target::{Rate, Slowness, Target};
use std::cmp::Ordering;

/// Returns the 256-bit product `a * b` as a pair: high half, low half.
fn wide_product(a: u128, b: u128) -> (u128, u128) {
    const HALF: u128 = u64::MAX as u128;
    let (a1, a0, b1, b0) = (a >> 64, a & HALF, b >> 64, b & HALF);
    let low = a0 * b0;
    let middle = a1 * b0 + (low >> 64);
    let other = a0 * b1 + (middle & HALF);
    (a1 * b1 + (middle >> 64) + (other >> 64), (other << 64) | (low & HALF))
}

/// Returns a strategy for random numbers of all magnitudes, including small ones and powers of two.
fn any_size() -> impl Strategy<Value = u128> {
    (any::<u128>(), 0u32..128, any::<bool>()).prop_map(|(bits, shift, round)| match round {
        true => 1 << shift,
        false => bits >> shift,
    })
}

fn agilio() -> Target {
    Target::builtin("agilio-cx-2x40").expect("built in").expect("parses")
}

proptest! {
    #[test]
    fn finite_rates_compare_by_cross_products(
        a in any_size(), b in any_size(), c in any_size(), d in any_size(),
    ) {
        let (b, d) = (b.max(1), d.max(1));
        let expected = wide_product(a, d).cmp(&wide_product(c, b));
        prop_assert_eq!(Rate::new(a, b).cmp(&Rate::new(c, d)), expected);
        prop_assert_eq!(Slowness::new(a, b).cmp(&Slowness::new(c, d)), expected);
        prop_assert_eq!(Rate::new(a, b) == Rate::new(c, d), expected == Ordering::Equal);
    }

    #[test]
    fn almost_equal_rates_are_different(a in 2u128.., b in 2u128..) {
        let less = Rate::new(a - 1, b);
        let more = Rate::new(a, b - 1);
        let rate = Rate::new(a, b);
        prop_assert!(less < rate && rate < more && rate < Rate::infinite());
    }

    #[test]
    fn multiples_are_exact_or_rounded_down(a in any_size(), b in any_size(), k in 1u64..) {
        let b = b.max(1);
        let product = Rate::new(a, b).times(k);
        match a.checked_mul(u128::from(k)) {
            Some(num) => prop_assert_eq!(product, Rate::new(num, b)),
            None => prop_assert!(product >= Rate::new(a, b)),
        }
    }

    #[test]
    fn the_order_of_slowness_is_opposite_to_that_of_rates(
        first in (0usize..2, any::<u64>(), 1u32..2000),
        second in (0usize..2, any::<u64>(), 1u32..2000),
    ) {
        let target = agilio();
        let slowness = |(component, ticks, size)| target.slowness(component, ticks, Some(size));
        let bits = |(component, ticks, size)| {
            Target::bit_rate(target.packet_rate(component, ticks), size)
        };
        prop_assert_eq!(slowness(first).cmp(&slowness(second)), bits(second).cmp(&bits(first)));
        let packets = |(component, ticks, _)| target.packet_rate(component, ticks);
        let unsized_slowness = |(component, ticks, _)| target.slowness(component, ticks, None);
        let by_slowness = unsized_slowness(first).cmp(&unsized_slowness(second));
        prop_assert_eq!(by_slowness, packets(second).cmp(&packets(first)));
        prop_assert_eq!(unsized_slowness(first).rate(), packets(first));
    }
}

//! Tests that results are sound, on random domains of all widths. If an operator is applied to
//! members of domains, its result is a member of the resulting domain. Joins, meets and widening
//! keep members.

use proptest::prelude::*;
use slowpath_domain::{Domain, mask, sign_extend, transfer};

/// Generates a value and a domain that contains it.
fn member(width: u8) -> impl Strategy<Value = (u64, Domain)> {
    let value = prop_oneof![
        any::<u64>(),
        (0u64..20),
        (0u64..20).prop_map(|v| v.wrapping_neg()),
        (0u32..64, 0u64..3).prop_map(|(at, by)| (1u64 << at).wrapping_sub(by)),
    ];
    let spread = prop_oneof![Just(0u64), 0u64..300, any::<u64>()];
    (value, spread.clone(), spread, any::<u64>(), 0u8..8).prop_map(
        move |(value, below, above, unknown, kinds)| {
            let value = value & mask(width);
            let mut domain = Domain::full(width);
            let mut restrict = |to: Domain| {
                domain = domain.meet(&to).unwrap_or_else(|| panic!("{domain:?} {to:?} {value}"));
            };
            if kinds & 1 != 0 {
                let lo = value.saturating_sub(below);
                let hi = value.saturating_add(above).min(mask(width));
                restrict(Domain::range(width, lo, hi));
            }
            if kinds & 2 != 0 {
                let signed = sign_extend(value, width);
                let (least, greatest) = Domain::full(width).signed_range();
                let lo = signed.saturating_sub_unsigned(below).max(least);
                let hi = signed.saturating_add_unsigned(above).min(greatest);
                restrict(Domain::signed(width, lo, hi));
            }
            if kinds & 4 != 0 {
                restrict(Domain::from_bits(width, !value & !unknown, value & !unknown));
            }
            (value, domain)
        },
    )
}

type Members = (u8, (u64, Domain), (u64, Domain));

fn two_members() -> impl Strategy<Value = Members> {
    let width = prop_oneof![Just(64u8), Just(32), 1u8..=64];
    width.prop_flat_map(|width| (Just(width), member(width), member(width)))
}

fn signed(value: u64, width: u8) -> i128 {
    sign_extend(value, width).into()
}

type Binary = (&'static str, fn(Domain, Domain) -> Domain, fn(u64, u64, u8) -> u64);

fn by_zero(a: u64, width: u8) -> i128 {
    if signed(a, width) < 0 { 1 } else { -1 }
}

const BINARY: &[Binary] = &[
    ("and", transfer::and, |a, b, _| a & b),
    ("or", transfer::or, |a, b, _| a | b),
    ("xor", transfer::xor, |a, b, _| a ^ b),
    ("add", transfer::add, |a, b, _| a.wrapping_add(b)),
    ("sub", transfer::sub, |a, b, _| a.wrapping_sub(b)),
    ("mul", transfer::mul, |a, b, _| a.wrapping_mul(b)),
    ("udiv", transfer::udiv, |a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
    ("urem", transfer::urem, |a, b, _| a.checked_rem(b).unwrap_or(a)),
    ("sdiv", transfer::sdiv, |a, b, w| {
        signed(a, w).checked_div(signed(b, w)).unwrap_or(by_zero(a, w)) as u64
    }),
    ("srem", transfer::srem, |a, b, w| {
        signed(a, w).checked_rem(signed(b, w)).unwrap_or(signed(a, w)) as u64
    }),
    ("shl", transfer::shl, |a, b, w| if b >= w.into() { 0 } else { a << b }),
    ("lshr", transfer::lshr, |a, b, w| if b >= w.into() { 0 } else { a >> b }),
    ("ashr", transfer::ashr, |a, b, w| (signed(a, w) >> b.min(127)) as u64),
    ("eq", transfer::eq, |a, b, _| u64::from(a == b)),
    ("ult", transfer::ult, |a, b, _| u64::from(a < b)),
    ("slt", transfer::slt, |a, b, w| u64::from(signed(a, w) < signed(b, w))),
];

/// Generates integers, most of them close to an overflow.
fn integer() -> impl Strategy<Value = i128> {
    let near = |base: i128| (-3..=3_i128).prop_map(move |by| base.saturating_add(by));
    prop_oneof![
        near(i128::MIN),
        near(i128::MAX),
        near(1 << 126),
        near(-1 << 126),
        near(1 << 64),
        near(-1 << 63),
        near(0),
        any::<i128>(),
        any::<i64>().prop_map(i128::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn wrapping_ranges_contain_all_integers_between_their_bounds(
        width in prop_oneof![Just(64_u8), Just(32), 1_u8..=64],
        bounds in (integer(), integer()),
        at in prop_oneof![0_u128..300, any::<u128>()],
    ) {
        let (lo, hi) = (bounds.0.min(bounds.1), bounds.0.max(bounds.1));
        let range = Domain::wrapping_range(width, lo, hi);
        let between = match hi.abs_diff(lo).checked_add(1) {
            Some(count) => lo.wrapping_add_unsigned(at % count),
            None => at as i128,
        };
        for value in [lo, between, hi] {
            prop_assert!(range.contains(value as u64 & mask(width)), "{lo} {value} {hi}: {range:?}");
        }
        prop_assert!(lo == hi || Domain::wrapping_range(width, hi, lo).is_full());
    }

    #[test]
    fn results_of_members_are_members((width, (x, a), (y, b)) in two_members()) {
        for (name, of_domains, of_values) in BINARY {
            let result = of_domains(a, b);
            let value = of_values(x, y, width) & mask(result.width());
            prop_assert!(result.contains(value), "{name} {x:#x} {a:?} {y:#x} {b:?}: {result:?}");
        }
        prop_assert!(transfer::not(a).contains(!x & mask(width)));
        prop_assert!(transfer::neg(a).contains(x.wrapping_neg() & mask(width)));
    }

    #[test]
    fn slices_of_members_are_members((width, (x, a), (y, b)) in two_members(), to in 0u8..64) {
        let lo = to % width;
        let slice = transfer::extract(a, lo, width - lo);
        prop_assert!(slice.contains(x >> lo));
        let slice = transfer::extract(a, 0, lo + 1);
        prop_assert!(slice.contains(x & mask(lo + 1)), "{a:?} {slice:?}");
        let wider = width + to % (65 - width);
        prop_assert!(transfer::zext(a, wider).contains(x));
        prop_assert!(transfer::sext(a, wider).contains(sign_extend(x, width) as u64 & mask(wider)));
        if width <= 32 {
            prop_assert!(transfer::concat(a, b).contains(x << width | y));
        }
    }

    #[test]
    fn the_lattice_keeps_members((_, (x, a), (y, b)) in two_members(), limits: [u64; 3]) {
        let join = a.join(&b);
        prop_assert!(join.contains(x) && join.contains(y));
        prop_assert_eq!(join, b.join(&a));
        prop_assert_eq!(a.join(&a), a);
        prop_assert_eq!(join.join(&a), join);
        prop_assert_eq!(a.meet(&join), Some(a));
        let meet = a.meet(&b);
        prop_assert_eq!(meet, b.meet(&a));
        prop_assert!(!b.contains(x) || meet.is_some_and(|meet| meet.contains(x)));
        let mut limits = limits;
        limits.sort_unstable();
        let wide = a.widen(&b, &limits);
        prop_assert!(wide.contains(x) && wide.contains(y));
        prop_assert_eq!(wide.join(&join), wide);
        prop_assert!(a.without(y).is_none_or(|rest| x == y || rest.contains(x)));
        prop_assert!(a.without(y).is_some() || a.as_constant() == Some(y));
    }

    #[test]
    fn bounds_are_members((width, (x, a), _) in two_members()) {
        let (lo, hi) = a.signed_range();
        prop_assert!(a.contains(x) && a.contains(a.lo()) && a.contains(a.hi()));
        prop_assert!(a.contains(lo as u64 & mask(width)) && a.contains(hi as u64 & mask(width)));
        prop_assert!((lo..=hi).contains(&sign_extend(x, width)) && (a.lo()..=a.hi()).contains(&x));
        prop_assert_eq!(a.unknown_bits() & (a.zeros() | a.ones()), 0);
        prop_assert_eq!(x & !a.unknown_bits(), a.ones());
    }

    #[test]
    fn widening_ends((_, (_, first), _) in two_members(), next in prop::collection::vec(any::<u64>(), 90)) {
        let mut domain = first;
        let mut changes = 0;
        for value in next {
            let wider = domain.widen(&Domain::constant(first.width(), value), &[17, 1 << 20]);
            changes += usize::from(wider != domain);
            domain = wider;
        }
        // Each of the two halves has two bounds, which pass at most two thresholds and the end.
        // Each of 64 known bits is lost once.
        prop_assert!(changes <= 64 + 12, "{changes}");
    }
}

use super::{Domain, mask};
use crate::transfer;

/// Returns test domains of a small width, without duplicates: all that consist of one interval or
/// of known bits, and some of their meets and joins.
fn domains(width: u8) -> Vec<Domain> {
    let mut all = Vec::new();
    for lo in 0..=mask(width) {
        for hi in lo..=mask(width) {
            all.push(Domain::range(width, lo, hi));
        }
    }
    for zeros in 0..=mask(width) {
        for ones in 0..=mask(width) {
            if zeros & ones == 0 {
                all.push(Domain::from_bits(width, zeros, ones));
            }
        }
    }
    let ranges: Vec<Domain> = all.clone();
    for (at, a) in ranges.iter().enumerate() {
        all.extend(ranges[..at].iter().step_by(7).filter_map(|b| a.meet(b)));
        all.extend(ranges[..at].iter().step_by(5).map(|b| a.join(b)));
    }
    all.sort_by_key(|d| (d.lo(), d.hi(), d.zeros(), d.ones(), d.signed_range()));
    all.dedup();
    all
}

fn members(d: Domain) -> impl Iterator<Item = u64> + Clone {
    (0..=mask(d.width())).filter(move |&v| d.contains(v))
}

#[test]
fn bounds_are_members_and_bits_are_common() {
    for d in domains(4) {
        assert!(d.contains(d.lo()) && d.contains(d.hi()), "{d:?}");
        let signed = members(d).map(|v| super::sign_extend(v, 4));
        let (lo, hi) = d.signed_range();
        assert!(signed.clone().all(|v| (lo..=hi).contains(&v)), "{d:?}");
    }
}

#[test]
fn meet_and_join_are_sound_and_meet_finds_emptiness() {
    let all = domains(3);
    for a in &all {
        for b in &all {
            let join = a.join(b);
            assert!(members(*a).chain(members(*b)).all(|v| join.contains(v)));
            match a.meet(b) {
                None => assert!(members(*a).all(|v| !b.contains(v))),
                Some(meet) => {
                    assert!(members(*a).filter(|&v| b.contains(v)).all(|v| meet.contains(v)))
                }
            }
        }
    }
}

#[test]
fn empty_requests_give_everything() {
    assert!(Domain::range(8, 9, 3).is_full());
    assert!(Domain::range(8, 300, 400).is_full());
    assert!(Domain::from_bits(8, 1, 1).is_full());
}

#[test]
fn interval_and_bits_sharpen_each_other() {
    let d = Domain::range(16, 0x1200, 0x12ff);
    assert_eq!((d.zeros(), d.ones()), (0xed00, 0x1200));
    let aligned = Domain::from_bits(8, 3, 0).meet(&Domain::range(8, 5, 11)).expect("not empty");
    assert_eq!(aligned.as_constant(), Some(8));
}

type Binary = (&'static str, fn(Domain, Domain) -> Domain, fn(u64, u64, u8) -> u64);

fn signed(v: u64, w: u8) -> i64 {
    super::sign_extend(v, w)
}

#[test]
fn transfer_functions_are_sound_on_three_bits() {
    let table: &[Binary] = &[
        ("and", transfer::and, |a, b, _| a & b),
        ("or", transfer::or, |a, b, _| a | b),
        ("xor", transfer::xor, |a, b, _| a ^ b),
        ("add", transfer::add, |a, b, _| a + b),
        ("sub", transfer::sub, |a, b, _| a.wrapping_sub(b)),
        ("mul", transfer::mul, |a, b, _| a * b),
        ("udiv", transfer::udiv, |a, b, _| a.checked_div(b).unwrap_or(u64::MAX)),
        ("urem", transfer::urem, |a, b, _| a.checked_rem(b).unwrap_or(a)),
        ("sdiv", transfer::sdiv, |a, b, w| {
            let by_zero = if signed(a, w) < 0 { 1 } else { -1 };
            signed(a, w).checked_div(signed(b, w)).unwrap_or(by_zero) as u64
        }),
        ("srem", transfer::srem, |a, b, w| {
            signed(a, w).checked_rem(signed(b, w)).unwrap_or(signed(a, w)) as u64
        }),
        ("shl", transfer::shl, |a, b, w| if b >= u64::from(w) { 0 } else { a << b }),
        ("lshr", transfer::lshr, |a, b, w| if b >= u64::from(w) { 0 } else { a >> b }),
        ("ashr", transfer::ashr, |a, b, w| (signed(a, w) >> b.min(63)) as u64),
        ("eq", transfer::eq, |a, b, _| u64::from(a == b)),
        ("ult", transfer::ult, |a, b, _| u64::from(a < b)),
        ("slt", transfer::slt, |a, b, w| u64::from(signed(a, w) < signed(b, w))),
        ("concat", transfer::concat, |a, b, w| a << w | b),
    ];
    let all = domains(3);
    for &(name, abstracted, concrete) in table {
        for &a in &all {
            for &b in &all {
                let result = abstracted(a, b);
                for x in members(a) {
                    for y in members(b) {
                        let value = concrete(x, y, 3) & mask(result.width());
                        assert!(result.contains(value), "{name} {a:?} {b:?}: {value}");
                    }
                }
            }
        }
    }
}

#[test]
fn unary_functions_are_sound_on_four_bits() {
    for a in domains(4) {
        for x in members(a) {
            assert!(transfer::not(a).contains(!x & 15));
            assert!(transfer::neg(a).contains(x.wrapping_neg() & 15));
            assert!(transfer::sext(a, 7).contains(signed(x, 4) as u64 & 127));
            for lo in 0..4 {
                for width in 1..=4 - lo {
                    assert!(transfer::extract(a, lo, width).contains(x >> lo & mask(width)));
                }
            }
        }
    }
}

use super::*;

fn ratio(num: u128, den: u128) -> Ratio {
    Ratio::new(num, den)
}

#[test]
fn equal_values_are_equal_in_any_terms() {
    assert_eq!(ratio(1, 2), ratio(2, 4));
    assert_eq!(ratio(0, 7), Ratio::ZERO);
    assert_eq!(ratio(0, 0), Ratio::ZERO);
    assert_eq!(ratio(5, 0), Ratio::INFINITE);
}

#[test]
fn infinity_is_above_every_finite_value() {
    let largest = ratio(u128::MAX, 1);
    assert!(ratio(9, 0) > largest);
    assert!(largest < Ratio::INFINITE);
    assert_eq!(compare_by_quotients(Ratio::INFINITE, ratio(3, 0)), Ordering::Equal);
    assert_eq!(compare_by_quotients(largest, Ratio::INFINITE), Ordering::Less);
}

#[test]
fn fractions_with_products_above_128_bits_compare_exactly() {
    let (a, b) = (ratio(u128::MAX, u128::MAX - 1), ratio(u128::MAX - 1, u128::MAX - 2));
    assert!(a < b);
    assert!(b > a);
    assert_eq!(a, a);
}

#[test]
fn products_cancel_before_they_overflow() {
    let half_max = ratio(u128::MAX, 16);
    assert_eq!(half_max.times(16), Some(ratio(u128::MAX, 1)));
    assert_eq!(half_max.times(17), None);
    assert_eq!(Ratio::INFINITE.times(3), Some(Ratio::INFINITE));
    assert_eq!(Ratio::INFINITE.times(0), Some(Ratio::ZERO));
}

#[test]
fn prints_in_lowest_terms() {
    assert_eq!(ratio(6, 4).to_string(), "3/2");
    assert_eq!(ratio(6, 3).to_string(), "2");
    assert_eq!(Ratio::INFINITE.to_string(), "unlimited");
}

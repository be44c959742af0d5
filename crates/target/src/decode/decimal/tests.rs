use super::*;

#[test]
fn digits_are_kept_exactly_and_rounded_up() {
    assert_eq!(scaled_ceil("4.052463035413383", 9), Ok(4_052_463_036));
    assert_eq!(scaled_ceil("4.05", 9), Ok(4_050_000_000));
    assert_eq!(scaled_ceil("5", 9), Ok(5_000_000_000));
    assert_eq!(scaled_ceil("+5", 0), Ok(5));
    assert_eq!(scaled_ceil("0.0000000001", 9), Ok(1));
    assert_eq!(scaled_ceil("1.5e-3", 9), Ok(1_500_000));
    assert_eq!(scaled_ceil("1.5E3", 2), Ok(150_000));
}

#[test]
fn zero_has_several_forms() {
    for text in ["0", "0.0", "-0.0", "0e99", "+0"] {
        assert_eq!(scaled_ceil(text, 9), Ok(0), "{text}");
    }
}

#[test]
fn invalid_numbers_are_refused() {
    assert_eq!(scaled_ceil("-1", 9), Err(DecimalError::Negative));
    assert_eq!(scaled_ceil("-0.5", 9), Err(DecimalError::Negative));
    for text in ["inf", "-inf", "nan", "+nan", ""] {
        assert_eq!(scaled_ceil(text, 9), Err(DecimalError::NotFinite), "{text}");
    }
    for text in ["1e99", "1e999999999999", "1e99999999999999999999", "99999999999999999999999"] {
        assert_eq!(scaled_ceil(text, 9), Err(DecimalError::TooLarge), "{text}");
    }
    assert_eq!(scaled_ceil("1e-999999999999", 9), Ok(1));
}

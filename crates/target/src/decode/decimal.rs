//! Converts decimal numbers to scaled integers, without floating-point numbers.

/// The reason why a decimal text cannot be converted to a scaled integer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DecimalError {
    Negative,
    NotFinite,
    TooLarge,
}

impl DecimalError {
    pub(super) fn text(self) -> &'static str {
        match self {
            DecimalError::Negative => "must not be negative",
            DecimalError::NotFinite => "must be a finite number",
            DecimalError::TooLarge => "has too many digits",
        }
    }
}

/// Returns `text` times 10^`scale`, rounded up to an integer, so that a price is never understated.
///
/// `text` is a TOML float or a decimal integer without underscores: `12`, `4.05`, `1.5e-3`.
pub(super) fn scaled_ceil(text: &str, scale: u32) -> Result<u64, DecimalError> {
    let (negative, digits) = match text.as_bytes().first() {
        Some(b'-') => (true, &text[1..]),
        Some(b'+') => (false, &text[1..]),
        _ => (false, text),
    };
    let (mantissa, exponent) = digits.split_once(['e', 'E']).unwrap_or((digits, "0"));
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let all = || whole.bytes().chain(fraction.bytes());
    if whole.is_empty() || !all().all(|b| b.is_ascii_digit()) {
        return Err(DecimalError::NotFinite);
    }
    if all().all(|b| b == b'0') {
        return Ok(0);
    }
    if negative {
        return Err(DecimalError::Negative);
    }
    let exponent: i64 = exponent.parse().map_err(|_| DecimalError::TooLarge)?;
    // After scaling, the first `kept` digits are in front of the decimal point.
    let shift = i64::from(scale).checked_add(exponent).ok_or(DecimalError::TooLarge)?;
    let kept = shift.checked_add(whole.len() as i64).ok_or(DecimalError::TooLarge)?;
    let mut value: u64 = 0;
    let digits = all().map(|b| u64::from(b - b'0')).chain(std::iter::repeat(0));
    let mut rest = all().map(|b| b != b'0');
    for digit in digits.take(usize::try_from(kept.max(0)).unwrap_or(usize::MAX)) {
        rest.next();
        value = value
            .checked_mul(10)
            .and_then(|v| v.checked_add(digit))
            .ok_or(DecimalError::TooLarge)?;
    }
    if rest.any(|nonzero| nonzero) {
        value = value.checked_add(1).ok_or(DecimalError::TooLarge)?;
    }
    Ok(value)
}

#[cfg(test)]
mod tests;

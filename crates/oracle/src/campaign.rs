/// Environment variable with the factor by which random tests have more cases than by default.
/// `make campaign` sets it.
pub const CAMPAIGN: &str = "SLOWPATH_CAMPAIGN";

/// Returns the number of cases of a random test: `default`, times the factor in [`CAMPAIGN`].
///
/// # Panics
///
/// If the factor is not a positive integer.
pub fn random_cases<N: TryFrom<u64> + Into<u64>>(default: N) -> N {
    let factor = std::env::var(CAMPAIGN).map_or(1, |text| match text.parse::<u64>() {
        Ok(factor) if factor > 0 => factor,
        _ => panic!("{CAMPAIGN}: {text:?} is not a positive integer"),
    });
    let cases = default.into().saturating_mul(factor);
    N::try_from(cases).unwrap_or_else(|_| panic!("{CAMPAIGN}: {cases} cases are too many"))
}

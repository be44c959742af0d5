//! A set of program results with which packets reach the next program.

/// A set of program results, such as the XDP actions after which the next program runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultSet {
    /// The results in the set, such as XDP actions.
    pub values: Vec<u32>,
    /// Bits of a result that are compared with `values`; all other bits are ignored.
    pub mask: u32,
}

impl ResultSet {
    /// Creates a set that contains only the given results. All bits are compared.
    pub fn exactly(values: &[u32]) -> ResultSet {
        ResultSet { values: values.to_vec(), mask: u32::MAX }
    }

    /// Returns true if the set contains a result.
    pub fn contain(&self, result: u32) -> bool {
        self.values.contains(&(result & self.mask))
    }
}

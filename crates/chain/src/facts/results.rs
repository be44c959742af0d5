//! A set of program results with which packets reach the next program.

/// Set of results of a program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultSet {
    /// XDP actions.
    pub values: Vec<u32>,
    /// Mask of the bits in which results are compared with `values`.
    pub mask: u32,
}

impl ResultSet {
    /// Creates the set of exactly these results.
    pub fn exactly(values: &[u32]) -> ResultSet {
        ResultSet { values: values.to_vec(), mask: u32::MAX }
    }

    /// Returns true if the set contains a result.
    pub fn contain(&self, result: u32) -> bool {
        self.values.contains(&(result & self.mask))
    }
}

//! Results with which packets go on to the next program.

/// Results of a program that the search is about.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ResultSet {
    /// XDP actions.
    pub values: Vec<u32>,
    /// Mask of the bits of a result that are compared.
    pub mask: u32,
}

impl ResultSet {
    /// Creates a set of these results and no others.
    pub fn exactly(values: &[u32]) -> ResultSet {
        ResultSet { values: values.to_vec(), mask: u32::MAX }
    }

    /// Returns true if the set contains a result.
    pub fn contain(&self, result: u32) -> bool {
        self.values.contains(&(result & self.mask))
    }
}

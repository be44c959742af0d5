//! Results of programs, of which packets go on to the next one.

/// Results of programs that are looked for.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Results {
    /// XDP actions.
    pub values: Vec<u32>,
    /// The bits of a result that are looked at.
    pub mask: u32,
}

impl Results {
    /// These, and no others.
    pub fn exactly(values: &[u32]) -> Results {
        Results { values: values.to_vec(), mask: u32::MAX }
    }

    /// Whether a result is one of them.
    pub fn contain(&self, result: u32) -> bool {
        self.values.contains(&(result & self.mask))
    }
}

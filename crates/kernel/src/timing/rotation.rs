//! Describes packet bytes that differ from run to run.

/// A table of packet bytes. Before each run, one row of it is written into the packet. All rows are
/// used in turn, in an order that a prefetcher cannot predict.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Ranges of the packet that receive the bytes of a row, each as offset and length in bytes.
    /// They do not overlap, and their lengths add up to the length of a row.
    pub places: Vec<(u32, u32)>,
    /// The rows, one after the other. Their number is a power of two.
    pub rows: Vec<u8>,
}

impl Rotation {
    /// Returns the length of a row in bytes.
    pub fn row(&self) -> usize {
        self.places.iter().map(|&(_, len)| len as usize).sum()
    }

    /// Returns the distance in bytes between the starts of two successive rows in the kernel's
    /// table, if a row has `row` bytes.
    pub fn stride(row: usize) -> usize {
        row.next_multiple_of(if row <= 4 { 4 } else { 8 })
    }

    /// Returns the number of rows, or `None` if it is not a power of two.
    pub fn count(&self) -> Option<usize> {
        let count = self.rows.len().checked_div(self.row())?;
        let whole = count.checked_mul(self.row()) == Some(self.rows.len());
        (whole && count.is_power_of_two()).then_some(count)
    }
}

#[cfg(test)]
mod tests {
    use super::Rotation;

    #[test]
    fn rows_are_counted() {
        let rotation = |len| Rotation { places: vec![(26, 4), (34, 2)], rows: vec![0; len] };
        assert_eq!(rotation(0).count(), None);
        assert_eq!(rotation(6).count(), Some(1));
        assert_eq!(rotation(24).count(), Some(4));
        assert_eq!(rotation(18).count(), None);
        assert_eq!(rotation(25).count(), None);
        assert_eq!(Rotation { places: vec![], rows: vec![1] }.count(), None);
    }
}

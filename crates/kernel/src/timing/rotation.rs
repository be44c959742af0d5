//! Packets that differ from run to run.

/// Different bytes for each run: one row of a table, in an order that visits all rows and that no
/// prefetcher follows.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Rotation {
    /// Where in the packet the bytes of a row go, and how many: ranges without overlap, whose lengths
    /// add up to that of a row.
    pub places: Vec<(u32, u32)>,
    /// The rows, one after the other. Their number is a power of two.
    pub rows: Vec<u8>,
}

impl Rotation {
    /// Bytes of a row.
    pub fn row(&self) -> usize {
        self.places.iter().map(|&(_, len)| len as usize).sum()
    }

    /// Bytes from one row to the next in a table of them.
    pub fn stride(row: usize) -> usize {
        row.next_multiple_of(if row <= 4 { 4 } else { 8 })
    }

    /// How many rows there are; `None` if their number is no power of two, or there is none.
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

//! Defines a single computation, which computes the value of a term from other values in a table.

use rustc_hash::FxHashMap as HashMap;
use slowpath_smt::{ArrayId, Node, Operation, TermId, TermPool};
use std::rc::Rc;

/// Known content of memory regions, by region. All computations that read a region share its
/// content.
pub(super) type Contents = HashMap<ArrayId, Rc<[u8]>>;

/// A computation of a term from values in a table.
#[derive(Debug)]
pub(super) enum Computation {
    /// An operator, such as an addition, applied to values in the table.
    Operation(Operation),
    /// A read of a byte of known memory content. The fields are the content, and the table position
    /// that holds the byte's index.
    Content(Rc<[u8]>, u32),
}

impl Computation {
    /// Creates the computation of a term; `place` returns the table position of each operand.
    /// Returns `None` for constants, unknowns, and bytes of unknown content.
    pub fn of(
        pool: &TermPool,
        contents: &mut Contents,
        term: TermId,
        place: impl Fn(TermId) -> u32,
    ) -> Option<Computation> {
        Some(match *pool.node(term) {
            Node::Select { array, index } => {
                let content = pool.array_content(array)?;
                let shared = contents.entry(array).or_insert_with(|| content.into());
                Computation::Content(Rc::clone(shared), place(index))
            }
            _ => Computation::Operation(Operation::new(pool, term, place)?),
        })
    }

    /// Computes the value from the values in `table`.
    #[inline]
    pub fn value(&self, table: &[u64]) -> u64 {
        match self {
            Computation::Operation(operation) => operation.value(table),
            Computation::Content(content, index) => {
                let index = usize::try_from(table[*index as usize]).ok();
                // Bytes beyond the known content are zero.
                index.and_then(|index| content.get(index)).copied().unwrap_or(0).into()
            }
        }
    }
}

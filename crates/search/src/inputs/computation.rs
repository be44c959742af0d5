//! How the value of one term is computed from those of others, in a table of values.

use rustc_hash::FxHashMap as HashMap;
use slowpath_smt::{ArrayId, Node, Operation, TermId, TermPool};
use std::rc::Rc;

/// Known content of regions, shared between the computations that read it.
pub(super) type Contents = HashMap<ArrayId, Rc<[u8]>>;

/// How a term is computed from values in a table.
#[derive(Debug)]
pub(super) enum Computation {
    /// By an operator.
    Operation(Operation),
    /// By looking it up in known content, at the value in this place.
    Content(Rc<[u8]>, u32),
}

impl Computation {
    /// How a term is computed whose operands are in these places; `None` for constants, unknowns,
    /// and bytes of unknown content.
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

    /// Its value.
    #[inline]
    pub fn value(&self, table: &[u64]) -> u64 {
        match self {
            Computation::Operation(operation) => operation.value(table),
            Computation::Content(content, index) => {
                let index = usize::try_from(table[*index as usize]).ok();
                // Behind the known bytes of a region, all are zero.
                index.and_then(|index| content.get(index)).copied().unwrap_or(0).into()
            }
        }
    }
}

//! Operators prepared for fast evaluation: operands are positions in a table. This suits callers
//! that evaluate the same terms thousands of times.

use crate::pool::TermPool;
use crate::semantics::{self, Operands};
use crate::term::{Node, TermId};

/// An operator whose operands are given as positions in a table of values.
#[derive(Clone, Copy, Debug)]
pub struct Operation {
    node: Node,
    width: u8,
    widths: [u8; 3],
    places: [u32; 3],
}

impl Operation {
    /// Creates the operator of a term for fast evaluation. `place` returns the table position of
    /// each operand. Returns `None` for terms that no operator computes: constants, unknowns, bytes
    /// of arrays ([`Node::Select`]) and numbers of interned pairs ([`Node::Intern`]).
    pub fn new(
        pool: &TermPool,
        term: TermId,
        mut place: impl FnMut(TermId) -> u32,
    ) -> Option<Operation> {
        let node = *pool.node(term);
        if let Node::Const(_) | Node::Var(_) | Node::Select { .. } | Node::Intern(..) = node {
            return None;
        }
        let (mut widths, mut places) = ([1; 3], [0; 3]);
        for (slot, operand) in node.operands().into_iter().flatten().enumerate() {
            (widths[slot], places[slot]) = (pool.width(operand), place(operand));
        }
        Some(Operation { node, width: pool.width(term), widths, places })
    }

    /// Computes the value of the term from the values in `table`.
    ///
    /// # Panics
    /// Panics if a position lies outside the table.
    #[inline]
    pub fn value(&self, table: &[u64]) -> u64 {
        let values = self.places.map(|place| table[place as usize]);
        let operands = Operands { values, widths: self.widths };
        // `new` accepts only operators for which `apply` returns a value.
        semantics::apply(&self.node, self.width, &operands).unwrap_or(0)
    }
}

#[cfg(test)]
mod tests {
    use super::Operation;
    use crate::model::Model;
    use crate::pool::TermPool;
    use crate::term::Node;
    use slowpath_domain::Domain;

    #[test]
    fn an_operation_computes_what_evaluation_does() {
        let mut pool = TermPool::new();
        let (a, b) = (pool.var("a", Domain::full(8)), pool.var("b", Domain::full(8)));
        let sum = pool.add(a, b);
        let low = pool.extract(sum, 0, 4);
        let wide = pool.sext(low, 16);
        let less = pool.slt(a, b);
        // The table position of a term is its index in `parts`.
        let parts = pool.subterms(&[sum, wide, less]);
        let place = |term| parts.iter().position(|&part| part == term).unwrap_or(0) as u32;
        let mut operations = 0;
        for (x, y) in [(0, 0), (3, 250), (200, 100), (127, 128), (255, 255)] {
            let mut model = Model::new();
            for (term, value) in [(a, x), (b, y)] {
                if let Node::Var(var) = *pool.node(term) {
                    model.set_var(var, value);
                }
            }
            let mut table = Vec::new();
            for &part in &parts {
                let value = pool.eval(part, &model);
                if let Some(operation) = Operation::new(&pool, part, place) {
                    operations += 1;
                    assert_eq!(operation.value(&table), value, "{}", pool.display(part));
                }
                table.push(value);
            }
        }
        assert!(operations >= 3 * 5, "{operations} operations");
    }

    #[test]
    fn leaves_are_no_operations() {
        let mut pool = TermPool::new();
        let var = pool.var("a", Domain::full(8));
        let constant = pool.constant(8, 1);
        for leaf in [var, constant] {
            assert!(Operation::new(&pool, leaf, |_| 0).is_none());
        }
    }
}

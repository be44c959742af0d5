//! Splits conditions into groups that have no common input, so that each group can be decided
//! separately. Also combines the models of all groups.
//!
//! Two bytes at unknown indices of one array may be the same byte. Groups ignore this at first. If
//! the models of two groups assign different values to a byte, its array is conflicting. From then
//! on, all conditions that read a conflicting array form one group.

use std::collections::BTreeSet;

use super::inputs::Inputs;
use crate::model::Model;
use crate::pool::{FastMap, TermPool};
use crate::term::{ArrayId, Node, TermId};
use crate::term_map::TermMap;

/// Splits conditions (`terms`) into groups that share no input, and returns the indices of each
/// group's conditions in ascending order. Groups are sorted by their first index. All conditions
/// with interned pairs form one group, because different pairs need different numbers. For each
/// array in `conflicting_arrays`, the conditions that read it form one group.
pub(super) fn split(
    pool: &TermPool,
    inputs: &mut Inputs,
    conflicting_arrays: &BTreeSet<ArrayId>,
    terms: &[TermId],
) -> Vec<Vec<usize>> {
    // A union-find forest over the positions: each entry points to an earlier position of its
    // group, or to itself.
    let mut parents: Vec<usize> = Vec::with_capacity(terms.len());
    // The first position of each input, and of what conditions with different inputs can share.
    let mut of_inputs: TermMap<usize> = TermMap::new(pool.len());
    let mut of_arrays: FastMap<ArrayId, usize> = FastMap::default();
    let mut of_numbers = None;
    for (position, &term) in terms.iter().enumerate() {
        parents.push(position);
        for &input in inputs.of(pool, term).iter() {
            let owner = match *pool.node(input) {
                Node::Intern(..) => *of_numbers.get_or_insert(position),
                Node::Select { array, .. } if conflicting_arrays.contains(&array) => {
                    *of_arrays.entry(array).or_insert(position)
                }
                _ => of_inputs.get(input).unwrap_or_else(|| {
                    of_inputs.insert(input, position);
                    position
                }),
            };
            unite(&mut parents, owner, position);
        }
    }
    // The root of a group is its first position.
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of = vec![0; terms.len()];
    for position in 0..terms.len() {
        let root = root(&mut parents, position);
        if root == position {
            group_of[position] = groups.len();
            groups.push(Vec::new());
        }
        groups[group_of[root]].push(position);
    }
    groups
}

fn root(parents: &mut [usize], mut at: usize) -> usize {
    while parents[at] != at {
        parents[at] = parents[parents[at]];
        at = parents[at];
    }
    at
}

fn unite(parents: &mut [usize], a: usize, b: usize) {
    let (a, b) = (root(parents, a), root(parents, b));
    parents[a.max(b)] = a.min(b);
}

/// Combines the models of all groups into one. If models contain different values for a byte of an
/// array, returns all arrays with differing bytes as the error.
pub(super) fn join(models: &[Model]) -> Result<Model, BTreeSet<ArrayId>> {
    let mut known: FastMap<(ArrayId, u64), u8> = FastMap::default();
    let mut joined = Model::new();
    let mut arrays = BTreeSet::new();
    for model in models {
        for (array, index, value) in model.bytes() {
            if *known.entry((array, index)).or_insert(value) != value {
                arrays.insert(array);
            }
        }
        joined.extend(model);
    }
    if arrays.is_empty() { Ok(joined) } else { Err(arrays) }
}

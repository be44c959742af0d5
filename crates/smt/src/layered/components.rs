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

/// An input or a property that two conditions can share; they then belong to the same group.
#[derive(PartialEq, Eq, Hash)]
enum Shared {
    Input(TermId),
    Numbers,
    Array(ArrayId),
}

/// Splits `terms` into groups that share no input, and returns the positions of each group's terms.
/// Groups and positions are in increasing order. All conditions with interned pairs form one group,
/// because different pairs need different numbers. For each array in `conflicting_arrays`, the
/// conditions that read it form one group.
pub(super) fn split(
    pool: &TermPool,
    inputs: &mut Inputs,
    conflicting_arrays: &BTreeSet<ArrayId>,
    terms: &[TermId],
) -> Vec<Vec<usize>> {
    // A union-find forest over the positions: each entry points to an earlier position of its
    // group, or to itself.
    let mut parents: Vec<usize> = Vec::with_capacity(terms.len());
    let mut owners: FastMap<Shared, usize> = FastMap::default();
    for (position, &term) in terms.iter().enumerate() {
        parents.push(position);
        for &input in inputs.of(pool, term).iter() {
            let shared = match *pool.node(input) {
                Node::Intern(..) => Shared::Numbers,
                Node::Select { array, .. } if conflicting_arrays.contains(&array) => {
                    Shared::Array(array)
                }
                _ => Shared::Input(input),
            };
            let owner = *owners.entry(shared).or_insert(position);
            unite(&mut parents, owner, position);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: FastMap<usize, usize> = FastMap::default();
    for position in 0..terms.len() {
        let group = *group_of.entry(root(&mut parents, position)).or_insert(groups.len());
        if group == groups.len() {
            groups.push(Vec::new());
        }
        groups[group].push(position);
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

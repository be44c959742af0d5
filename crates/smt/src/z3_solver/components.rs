//! Conditions that have no input in common can be satisfied one by one: independent groups, and
//! the joining of their models.
//!
//! Bytes at unknown indices of one array may turn out to be the same place. Groups ignore this at
//! first; models that disagree about a place tell which groups belong together.

use std::collections::{BTreeSet, HashMap};

use super::inputs::Inputs;
use crate::model::Model;
use crate::pool::TermPool;
use crate::term::{ArrayId, Node, TermId};

/// The positions in `terms` of each group, groups and positions in increasing order. All numbers of
/// pairs are in one group, since all of them have to differ.
pub(super) fn split(pool: &TermPool, inputs: &mut Inputs, terms: &[TermId]) -> Vec<Vec<usize>> {
    // A forest over the positions: each points to an earlier one of its group or to itself.
    let mut parents: Vec<usize> = Vec::with_capacity(terms.len());
    let mut owners: HashMap<TermId, usize> = HashMap::new();
    let mut numbered: Option<usize> = None;
    for (position, &term) in terms.iter().enumerate() {
        parents.push(position);
        for &input in inputs.of(pool, term).iter() {
            let mut owner = *owners.entry(input).or_insert(position);
            if matches!(pool.node(input), Node::Intern(..)) {
                let shared = *numbered.get_or_insert(position);
                unite(&mut parents, owner, shared);
                owner = shared;
            }
            unite(&mut parents, owner, position);
        }
    }
    let mut groups: Vec<Vec<usize>> = Vec::new();
    let mut group_of: HashMap<usize, usize> = HashMap::new();
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

/// One model of all groups, or the groups (in increasing order) whose models disagree about bytes.
/// If these are to be told `widely`, all that read the same arrays are among them.
pub(super) fn join(models: &[Model], widely: bool) -> Result<Model, Vec<usize>> {
    let mut owners: HashMap<(ArrayId, u64), (u8, usize)> = HashMap::new();
    let mut joined = Model::new();
    let (mut disagree, mut arrays) = (BTreeSet::new(), BTreeSet::new());
    for (group, model) in models.iter().enumerate() {
        for (array, index, value) in model.bytes() {
            let (known, owner) = *owners.entry((array, index)).or_insert((value, group));
            if known != value {
                disagree.extend([owner, group]);
                arrays.insert(array);
            }
        }
        joined.extend(model);
    }
    if disagree.is_empty() {
        return Ok(joined);
    }
    if widely {
        let reads = |model: &Model| model.bytes().any(|(array, ..)| arrays.contains(&array));
        disagree.extend((0..models.len()).filter(|&group| reads(&models[group])));
    }
    Err(disagree.into_iter().collect())
}

//! Chooses groups of packet classes, each of which gets its own variant of a program. A class
//! consists of packets about which the same facts are known. The limited number of variants should
//! gain as much as possible.
//!
//! If there are few classes, all possible groups are tried. If there are more, groups are merged
//! greedily: first the two groups whose merging loses least. Only the most similar pairs are tried,
//! because the gain of a variant is known only after it was rewritten and proved.

use std::cmp::Reverse;
use std::collections::HashMap;

/// Maximum number of packet classes for which all possible groups are tried.
const ALL: usize = 3;
/// Number of pairs of groups that are tried for merging in each step. They are the most similar
/// pairs.
const LOOKS: usize = 4;

/// The value of a rewritten version (variant) of a program: its gain in speed and, if gains are
/// equal, the number of instructions that it saves. The numbers are integers, so that sums do not
/// depend on the order of additions.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Worth {
    pub gain: i128,
    pub saved: i128,
}

impl Worth {
    pub fn plus(self, other: Worth) -> Worth {
        Worth { gain: self.gain + other.gain, saved: self.saved + other.saved }
    }

    fn minus(self, other: Worth) -> Worth {
        Worth { gain: self.gain - other.gain, saved: self.saved - other.saved }
    }
}

/// Groups of packet classes. Each group lists the indices of its classes in ascending order.
pub(super) type Groups = Vec<Vec<usize>>;

/// Cache for the values of groups of packet classes, so that each is computed only once.
struct Values<F> {
    known: HashMap<Vec<usize>, Worth>,
    ask: F,
}

impl<F: FnMut(&[usize]) -> Worth> Values<F> {
    fn of(&mut self, group: &[usize]) -> Worth {
        if let Some(&worth) = self.known.get(group) {
            return worth;
        }
        let worth = (self.ask)(group);
        self.known.insert(group.to_vec(), worth);
        worth
    }

    fn all(&mut self, groups: &Groups) -> Worth {
        groups.iter().fold(Worth::default(), |sum, group| sum.plus(self.of(group)))
    }
}

/// Chooses at most `limit` groups among `classes` packet classes. Each group gets its own variant
/// of the program; classes in no group keep the original program. `worth` returns the value of a
/// variant for the classes of a group. `alike` returns how similar two groups are.
pub(super) fn choose(
    classes: usize,
    limit: usize,
    worth: impl FnMut(&[usize]) -> Worth,
    alike: impl Fn(&[usize], &[usize]) -> u64,
) -> Groups {
    let mut values = Values { known: HashMap::new(), ask: worth };
    if limit == 0 || classes == 0 {
        return Groups::new();
    }
    if classes <= ALL {
        let mut best = (Worth::default(), Groups::new());
        every(0, classes, limit, &mut Groups::new(), &mut |groups| {
            let worth = values.all(groups);
            // If values are equal, fewer variants are better.
            if worth > best.0 || (worth == best.0 && groups.len() < best.1.len()) {
                best = (worth, groups.clone());
            }
        });
        return best.1;
    }
    let mut groups: Groups = (0..classes).map(|class| vec![class]).collect();
    groups.retain(|group| values.of(group) > Worth::default());
    while !groups.is_empty() {
        let merging = best_merging(&groups, &mut values, &alike);
        let too_many = groups.len() > limit;
        let least = (0..groups.len())
            .map(|place| (values.of(&groups[place]), place))
            .reduce(|one, other| if other.0 < one.0 { other } else { one });
        match (merging, least) {
            (Some((loss, one, other)), least)
                if loss <= Worth::default()
                    || too_many && least.is_none_or(|(worth, _)| loss <= worth) =>
            {
                let merged = merged(&groups[one], &groups[other]);
                groups.remove(one.max(other));
                groups[one.min(other)] = merged;
            }
            (_, Some((_, place))) if too_many => {
                groups.remove(place);
            }
            _ => break,
        }
    }
    let whole: Groups = vec![(0..classes).collect()];
    if values.all(&whole) > values.all(&groups) { whole } else { groups }
}

/// Enumerates all ways to distribute the packet classes from index `next` up to `classes`
/// (exclusive), and calls `look` for each way. A class can join one of `groups`, form a new group,
/// or stay without a group. There are at most `limit` groups.
fn every(
    next: usize,
    classes: usize,
    limit: usize,
    groups: &mut Groups,
    look: &mut impl FnMut(&Groups),
) {
    if next == classes {
        look(groups);
        return;
    }
    every(next + 1, classes, limit, groups, look);
    for place in 0..groups.len() {
        groups[place].push(next);
        every(next + 1, classes, limit, groups, look);
        groups[place].pop();
    }
    if groups.len() < limit {
        groups.push(vec![next]);
        every(next + 1, classes, limit, groups, look);
        groups.pop();
    }
}

/// Tries to merge the most similar pairs of groups. Returns the loss of value and the two groups
/// whose merging loses least, or `None` if there are fewer than two groups.
fn best_merging<F: FnMut(&[usize]) -> Worth>(
    groups: &Groups,
    values: &mut Values<F>,
    alike: impl Fn(&[usize], &[usize]) -> u64,
) -> Option<(Worth, usize, usize)> {
    let mut pairs = Vec::new();
    for one in 0..groups.len() {
        for other in one + 1..groups.len() {
            pairs.push((alike(&groups[one], &groups[other]), one, other));
        }
    }
    pairs.sort_by_key(|&(alike, ..)| Reverse(alike));
    let loss = |&(_, one, other): &(u64, usize, usize)| {
        let apart = values.of(&groups[one]).plus(values.of(&groups[other]));
        (apart.minus(values.of(&merged(&groups[one], &groups[other]))), one, other)
    };
    let losses = pairs.iter().take(LOOKS).map(loss);
    losses.reduce(|best, other| if other.0 < best.0 { other } else { best })
}

fn merged(one: &[usize], other: &[usize]) -> Vec<usize> {
    let mut all = [one, other].concat();
    all.sort_unstable();
    all
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Returns the greatest total value of any choice of groups, found by trying all choices.
    fn best(classes: usize, limit: usize, worth: &dyn Fn(&[usize]) -> i128) -> i128 {
        // Each class is in a group or in none, so a grouping is a number with base `limit + 1`.
        let choices = (limit + 1).pow(classes as u32);
        let value = |choice: usize| {
            let group_of = |class: usize| choice / (limit + 1).pow(class as u32) % (limit + 1);
            let members =
                |group: usize| (0..classes).filter(|&c| group_of(c) == group).collect::<Vec<_>>();
            let groups = (1..=limit).map(members).filter(|members| !members.is_empty());
            groups.map(|members| worth(&members)).sum::<i128>()
        };
        (0..choices).map(value).fold(0, i128::max)
    }

    proptest! {
        #[test]
        fn few_classes_are_grouped_as_well_as_can_be(
            classes in 1..=ALL,
            limit in 1..=3_usize,
            table in proptest::collection::vec(-50..100_i32, 8),
        ) {
            let number = |group: &[usize]| group.iter().map(|class| 1 << class).sum::<usize>();
            let worth = |group: &[usize]| i128::from(table[number(group)]);
            let groups =
                choose(classes, limit, |g| Worth { gain: worth(g), saved: 0 }, |_, _| 0);
            let found: i128 = groups.iter().map(|group| worth(group)).sum();
            prop_assert!(groups.len() <= limit);
            prop_assert_eq!(found, best(classes, limit, &worth));
        }

        #[test]
        fn many_classes_are_grouped_within_the_limit(
            limit in 1..=4_usize,
            gains in proptest::collection::vec(0..100_i32, 4..7),
            facts in proptest::collection::vec(0..64_u32, 6),
        ) {
            // As with facts, a variant can use only common properties of its classes.
            let classes = gains.len();
            let worth = |group: &[usize]| {
                let common = group.iter().fold(u32::MAX, |all, &class| all & facts[class]);
                let each = i128::from((common & 63).count_ones());
                group.iter().map(|&class| each * i128::from(gains[class])).sum::<i128>()
            };
            let alike = |one: &[usize], other: &[usize]| {
                let common = |group: &[usize]| group.iter().fold(63, |all, &c| all & facts[c]);
                u64::from((common(one) & common(other)).count_ones())
            };
            let groups = choose(classes, limit, |g| Worth { gain: worth(g), saved: 0 }, alike);
            prop_assert!(groups.len() <= limit);
            let mut all: Vec<usize> = groups.concat();
            let count = all.len();
            all.sort_unstable();
            all.dedup();
            prop_assert_eq!(all.len(), count);
            let found: i128 = groups.iter().map(|group| worth(group)).sum();
            let (most, whole) =
                (best(classes, limit, &worth), worth(&(0..classes).collect::<Vec<_>>()));
            let singles: Vec<i128> = (0..classes).map(|class| worth(&[class])).collect();
            let single = singles.iter().copied().fold(0, i128::max);
            prop_assert!(found <= most && found >= whole && found >= single, "{found} {most}");
            // Nothing is lost if each class may have a variant of its own.
            if limit >= classes {
                prop_assert_eq!(found, most);
            }
        }
    }

    #[test]
    fn what_gains_nothing_stays_as_it_is() {
        assert_eq!(choose(5, 3, |_| Worth::default(), |_, _| 0), Groups::new());
        assert_eq!(choose(2, 3, |_| Worth::default(), |_, _| 0), Groups::new());
    }

    #[test]
    fn one_variant_does_where_several_gain_no_more() {
        let worth = |group: &[usize]| Worth { gain: group.len() as i128, saved: 0 };
        assert_eq!(choose(3, 3, worth, |_, _| 0), [[0, 1, 2]]);
        assert_eq!(choose(6, 3, worth, |_, _| 0), [[0, 1, 2, 3, 4, 5]]);
    }
}

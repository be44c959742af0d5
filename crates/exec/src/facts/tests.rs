use super::Facts;
use proptest::prelude::*;
use slowpath_smt::{Domain, Evaluator, Model, Node, TermId, TermPool};
use std::collections::BTreeMap;

const VARIABLES: usize = 6;

/// A step that derives a new set of facts from earlier sets. A field that selects an earlier set is
/// an index, modulo the number of sets.
#[derive(Clone, Debug)]
enum Step {
    /// Adds to the earlier set `from` the fact that a variable is at least `least`.
    Learn {
        from: usize,
        variable: usize,
        least: u64,
    },
    Join(Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    // Prefer recent states, so that histories get long.
    let earlier = || prop_oneof![4 => 0usize..3, 1 => any::<u8>().prop_map(usize::from)];
    prop_oneof![
        3 => (earlier(), 0..VARIABLES, 1u64..200)
            .prop_map(|(from, variable, least)| Step::Learn { from, variable, least }),
        1 => prop::collection::vec(earlier(), 1..14).prop_map(Step::Join),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 300, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Checks that a join keeps exactly the facts that hold on all paths, whether the sets of facts
    /// share much of their histories or little.
    #[test]
    fn joins_keep_what_holds_on_every_way(steps in prop::collection::vec(step(), 1..120)) {
        let mut pool = TermPool::new();
        let variables: Vec<TermId> =
            (0..VARIABLES).map(|_| pool.var("v", Domain::full(8))).collect();
        let mut states = vec![(Facts::new(), BTreeMap::<usize, u64>::new())];
        for step in steps {
            let at = |back: usize| states.len() - 1 - back % states.len();
            let next = match step {
                Step::Learn { from, variable, least } => {
                    let (mut facts, mut known) = states[at(from)].clone();
                    let bound = pool.constant(8, least);
                    let condition = pool.ule(bound, variables[variable]);
                    prop_assert!(facts.assume(&pool, condition, true, None).is_ok());
                    let old = known.entry(variable).or_insert(least);
                    *old = least.max(*old);
                    (facts, known)
                }
                Step::Join(ways) => {
                    let ways: Vec<_> = ways.into_iter().map(|way| &states[at(way)]).collect();
                    let facts: Vec<&Facts> = ways.iter().map(|way| &way.0).collect();
                    let least = |v: &usize| ways.iter().map(|way| way.1.get(v)).min().flatten();
                    let known = (0..VARIABLES).filter_map(|v| Some((v, *least(&v)?))).collect();
                    (Facts::join(&facts), known)
                }
            };
            for (variable, &term) in variables.iter().enumerate() {
                let expected = next.1.get(&variable).copied().unwrap_or(0);
                prop_assert_eq!(next.0.at_least(&pool, term).0, expected);
            }
            states.push(next);
        }
    }
}

/// Numbers from which an 8-bit term is built: the kind of operator, three indices of earlier terms
/// (modulo the number of terms), and a constant.
type Made = (u8, usize, usize, usize, u8);

/// Generates 8-bit terms over one variable: sums, extractions, masks and choices.
fn terms(pool: &mut TermPool, variable: TermId, made: &[Made]) -> Vec<TermId> {
    let mut all = vec![variable];
    for &(kind, a, b, c, number) in made {
        let pick = |index: usize| all[all.len() - 1 - index % all.len()];
        let (a, b, c) = (pick(a), pick(b), pick(c));
        let constant = pool.constant(8, number.into());
        let term = match kind % 6 {
            0 => pool.and(a, constant),
            1 => pool.add(a, constant),
            2 => {
                let limit = pool.ult(c, constant);
                pool.ite(limit, a, b)
            }
            3 => {
                let limit = pool.ult(a, constant);
                pool.ite(limit, a, constant)
            }
            4 => pool.xor(a, constant),
            _ => {
                let low = 1 + number % 6;
                let part = pool.extract(a, low, 8 - low);
                let zero = pool.constant(low, 0);
                if number % 2 == 0 { pool.concat(zero, part) } else { pool.concat(part, zero) }
            }
        };
        all.push(term);
    }
    all
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 600, failure_persistence: None, ..ProptestConfig::default()
    })]

    /// Checks that facts never exclude a value of the variable that satisfies all conditions. If a
    /// contradiction is reported, the conditions that it names contradict each other by themselves.
    #[test]
    fn facts_leave_every_value_that_meets_the_conditions(
        made in prop::collection::vec(any::<Made>(), 1..8),
        conditions in prop::collection::vec(
            (any::<usize>(), any::<u8>(), 0u8..6, any::<bool>()), 1..16
        ),
    ) {
        let mut pool = TermPool::new();
        let variable = pool.var("v", Domain::full(8));
        let Node::Var(name) = *pool.node(variable) else { unreachable!("made so") };
        let all = terms(&mut pool, variable, &made);
        let mut earlier = Vec::new();
        let conditions: Vec<(TermId, bool)> = conditions
            .iter()
            .map(|&(pick, number, kind, value)| {
                let (term, constant) = (all[pick % all.len()], pool.constant(8, number.into()));
                let condition = match kind {
                    0 => pool.ult(term, constant),
                    1 => pool.ult(constant, term),
                    2 | 3 => pool.eq(term, constant),
                    _ if earlier.is_empty() => pool.eq(term, constant),
                    _ => {
                        let one: TermId = earlier[pick % earlier.len()];
                        let other: TermId = earlier[usize::from(number) % earlier.len()];
                        let other = pool.not(other);
                        if kind == 4 { pool.and(one, other) } else { pool.or(one, other) }
                    }
                };
                earlier.push(condition);
                (condition, value)
            })
            .collect();
        let values: Vec<(Vec<u64>, Vec<bool>)> = (0..256)
            .map(|value| {
                let mut model = Model::new();
                model.set_var(name, value);
                let mut evaluator = Evaluator::new(&pool, &model);
                let terms = all.iter().map(|&term| evaluator.value(term)).collect();
                let met = conditions.iter().map(|&(c, v)| (evaluator.value(c) != 0) == v).collect();
                (terms, met)
            })
            .collect();
        let mut facts = Facts::new();
        let mut states = vec![Facts::of_path()];
        for (index, &(condition, value)) in conditions.iter().enumerate() {
            let tag = u32::try_from(index).expect("few");
            let mut path = states[tag as usize].clone();
            let added = path.assume(&pool, condition, value, Some(tag));
            let expected = facts.clone().assume(&pool, condition, value, Some(tag));
            prop_assert_eq!(
                added.map_err(|found| found.reasons),
                expected.map_err(|found| found.reasons)
            );
            states.push(path);
            if let Err(contradiction) = facts.assume(&pool, condition, value, Some(tag)) {
                let agree = values.iter().any(|(_, met)| {
                    contradiction.reasons.iter().all(|&reason| met[reason as usize])
                });
                prop_assert!(!agree, "{:?} can hold together", contradiction.reasons);
                return Ok(());
            }
            let path = &states[index + 1];
            for &term in all.iter().chain(conditions.iter().map(|(condition, _)| condition)) {
                prop_assert_eq!(path.at_least(&pool, term), facts.at_least(&pool, term));
                prop_assert_eq!(path.domain(&pool, term), facts.domain(&pool, term));
                prop_assert_eq!(path.constant(term), facts.constant(term));
            }
        }
        // Earlier facts stay as they were while conditions are added to copies.
        let mut rest = states[conditions.len() / 3].clone();
        for (index, &(condition, value)) in conditions.iter().enumerate().skip(conditions.len() / 3) {
            prop_assert!(rest.assume(&pool, condition, value, u32::try_from(index).ok()).is_ok());
        }
        for &term in &all {
            prop_assert_eq!(rest.at_least(&pool, term), facts.at_least(&pool, term));
        }
        for (terms, _) in values.iter().filter(|(_, met)| met.iter().all(|&met| met)) {
            for (&term, &value) in all.iter().zip(terms) {
                prop_assert!(facts.domain(&pool, term).contains(value));
            }
        }
    }
}

#[test]
fn a_counter_in_steps_of_eight_reaches_an_end_that_it_has_to_equal() {
    let mut pool = TermPool::new();
    // n is at least 8; the end is the smaller of n and 96, rounded down to a multiple of eight.
    let n = pool.var("n", Domain::full(64));
    let (eight, most, mask) =
        (pool.constant(64, 8), pool.constant(64, 96), pool.constant(64, 0x78));
    let below = pool.ult(n, most);
    let least = pool.ite(below, n, most);
    let end = pool.and(least, mask);
    let mut facts = Facts::new();
    let enough = pool.ule(eight, n);
    facts.assume(&pool, enough, true, None).expect("it can hold");
    for counter in (8..96).step_by(8) {
        let counter = pool.constant(64, counter);
        let equal = pool.eq(end, counter);
        assert_eq!(facts.decide(&pool, equal), None);
        facts.assume(&pool, equal, false, None).expect("it can hold");
    }
    let equal = pool.eq(end, most);
    assert_eq!(facts.decide(&pool, equal), Some(true));
}

#[test]
fn the_upper_bits_of_a_term_are_bounded_for_the_reasons_of_both_ends() {
    let mut pool = TermPool::new();
    let v = pool.var("v", Domain::full(8));
    let (least, most) = (pool.constant(8, 4), pool.constant(8, 16));
    let (below, enough) = (pool.ult(v, most), pool.ule(least, v));
    let part = pool.extract(v, 2, 2);
    let zero = pool.constant(2, 0);
    let none = pool.eq(part, zero);
    let mut facts = Facts::new();
    facts.assume(&pool, below, true, Some(0)).expect("it can hold");
    facts.assume(&pool, enough, true, Some(1)).expect("it can hold");
    // Without the first condition, 16 would be possible, because these bits of 16 are zero.
    let contradiction = facts.assume(&pool, none, true, Some(2)).expect_err("it cannot hold");
    assert_eq!(contradiction.reasons, [0, 1, 2]);
}

/// Checks that values can be excluded one by one until none is left, for `n = (v & 15) ^ 7`.
/// Excluding a value of `n` excludes a value of `v & 15`, in another order.
#[test]
fn values_between_the_ends_are_excluded_one_by_one() {
    let mut pool = TermPool::new();
    let v = pool.var("v", Domain::full(8));
    let (mask, flip) = (pool.constant(8, 15), pool.constant(8, 7));
    let low = pool.and(v, mask);
    let end = pool.xor(low, flip);
    let mut facts = Facts::new();
    for counter in 0..15u32 {
        let value = pool.constant(8, counter.into());
        let equal = pool.eq(end, value);
        assert_eq!(facts.decide(&pool, equal), None, "{counter}");
        facts.assume(&pool, equal, false, Some(counter)).expect("it can hold");
    }
    let last = pool.constant(8, 15);
    let equal = pool.eq(end, last);
    assert_eq!(facts.decide(&pool, equal), Some(true));
    let contradiction = facts.assume(&pool, equal, false, Some(15)).expect_err("it cannot hold");
    assert_eq!(contradiction.reasons, (0..16).collect::<Vec<u32>>());
}

/// Checks that values of a merged term can be excluded one by one until none is left. The term is
/// `n - 1`, where `n` is the smaller of `v` and 20, and may wrap around.
#[test]
fn a_merged_value_has_no_others_than_its_arms() {
    let mut pool = TermPool::new();
    let v = pool.var("v", Domain::full(8));
    let (most, minus) = (pool.constant(8, 20), pool.constant(64, u64::MAX));
    let below = pool.ult(v, most);
    let wide = pool.zext(v, 64);
    let (own, cut) = (pool.add(wide, minus), pool.constant(64, 19));
    let (mut on_one, mut on_other) = (Facts::new(), Facts::new());
    on_one.assume(&pool, below, true, None).expect("it can hold");
    on_other.assume(&pool, below, false, None).expect("it can hold");
    let merged = pool.var("merged", Domain::full(64));
    let mut facts = Facts::join(&[&on_one, &on_other]);
    facts.merge(&pool, merged, &[own, cut], &[&on_one, &on_other]);
    for counter in 0..20u64 {
        let value = pool.constant(64, counter.wrapping_sub(1));
        let equal = pool.eq(merged, value);
        assert_eq!(facts.decide(&pool, equal), None, "{counter}");
        facts.assume(&pool, equal, false, None).expect("it can hold");
    }
    let equal = pool.eq(merged, cut);
    assert_eq!(facts.decide(&pool, equal), Some(true));
}

/// Checks that a value excluded on one path stays excluded after a join, if the other path rules it
/// out as well: as a single value, or because its interval does not contain the value.
#[test]
fn a_value_is_excluded_behind_a_join_if_it_is_on_every_way() {
    let mut pool = TermPool::new();
    let v = pool.var("v", Domain::full(8));
    let equal: Vec<TermId> = (0..8)
        .map(|value| {
            let value = pool.constant(8, value);
            pool.eq(v, value)
        })
        .collect();
    let five = pool.constant(8, 5);
    let above = pool.ule(five, v);
    let mut ways = [Facts::new(), Facts::new()];
    for value in [3, 4, 6] {
        ways[0].assume(&pool, equal[value], false, None).expect("it can hold");
    }
    ways[1].assume(&pool, above, true, None).expect("it can hold");
    ways[1].assume(&pool, equal[7], false, None).expect("it can hold");
    let joined = Facts::join(&[&ways[0], &ways[1]]);
    let decided: Vec<Option<bool>> =
        equal.iter().map(|&equal| joined.decide(&pool, equal)).collect();
    let excluded = |value| [3, 4].contains(&value).then_some(false);
    assert_eq!(decided, (0..8).map(excluded).collect::<Vec<_>>());
}

use super::Facts;
use proptest::prelude::*;
use slowpath_smt::{Domain, TermId, TermPool};
use std::collections::BTreeMap;

const VARIABLES: usize = 6;

/// How one state of knowledge comes from earlier ones, given by numbers to be taken modulo what
/// there is.
#[derive(Clone, Debug)]
enum Step {
    /// A variable is at least so much.
    Learn {
        from: usize,
        variable: usize,
        least: u64,
    },
    Join(Vec<usize>),
}

fn step() -> impl Strategy<Value = Step> {
    // Mostly the latest ones, so that histories get long.
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

    /// However histories are shared, what holds after a join is what holds on every way.
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

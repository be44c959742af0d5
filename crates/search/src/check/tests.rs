use super::*;
use proptest::prelude::*;

/// Condition of an arc: the index of a variable, a limit, and true if the variable must be at least
/// the limit, or false if it must be below it. `None` for an arc without a condition.
type Bound = Option<(usize, u64, bool)>;

const VARIABLES: usize = 3;

/// Returns a strategy for sequences of paths. Each path keeps a part of the previous path and adds
/// arcs. It is given by the size of the kept part, in units of 1/256, and the conditions of the
/// added arcs.
fn paths() -> impl Strategy<Value = Vec<(u8, Vec<Bound>)>> {
    let bound = (0..VARIABLES, 1..40u64, any::<bool>());
    let arcs = prop::collection::vec(prop::option::weighted(0.8, bound), 0..60);
    prop::collection::vec((any::<u8>(), arcs), 1..20)
}

/// Adds a condition to the facts and returns true. If the condition contradicts the facts, leaves
/// them unchanged and returns false.
fn assume(pool: &TermPool, facts: &mut Facts, term: TermId, position: usize) -> bool {
    facts.assume(pool, term, true, Some(position as u32)).is_ok()
}

proptest! {
    /// Checks that the trail (the remembered path) contains the facts of its current path, after a
    /// sequence of paths with common prefixes of any length.
    #[test]
    fn a_trail_has_the_facts_of_its_path(paths in paths()) {
        let mut pool = TermPool::new();
        let variables: Vec<TermId> =
            (0..VARIABLES).map(|_| pool.var("v", Domain::full(8))).collect();
        let mut conditions: Vec<Option<TermId>> = Vec::new();
        let (mut trail, mut path) = (Trail::default(), Vec::<ArcId>::new());
        for (shared, arcs) in paths {
            path.truncate(path.len() * usize::from(shared) / 256);
            for bound in arcs {
                path.push(ArcId::from(conditions.len()));
                conditions.push(bound.map(|(variable, least, holds)| {
                    let least = pool.constant(8, least);
                    let less = pool.ult(variables[variable], least);
                    if holds { pool.not(less) } else { less }
                }));
            }
            trail.follow(&path);
            let mut facts = trail.facts(&pool);
            let mut expected = Facts::new();
            let same = |facts: &Facts, expected: &Facts| {
                variables.iter().all(|&variable| {
                    facts.at_least(&pool, variable) == expected.at_least(&pool, variable)
                        && facts.domain(&pool, variable) == expected.domain(&pool, variable)
                })
            };
            for (position, arc) in path[..trail.path.len()].iter().enumerate() {
                if let Some(term) = conditions[arc.index()] {
                    assume(&pool, &mut expected, term, position);
                }
            }
            prop_assert!(same(&facts, &expected));
            for (position, &arc) in path.iter().enumerate().skip(trail.path.len()) {
                trail.path.push(arc);
                let Some(term) = conditions[arc.index()] else { continue };
                if assume(&pool, &mut facts, term, position) {
                    trail.push(TrailStep { term, position: position as u32 }, &facts);
                }
                assume(&pool, &mut expected, term, position);
                prop_assert!(same(&facts, &expected));
            }
        }
    }
}

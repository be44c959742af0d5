//! Tests that the cost automaton, which caps numbers of cycles in its contexts, computes the same
//! costs as an evaluation without caps.

use proptest::prelude::*;
use slowpath_target::{CostModel, Target};
use std::fmt::Write;

const MARKS: [&str; 2] = ["a", "b"];

/// One cost class of a generated target.
#[derive(Clone, Debug)]
struct Class {
    cycles: u64,
    engine_millicycles: u64,
    just_after: Option<(usize, u64)>,
    spacing: Option<(usize, u64)>,
    sets: [bool; 2],
}

fn class() -> impl Strategy<Value = Class> {
    let rule = |most| proptest::option::of((0usize..2, 0..most));
    (0u64..6, 0u64..5000, rule(9u64), rule(40), any::<[bool; 2]>()).prop_map(
        |(cycles, engine_millicycles, just_after, spacing, sets)| Class {
            cycles,
            engine_millicycles,
            just_after,
            spacing,
            sets,
        },
    )
}

/// Builds a target with these cost classes, which are named `c0`, `c1`, …
fn target(classes: &[Class], at_start: [bool; 2]) -> Target {
    let mut text = String::from(
        "schema = 1\nname = 'generated'\ndescription = 'generated'\n\
         packet = { min_size_bytes = 60, max_size_bytes = 1500 }\n\
         [[component]]\nname = 'cpu'\nkind = 'cores'\ncores = 1\nclock_hz = 1\n\
         overhead_cycles = 0\n[[component]]\nname = 'ram'\nkind = 'engine'\nclock_hz = 1\n",
    );
    for (mark, set) in MARKS.iter().zip(at_start) {
        write!(text, "[mark.{mark}]\ndescription = 'mark'\nset_at_start = {set}\n")
            .expect("string");
    }
    for (index, class) in classes.iter().enumerate() {
        let rule = |name: &str, rule: Option<(usize, u64)>| match rule {
            Some((mark, n)) => format!(", {name} = {{ mark = '{}', cycles = {n} }}", MARKS[mark]),
            None => String::new(),
        };
        let marks: Vec<_> = (0..2).filter(|&m| class.sets[m]).map(|m| MARKS[m]).collect();
        writeln!(
            text,
            "[price.c{index}]\ncpu = {{ cycles = {}{}{} }}\nram = {{ cycles = {}.{:03} }}\n\
             sets = {marks:?}",
            class.cycles,
            rule("just_after", class.just_after),
            rule("spacing", class.spacing),
            class.engine_millicycles / 1000,
            class.engine_millicycles % 1000,
        )
        .expect("string");
    }
    Target::parse(&text, "generated").expect("valid")
}

/// Returns the number of cycles that each event in `events` costs, computed from the exact times
/// since the marks were set. The times are not capped as in the automaton.
fn unbounded(classes: &[Class], at_start: [bool; 2], events: &[usize]) -> Vec<u64> {
    let mut now = 0;
    let mut set = at_start.map(|set| set.then_some(0));
    let charge = |&event: &usize| {
        let class = &classes[event];
        let mut cycles = class.cycles;
        if let Some((mark, n)) = class.just_after
            && set[mark] == Some(now)
        {
            cycles = n;
        }
        if let Some((mark, n)) = class.spacing
            && let Some(then) = set[mark]
        {
            cycles = cycles.max((then + n).saturating_sub(now));
        }
        now += cycles;
        (0..2).filter(|&m| class.sets[m]).for_each(|m| set[m] = Some(now));
        cycles
    };
    events.iter().map(charge).collect()
}

fn automaton(model: &CostModel, events: &[usize]) -> Vec<[u64; 2]> {
    let mut context = model.start();
    let steps = events.iter().map(|&event| {
        let mut cost = model.zero();
        context = model.step(context, event as u32, &mut cost);
        [cost[0], cost[1]]
    });
    steps.collect()
}

proptest! {
    #[test]
    fn prices_equal_those_of_an_evaluation_without_caps(
        classes in proptest::collection::vec(class(), 1..5),
        at_start in any::<[bool; 2]>(),
        events in proptest::collection::vec(any::<prop::sample::Index>(), 0..60),
    ) {
        let events: Vec<usize> = events.iter().map(|index| index.index(classes.len())).collect();
        let names: Vec<String> = (0..classes.len()).map(|index| format!("c{index}")).collect();
        let model = target(&classes, at_start).cost_model(&names).expect("all priced");
        let expected = unbounded(&classes, at_start, &events);
        let found = automaton(&model, &events);
        let cycles: Vec<u64> = found.iter().map(|cost| cost[0]).collect();
        prop_assert_eq!(cycles, expected);
        for (cost, &event) in found.iter().zip(&events) {
            prop_assert_eq!(cost[1], classes[event].engine_millicycles * 1_000_000);
        }
    }
}

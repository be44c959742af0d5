//! The states of the graph with nogoods: a state of the plain graph with what has been begun.
//!
//! A nogood changes little: the ways from its first arc until it is passed by. So states are kept,
//! and only those that a new nogood makes are explored. Each counts the steps that lead to it; what
//! nothing leads to any more goes. Nogoods that make too many states are undone.

use super::begun::{Folds, NOTHING, SetId, Sets};
use crate::costs::{CostGraph, EXIT, Step};
use crate::dag::{Dag, Head};
use rustc_hash::FxHashMap;

/// A step that would complete a nogood.
const RULED_OUT: u32 = u32::MAX - 1;

/// A state.
#[derive(Clone, Copy, Debug)]
struct State {
    /// The state of the plain graph.
    plain: u32,
    begun: SetId,
    /// Where its steps begin: as many as `plain` has, in the same order.
    first: u32,
    /// How many steps lead to it.
    uses: u32,
    /// Whether there is one, or was when it was last looked at.
    alive: bool,
}

/// States and steps.
#[derive(Debug)]
pub(super) struct Product {
    nogoods: Folds,
    sets: Sets,
    states: Vec<State>,
    /// The state behind each step.
    next: Vec<u32>,
    /// The states for each state of the plain graph; also such as nothing leads to any more.
    of_plain: Vec<Vec<u32>>,
    numbers: FxHashMap<(u32, SetId), u32>,
    /// The node of each state of the plain graph.
    nodes: Vec<u32>,
    /// How many steps each state of the plain graph has.
    steps: Vec<u32>,
    /// States that some step leads to.
    live: usize,
}

/// What nogoods have changed.
#[derive(Default)]
struct Changes {
    /// Room for a set.
    begun: Vec<(u32, u32)>,
    /// States to be explored.
    new: Vec<u32>,
    /// Steps and where they led before.
    steps: Vec<(usize, u32)>,
    /// States and how many steps led to them before.
    uses: Vec<(u32, u32)>,
    /// States that nothing may lead to any more.
    unused: Vec<u32>,
    /// Those to which nothing does.
    gone: Vec<u32>,
}

impl Product {
    /// No nogoods yet: the plain graph.
    pub fn new(dag: &Dag, plain: &CostGraph) -> Self {
        let states = plain.states();
        let mut product = Product {
            nogoods: Folds::default(),
            sets: Sets::new(),
            states: Vec::with_capacity(states),
            next: Vec::new(),
            of_plain: (0..states as u32).map(|state| vec![state]).collect(),
            numbers: FxHashMap::default(),
            nodes: Vec::with_capacity(states),
            steps: Vec::with_capacity(states),
            live: states,
        };
        let mut node = 0;
        for state in 0..states {
            let steps = plain.steps(state);
            if !steps.is_empty() {
                node = dag.arcs[plain.step(steps.start).arc as usize].tail;
            }
            product.nodes.push(node);
            product.steps.push(steps.len() as u32);
            let (number, first) = (state as u32, product.next.len() as u32);
            let state = State { plain: number, begun: NOTHING, first, uses: 0, alive: true };
            product.states.push(state);
            product.sets.acquire(NOTHING);
            product.numbers.insert((number, NOTHING), number);
            product.next.extend(steps.map(|step| plain.step(step).next));
        }
        for &next in product.next.iter().filter(|&&next| next != EXIT) {
            product.states[next as usize].uses += 1;
        }
        if let Some(entry) = product.states.first_mut() {
            entry.uses += 1;
        }
        product
    }

    /// Takes in nogoods of at least one arc each, unless there would be more than `max_states`
    /// states; says whether it did.
    pub fn add(
        &mut self,
        dag: &Dag,
        plain: &CostGraph,
        nogoods: &[Vec<u32>],
        max_states: usize,
    ) -> bool {
        let before = (self.states.len(), self.next.len(), self.nogoods.len());
        let mut changes = Changes::default();
        nogoods.iter().for_each(|arcs| self.nogoods.push(arcs.clone()));
        for arcs in nogoods {
            self.redirect(dag, plain, arcs[0], &mut changes);
        }
        // Some states go at the end, but not that many.
        let most = max_states + max_states / 4;
        while let Some(state) = changes.new.pop() {
            if self.live > most {
                break;
            }
            for place in 0..self.steps[self.states[state as usize].plain as usize] {
                self.lead(dag, plain, state, place as usize, &mut changes);
            }
        }
        if self.live <= most {
            self.bury(&mut changes);
        }
        if self.live > max_states {
            self.undo(changes, before);
            return false;
        }
        for state in changes.gone {
            let State { plain, begun, .. } = self.states[state as usize];
            self.numbers.remove(&(plain, begun));
            self.sets.release(begun);
        }
        true
    }

    /// Leads the steps over an arc, on which nogoods begin, from all states that there are.
    fn redirect(&mut self, dag: &Dag, plain: &CostGraph, arc: u32, changes: &mut Changes) {
        let node = dag.arcs[arc as usize].tail;
        let from = self.nodes.partition_point(|&other| other < node);
        for state in from..self.nodes.partition_point(|&other| other <= node) {
            let place = plain.steps(state).position(|step| plain.step(step).arc == arc);
            let Some(place) = place else { continue };
            for index in 0..self.of_plain[state].len() {
                let state = self.of_plain[state][index];
                if self.states[state as usize].alive {
                    self.lead(dag, plain, state, place, changes);
                }
            }
        }
    }

    /// Leads a step of a state to where it has to lead with the nogoods that there are now.
    fn lead(
        &mut self,
        dag: &Dag,
        plain: &CostGraph,
        state: u32,
        place: usize,
        changes: &mut Changes,
    ) {
        let State { plain: plain_state, begun, first, .. } = self.states[state as usize];
        let step = plain.step(plain.steps(plain_state as usize).start + place);
        let after = match dag.arcs[step.arc as usize].head {
            Head::Node(node) => node,
            Head::Exit(_) => u32::MAX,
        };
        let (begun, mut next) = (self.sets.get(begun), std::mem::take(&mut changes.begun));
        let target = if !self.nogoods.advance(dag, &begun, (step.arc, after), &mut next) {
            RULED_OUT
        } else if step.next == EXIT {
            EXIT
        } else {
            let begun = self.sets.number(&next);
            self.state(plain, step.next, begun, changes)
        };
        changes.begun = next;
        let slot = first as usize + place;
        let before = self.next[slot];
        if before == target {
            return;
        }
        changes.steps.push((slot, before));
        self.next[slot] = target;
        self.count(target, true, changes);
        self.count(before, false, changes);
    }

    /// The state with that much begun, a new one if need be.
    fn state(&mut self, plain: &CostGraph, state: u32, begun: SetId, changes: &mut Changes) -> u32 {
        let fresh = self.states.len() as u32;
        let number = *self.numbers.entry((state, begun)).or_insert(fresh);
        if number == fresh {
            let first = self.next.len() as u32;
            self.states.push(State { plain: state, begun, first, uses: 0, alive: true });
            self.of_plain[state as usize].push(fresh);
            self.next.extend(plain.steps(state as usize).map(|_| RULED_OUT));
            self.sets.acquire(begun);
            self.live += 1;
            changes.new.push(fresh);
        }
        number
    }

    /// One step more or less leads to a state.
    fn count(&mut self, state: u32, more: bool, changes: &mut Changes) {
        if state == EXIT || state == RULED_OUT {
            return;
        }
        let uses = &mut self.states[state as usize].uses;
        changes.uses.push((state, *uses));
        *uses = if more { *uses + 1 } else { uses.saturating_sub(1) };
        if *uses == 0 {
            changes.unused.push(state);
        }
    }

    /// Finds the states that nothing leads to any more.
    fn bury(&mut self, changes: &mut Changes) {
        while let Some(state) = changes.unused.pop() {
            let State { first, plain, uses, alive, .. } = &mut self.states[state as usize];
            // It may have come to be used after all, or be noted twice.
            if *uses > 0 || !std::mem::take(alive) {
                continue;
            }
            let slots = *first as usize..*first as usize + self.steps[*plain as usize] as usize;
            changes.gone.push(state);
            self.live -= 1;
            for slot in slots {
                self.count(self.next[slot], false, changes);
            }
        }
    }

    /// Goes back to so many states, steps and nogoods.
    fn undo(&mut self, changes: Changes, (states, steps, nogoods): (usize, usize, usize)) {
        for state in changes.gone {
            self.states[state as usize].alive = true;
            self.live += 1;
        }
        for (state, uses) in changes.uses.into_iter().rev() {
            self.states[state as usize].uses = uses;
        }
        for (slot, next) in changes.steps.into_iter().rev() {
            self.next[slot] = next;
        }
        self.live -= self.states.len() - states;
        for State { plain, begun, .. } in self.states.drain(states..) {
            self.numbers.remove(&(plain, begun));
            self.sets.release(begun);
            self.of_plain[plain as usize].pop();
        }
        self.next.truncate(steps);
        self.nogoods.truncate(nogoods);
    }

    /// The graph.
    pub fn graph(&mut self, plain: &CostGraph) -> CostGraph {
        let mut numbers = vec![EXIT; self.states.len()];
        let mut order = Vec::with_capacity(self.live);
        for states in &mut self.of_plain {
            states.retain(|&state| self.states[state as usize].alive);
            for &state in &*states {
                numbers[state as usize] = order.len() as u32;
                order.push(state);
            }
        }
        let mut first = Vec::with_capacity(order.len() + 1);
        let mut steps = Vec::with_capacity(order.len() + order.len() / 2);
        for &state in &order {
            first.push(steps.len() as u32);
            let State { plain: state, first, .. } = self.states[state as usize];
            for (slot, cost) in (first as usize..).zip(plain.steps(state as usize)) {
                let next = match self.next[slot] {
                    RULED_OUT => continue,
                    EXIT => EXIT,
                    next => numbers[next as usize],
                };
                steps.push(Step { arc: plain.step(cost).arc, next, cost: cost as u32 });
            }
        }
        first.push(steps.len() as u32);
        if self.states.len() > 2 * order.len() {
            self.compact(&order, &numbers);
        }
        plain.with_states(first, &steps)
    }

    /// Forgets the states that are gone: keeps these, with these new numbers.
    fn compact(&mut self, order: &[u32], numbers: &[u32]) {
        let mut next = Vec::with_capacity(self.next.len() / 2);
        let mut states = Vec::with_capacity(order.len());
        self.numbers.clear();
        for (number, &state) in (0u32..).zip(order) {
            let state = self.states[state as usize];
            self.numbers.insert((state.plain, state.begun), number);
            let (from, first) = (state.first as usize, next.len() as u32);
            let slots = from..from + self.steps[state.plain as usize] as usize;
            next.extend(self.next[slots].iter().map(|&next| match next {
                EXIT | RULED_OUT => next,
                next => numbers[next as usize],
            }));
            states.push(State { first, ..state });
        }
        for state in self.of_plain.iter_mut().flatten() {
            *state = numbers[*state as usize];
        }
        (self.states, self.next) = (states, next);
    }
}

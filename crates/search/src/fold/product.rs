//! Combines the cost graph with nogoods. A state of this product is a state of the plain graph
//! together with the nogoods of which a path has taken some arcs.
//!
//! A nogood affects only paths between its first arc and the node after which it can no longer
//! match. So existing states are kept, and only new states are explored. Each state counts the
//! transitions that lead to it; states that cannot be reached any more are removed. If nogoods need
//! too many states, their addition is undone.

use super::partial_matches::{MatchSets, MatchesId, NO_MATCHES, Patterns};
use crate::costs::{CostGraph, EXIT, Transition};
use crate::dag::{Dag, Head};
use rustc_hash::FxHashMap;
use slowpath_exec::{ArcId, NodeId};

/// Value that stands for the target of transitions that would complete a nogood, in place of a
/// state index.
const RULED_OUT: u32 = u32::MAX - 1;

/// A state of the product graph: a state of the plain cost graph, and the nogoods that a path to it
/// has partly matched.
#[derive(Clone, Copy, Debug)]
struct ProductState {
    /// Index of the corresponding state in the plain graph, whose states record no nogoods.
    plain: u32,
    matches: MatchesId,
    /// Index of the state's first transition. The state has the same number and order of
    /// transitions as the state `plain`.
    first: u32,
    /// Number of transitions that lead to the state.
    uses: u32,
    /// False if the state has been removed as unreachable.
    alive: bool,
}

/// The product of a cost graph with nogoods: its states and transitions. A state is a state of the
/// cost graph together with the nogoods that a path has partly matched.
#[derive(Debug)]
pub(super) struct Product {
    nogoods: Patterns,
    sets: MatchSets,
    states: Vec<ProductState>,
    /// Target state of each transition of the product.
    next: Vec<u32>,
    /// For each state of the plain graph, the states of the product that correspond to it,
    /// including removed states.
    of_plain: Vec<Vec<u32>>,
    numbers: FxHashMap<(u32, MatchesId), u32>,
    /// For each state of the plain graph, its node of the unrolled program.
    nodes: Vec<NodeId>,
    /// For each state of the plain graph, the number of its transitions.
    transitions: Vec<u32>,
    /// Number of states of the product that have not been removed.
    live: usize,
}

/// Changes that were made while adding nogoods, recorded so that they can be undone.
#[derive(Default)]
struct Changes {
    /// Reusable buffer for a set of partial matches.
    matches: Vec<(u32, u32)>,
    /// New states whose transitions must still be computed.
    new: Vec<u32>,
    /// Indices of changed transitions, each with its former target.
    transitions: Vec<(usize, u32)>,
    /// States whose use counts changed, each with its former count.
    uses: Vec<(u32, u32)>,
    /// States to which no transition leads any more, and which may be removed.
    unused: Vec<u32>,
    gone: Vec<u32>,
}

impl Product {
    /// Creates the product with no nogoods yet, which is equal to the plain graph.
    pub fn new(dag: &Dag, plain: &CostGraph) -> Self {
        let states = plain.states();
        let mut product = Product {
            nogoods: Patterns::default(),
            sets: MatchSets::new(),
            states: Vec::with_capacity(states),
            next: Vec::new(),
            of_plain: (0..states as u32).map(|state| vec![state]).collect(),
            numbers: FxHashMap::default(),
            nodes: Vec::with_capacity(states),
            transitions: Vec::with_capacity(states),
            live: states,
        };
        let mut node = Dag::ENTRY;
        for state in 0..states {
            let transitions = plain.transitions(state);
            if !transitions.is_empty() {
                node = dag[plain.transition(transitions.start).arc].tail;
            }
            product.nodes.push(node);
            product.transitions.push(transitions.len() as u32);
            let (number, first) = (state as u32, product.next.len() as u32);
            let state =
                ProductState { plain: number, matches: NO_MATCHES, first, uses: 0, alive: true };
            product.states.push(state);
            product.sets.acquire(NO_MATCHES);
            product.numbers.insert((number, NO_MATCHES), number);
            product.next.extend(transitions.map(|transition| plain.transition(transition).next));
        }
        for &next in product.next.iter().filter(|&&next| next != EXIT) {
            product.states[next as usize].uses += 1;
        }
        if let Some(entry) = product.states.first_mut() {
            entry.uses += 1;
        }
        product
    }

    /// Adds nogoods, each given by its arcs, of which there must be at least one. Returns true on
    /// success. If more than `max_states` states would be needed, undoes all changes and returns
    /// false.
    pub fn add(
        &mut self,
        dag: &Dag,
        plain: &CostGraph,
        nogoods: &[Vec<ArcId>],
        max_states: usize,
    ) -> bool {
        let before = (self.states.len(), self.next.len(), self.nogoods.len());
        let mut changes = Changes::default();
        nogoods.iter().for_each(|arcs| self.nogoods.push(arcs.clone()));
        for arcs in nogoods {
            self.redirect(dag, plain, arcs[0], &mut changes);
        }
        // Some states become unreachable only at the end, so a temporary excess is permitted.
        let most = max_states + max_states / 4;
        while let Some(state) = changes.new.pop() {
            if self.live > most {
                break;
            }
            for position in 0..self.transitions[self.states[state as usize].plain as usize] {
                self.retarget(dag, plain, state, position as usize, &mut changes);
            }
        }
        if self.live <= most {
            self.remove_unreachable(&mut changes);
        }
        if self.live > max_states {
            self.undo(changes, before);
            return false;
        }
        for state in changes.gone {
            let ProductState { plain, matches, .. } = self.states[state as usize];
            self.numbers.remove(&(plain, matches));
            self.sets.release(matches);
        }
        true
    }

    /// Updates all transitions that take `arc`, the first arc of a new nogood.
    fn redirect(&mut self, dag: &Dag, plain: &CostGraph, arc: ArcId, changes: &mut Changes) {
        let node = dag[arc].tail;
        let from = self.nodes.partition_point(|&other| other < node);
        for state in from..self.nodes.partition_point(|&other| other <= node) {
            let position = plain
                .transitions(state)
                .position(|transition| plain.transition(transition).arc == arc);
            let Some(position) = position else { continue };
            for index in 0..self.of_plain[state].len() {
                let state = self.of_plain[state][index];
                if self.states[state as usize].alive {
                    self.retarget(dag, plain, state, position, changes);
                }
            }
        }
    }

    /// Recomputes the target of a state's transition for the current nogoods.
    fn retarget(
        &mut self,
        dag: &Dag,
        plain: &CostGraph,
        state: u32,
        position: usize,
        changes: &mut Changes,
    ) {
        let ProductState { plain: plain_state, matches, first, .. } = self.states[state as usize];
        let transition = plain.transition(plain.transitions(plain_state as usize).start + position);
        let after = match dag[transition.arc].head {
            Head::Node(node) => node,
            Head::Exit(_) => NodeId(u32::MAX),
        };
        let (matches, mut next) = (self.sets.get(matches), std::mem::take(&mut changes.matches));
        let target = if !self.nogoods.advance(dag, &matches, (transition.arc, after), &mut next) {
            RULED_OUT
        } else if transition.next == EXIT {
            EXIT
        } else {
            let matches = self.sets.number(&next);
            self.state(plain, transition.next, matches, changes)
        };
        changes.matches = next;
        let slot = first as usize + position;
        let before = self.next[slot];
        if before == target {
            return;
        }
        changes.transitions.push((slot, before));
        self.next[slot] = target;
        self.count(target, true, changes);
        self.count(before, false, changes);
    }

    /// Returns the index of the product state for a plain state and a set of partial matches.
    /// Creates the state if it does not exist.
    fn state(
        &mut self,
        plain: &CostGraph,
        state: u32,
        matches: MatchesId,
        changes: &mut Changes,
    ) -> u32 {
        let fresh = self.states.len() as u32;
        let number = *self.numbers.entry((state, matches)).or_insert(fresh);
        if number == fresh {
            let first = self.next.len() as u32;
            self.states.push(ProductState { plain: state, matches, first, uses: 0, alive: true });
            self.of_plain[state as usize].push(fresh);
            self.next.extend(plain.transitions(state as usize).map(|_| RULED_OUT));
            self.sets.acquire(matches);
            self.live += 1;
            changes.new.push(fresh);
        }
        number
    }

    /// Changes the use count of a state (the number of transitions that lead to it): adds one if
    /// `more` is true, otherwise subtracts one.
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

    fn remove_unreachable(&mut self, changes: &mut Changes) {
        while let Some(state) = changes.unused.pop() {
            let ProductState { first, plain, uses, alive, .. } = &mut self.states[state as usize];
            // The state may have become reachable again, or be listed twice.
            if *uses > 0 || !std::mem::take(alive) {
                continue;
            }
            let slots =
                *first as usize..*first as usize + self.transitions[*plain as usize] as usize;
            changes.gone.push(state);
            self.live -= 1;
            for slot in slots {
                self.count(self.next[slot], false, changes);
            }
        }
    }

    /// Undoes the changes made while adding nogoods. The tuple has the numbers of states,
    /// transitions and nogoods before the changes.
    fn undo(&mut self, changes: Changes, (states, transitions, nogoods): (usize, usize, usize)) {
        for state in changes.gone {
            self.states[state as usize].alive = true;
            self.live += 1;
        }
        for (state, uses) in changes.uses.into_iter().rev() {
            self.states[state as usize].uses = uses;
        }
        for (slot, next) in changes.transitions.into_iter().rev() {
            self.next[slot] = next;
        }
        self.live -= self.states.len() - states;
        for ProductState { plain, matches, .. } in self.states.drain(states..) {
            self.numbers.remove(&(plain, matches));
            self.sets.release(matches);
            self.of_plain[plain as usize].pop();
        }
        self.next.truncate(transitions);
        self.nogoods.truncate(nogoods);
    }

    /// Returns the product as a cost graph, without the states that were removed as unreachable.
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
        let mut transitions = Vec::with_capacity(order.len() + order.len() / 2);
        for &state in &order {
            first.push(transitions.len() as u32);
            let ProductState { plain: state, first, .. } = self.states[state as usize];
            for (slot, cost) in (first as usize..).zip(plain.transitions(state as usize)) {
                let next = match self.next[slot] {
                    RULED_OUT => continue,
                    EXIT => EXIT,
                    next => numbers[next as usize],
                };
                transitions.push(Transition {
                    arc: plain.transition(cost).arc,
                    next,
                    cost: cost as u32,
                });
            }
        }
        first.push(transitions.len() as u32);
        if self.states.len() > 2 * order.len() {
            self.compact(&order, &numbers);
        }
        plain.with_states(first, &transitions)
    }

    /// Discards states that were removed as unreachable, and renumbers the other states.
    fn compact(&mut self, order: &[u32], numbers: &[u32]) {
        let mut next = Vec::with_capacity(self.next.len() / 2);
        let mut states = Vec::with_capacity(order.len());
        self.numbers.clear();
        for (number, &state) in (0u32..).zip(order) {
            let state = self.states[state as usize];
            self.numbers.insert((state.plain, state.matches), number);
            let (from, first) = (state.first as usize, next.len() as u32);
            let slots = from..from + self.transitions[state.plain as usize] as usize;
            next.extend(self.next[slots].iter().map(|&next| match next {
                EXIT | RULED_OUT => next,
                next => numbers[next as usize],
            }));
            states.push(ProductState { first, ..state });
        }
        for state in self.of_plain.iter_mut().flatten() {
            *state = numbers[*state as usize];
        }
        (self.states, self.next) = (states, next);
    }
}

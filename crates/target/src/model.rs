//! Implements the cost automaton: it prices the events of a path one after the other, and its state
//! is a small, finite context.
//!
//! A price can depend on the time since an earlier event of some kind, which is called a mark (see
//! `price`). The context contains the number of cycles since each mark was set, counted from the
//! end of the event that set it. These numbers are capped where no rule depends on larger values.
//! Time is measured in cycles of the cores that run the program, without the overhead per packet.
//! The search for the most expensive path runs the automaton along each path.

use crate::price::{ClassPrice, Price, Rule};
use crate::{
    Component, ComponentKind, CostVector, Cycles, MAX_MARKS, Target, TargetError, TargetKind,
};

/// State of the cost automaton: the number of cycles since the last event of each kind (mark) on
/// which prices depend. It has finitely many values, so it can be part of a search node's key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Context([u16; MAX_MARKS]);

/// Prices of a cost class, and the marks (kinds of recent events) that its events set, in a form
/// for fast pricing.
#[derive(Clone, Debug)]
struct Charge {
    /// Base cost of an event, in ticks on each component.
    base: CostVector,
    /// Rule for the price directly after the event that set a mark, as in [`Price::just_after`];
    /// `None` if there is no such rule.
    just_after: Option<Rule>,
    /// Rule for the minimum number of cycles since the event that set a mark, as in
    /// [`Price::spacing`]; `None` if there is no such rule.
    spacing: Option<Rule>,
    /// For each mark, true if an event of this class sets the mark when it ends.
    sets: [bool; MAX_MARKS],
}

impl Charge {
    /// Returns a charge with only a base cost: it does not depend on earlier events, and later
    /// prices do not depend on it.
    fn constant(base: CostVector) -> Self {
        Charge { base, just_after: None, spacing: None, sets: [false; MAX_MARKS] }
    }
}

/// The prices of a target for the cost classes of one program.
#[derive(Clone, Debug)]
pub struct CostModel {
    charges: Vec<Charge>,
    /// Index of the component whose clock cycles measure the time since earlier events. It is
    /// unused on targets without cores, where prices do not depend on earlier events.
    cores: usize,
    overhead: CostVector,
    start: Context,
    /// For each mark, the largest number of cycles that a context stores. Larger numbers give the
    /// same prices.
    horizon: [u16; MAX_MARKS],
}

impl Target {
    /// Prepares the prices of the cost classes of a program. Events refer to the classes by index.
    ///
    /// # Errors
    /// [`TargetError::Unpriced`] if classes lack a price on a component that they load; the error
    /// lists all of them.
    pub fn cost_model(&self, classes: &[String]) -> Result<CostModel, TargetError> {
        if self.kind == TargetKind::Counts {
            return Ok(CostModel::new(self, classes.iter().map(|c| self.count(c)).collect()));
        }
        let mut missing = Vec::new();
        let unknown = ClassPrice::default();
        let mut charges = Vec::with_capacity(classes.len());
        for class in classes {
            let known = self.prices.get(class).unwrap_or(&unknown);
            let mut base = CostVector::zero(self.components.len());
            let mut rules = (None, None);
            for (index, component) in self.components.iter().enumerate() {
                if !component.serves(class) {
                    continue;
                }
                let Some(price) = known.prices.get(index).copied().flatten() else {
                    let place = (class.clone(), component.name.clone());
                    if !missing.contains(&place) {
                        missing.push(place);
                    }
                    continue;
                };
                let Price { ticks, just_after, spacing } = price;
                base.add(index, ticks);
                if component.kind == ComponentKind::Cores {
                    rules = (just_after, spacing);
                }
            }
            let mut sets = [false; MAX_MARKS];
            known.sets.iter().flatten().for_each(|&mark| sets[mark] = true);
            charges.push(Charge { base, just_after: rules.0, spacing: rules.1, sets });
        }
        if !missing.is_empty() {
            return Err(TargetError::Unpriced { target: self.name.clone(), classes: missing });
        }
        Ok(CostModel::new(self, charges))
    }

    /// Returns a target with a single counter, and a cost model in which `ticks` are the prices of
    /// the cost classes, in order. Searches use both to maximise quantities other than costs.
    pub fn with_counter(
        &self,
        name: &str,
        ticks: impl IntoIterator<Item = u64>,
    ) -> (Target, CostModel) {
        let counter = Component {
            name: name.to_owned(),
            kind: ComponentKind::Counter,
            clock_hz: 0,
            overhead: Cycles(0),
            serves: None,
        };
        let target = Target { kind: TargetKind::Counts, components: vec![counter], ..self.clone() };
        let charge = |ticks| Charge::constant(CostVector::zero(1).with(0, ticks));
        let model = CostModel::new(&target, ticks.into_iter().map(charge).collect());
        (target, model)
    }

    /// Returns the charge for one event of a cost class on a target that counts events: 1 on each
    /// component that counts the class, otherwise 0.
    fn count(&self, class: &str) -> Charge {
        let mut base = CostVector::zero(self.components.len());
        for (index, component) in self.components.iter().enumerate() {
            base.add(index, u64::from(component.serves(class)));
        }
        Charge::constant(base)
    }
}

impl CostModel {
    fn new(target: &Target, charges: Vec<Charge>) -> Self {
        let cores = target.cores_component();
        let mut horizon = [0; MAX_MARKS];
        for charge in &charges {
            if let Some(rule) = charge.just_after {
                raise(&mut horizon[rule.mark], 1);
            }
            if let Some(rule) = charge.spacing {
                // After this number of cycles, the spacing has no effect.
                let after = charge.just_after.map_or(u64::MAX, |r| r.cycles);
                let least = charge.base[cores].min(after);
                raise(&mut horizon[rule.mark], rule.cycles.saturating_sub(least));
            }
        }
        let mut start = Context(horizon);
        for (distance, mark) in start.0.iter_mut().zip(&target.marks) {
            if mark.set_at_start {
                *distance = 0;
            }
        }
        let mut overhead = CostVector::zero(target.components.len());
        for (index, component) in target.components.iter().enumerate() {
            let ticks = component.overhead.0.saturating_mul(component.kind.ticks_per_cycle());
            overhead.add(index, ticks);
        }
        CostModel { charges, cores, overhead, start, horizon }
    }

    /// Returns the number of components of the target.
    pub fn components(&self) -> usize {
        self.overhead.len()
    }

    /// Returns the state of the cost automaton at the start of a program, before its first event.
    pub fn start(&self) -> Context {
        self.start
    }

    /// Returns the fixed cost of each packet, which is added to the cost of the program.
    pub fn overhead(&self) -> CostVector {
        self.overhead
    }

    /// Returns a cost vector of zeros with the components of the target.
    pub fn zero(&self) -> CostVector {
        CostVector::zero(self.components())
    }

    /// Adds the price of an event to `cost`, and returns the state of the cost automaton after the
    /// event.
    ///
    /// `class` is an index into the classes of [`Target::cost_model`]. An invalid index costs the
    /// maximum, because work without a price must not be free.
    pub fn step(&self, context: Context, class: u32, cost: &mut CostVector) -> Context {
        let Some(charge) = self.charges.get(class as usize) else {
            (0..self.components()).for_each(|component| cost.add(component, u64::MAX));
            return context;
        };
        let base = charge.base[self.cores];
        let mut cycles = base;
        if let Some(rule) = charge.just_after
            && context.0[rule.mark] == 0
        {
            cycles = rule.cycles;
        }
        if let Some(rule) = charge.spacing {
            cycles = cycles.max(rule.cycles.saturating_sub(u64::from(context.0[rule.mark])));
        }
        for (component, &ticks) in charge.base.as_slice().iter().enumerate() {
            cost.add(component, if component == self.cores { cycles } else { ticks });
        }
        let passed = u16::try_from(cycles).unwrap_or(u16::MAX);
        let mut next = context;
        for mark in 0..MAX_MARKS {
            next.0[mark] = match charge.sets[mark] {
                true => 0,
                false => context.0[mark].saturating_add(passed).min(self.horizon[mark]),
            };
        }
        next
    }
}

/// Raises the largest number of cycles that contexts store for a mark to `cycles`, limited to 16
/// bits.
fn raise(horizon: &mut u16, cycles: u64) {
    *horizon = (*horizon).max(u16::try_from(cycles).unwrap_or(u16::MAX));
}

#[cfg(test)]
mod tests;

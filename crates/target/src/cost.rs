//! Cost vectors: the work of a path on each component of a target, in exact integer ticks.
//!
//! What a tick is depends on the component ([`ComponentKind`](crate::ComponentKind)); what an event
//! costs is the business of [`CostModel`](crate::CostModel).

use std::ops::{AddAssign, Index};

/// The most components with costs that a target can have.
pub const MAX_COMPONENTS: usize = 4;

/// Ticks on each component of a target. Sums that do not fit 64 bits stay at the largest value.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CostVector {
    ticks: [u64; MAX_COMPONENTS],
    len: u8,
}

impl CostVector {
    /// No work on any of `components` components.
    ///
    /// # Panics
    /// With more than [`MAX_COMPONENTS`] components; no target has them.
    pub fn zero(components: usize) -> Self {
        assert!(components <= MAX_COMPONENTS, "targets have at most {MAX_COMPONENTS} components");
        CostVector { ticks: [0; MAX_COMPONENTS], len: components as u8 }
    }

    /// The number of components.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Whether there are no components.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Ticks by component.
    pub fn as_slice(&self) -> &[u64] {
        &self.ticks[..self.len()]
    }

    /// The same with another cost on one component, in ticks.
    pub fn with(mut self, component: usize, ticks: u64) -> Self {
        self.ticks[component] = ticks;
        self
    }

    /// Adds work on one component; nothing happens to a component that does not exist.
    pub fn add(&mut self, component: usize, ticks: u64) {
        if component < self.len() {
            self.ticks[component] = self.ticks[component].saturating_add(ticks);
        }
    }

    /// Component by component, the larger of the two.
    pub fn max(&self, other: &Self) -> Self {
        let mut result = *self;
        for (mine, theirs) in result.ticks.iter_mut().zip(other.ticks) {
            *mine = (*mine).max(theirs);
        }
        result
    }

    /// Component by component, the smaller of the two.
    pub fn min(&self, other: &Self) -> Self {
        let mut result = *self;
        for (mine, theirs) in result.ticks.iter_mut().zip(other.ticks) {
            *mine = (*mine).min(theirs);
        }
        result
    }
}

impl AddAssign<&CostVector> for CostVector {
    fn add_assign(&mut self, other: &CostVector) {
        for (mine, theirs) in self.ticks.iter_mut().zip(other.ticks) {
            *mine = mine.saturating_add(theirs);
        }
    }
}

impl AddAssign for CostVector {
    fn add_assign(&mut self, other: CostVector) {
        *self += &other;
    }
}

impl Index<usize> for CostVector {
    type Output = u64;

    /// # Panics
    /// When there is no such component.
    fn index(&self, component: usize) -> &u64 {
        &self.as_slice()[component]
    }
}

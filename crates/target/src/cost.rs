//! Defines cost vectors, which state how much work a path causes on each component of a target, in
//! integer ticks.
//!
//! The unit of a tick depends on the component ([`ComponentKind`](crate::ComponentKind)).
//! [`CostModel`](crate::CostModel) computes the costs of events.

use std::ops::{AddAssign, Index};

/// Maximum number of components of a target that have costs.
pub const MAX_COMPONENTS: usize = 4;

/// The number of ticks of work on each component of a target. Sums that exceed 64 bits are cut off
/// at the largest 64-bit number.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct CostVector {
    ticks: [u64; MAX_COMPONENTS],
    len: u8,
}

impl CostVector {
    /// Creates a vector of `components` zeros.
    ///
    /// # Panics
    /// If `components` exceeds [`MAX_COMPONENTS`]. Targets never have that many components.
    pub fn zero(components: usize) -> Self {
        assert!(components <= MAX_COMPONENTS, "targets have at most {MAX_COMPONENTS} components");
        CostVector { ticks: [0; MAX_COMPONENTS], len: components as u8 }
    }

    /// Returns the number of components of the target.
    pub fn len(&self) -> usize {
        usize::from(self.len)
    }

    /// Returns true if the vector has no components.
    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Returns the ticks of all components, in the order of the target's components.
    pub fn as_slice(&self) -> &[u64] {
        &self.ticks[..self.len()]
    }

    /// Returns a copy in which the cost on one component is `ticks`.
    pub fn with(mut self, component: usize, ticks: u64) -> Self {
        self.ticks[component] = ticks;
        self
    }

    /// Adds ticks to a component. Ignores components that do not exist.
    pub fn add(&mut self, component: usize, ticks: u64) {
        if component < self.len() {
            self.ticks[component] = self.ticks[component].saturating_add(ticks);
        }
    }

    /// Returns a vector with the larger of both costs for each component.
    pub fn max(&self, other: &Self) -> Self {
        self.combined(other, u64::max)
    }

    /// Returns a vector with the smaller of both costs for each component.
    pub fn min(&self, other: &Self) -> Self {
        self.combined(other, u64::min)
    }

    /// Combines the costs of each component with `combine`.
    fn combined(mut self, other: &Self, combine: fn(u64, u64) -> u64) -> Self {
        for (ticks, other) in self.ticks.iter_mut().zip(other.ticks) {
            *ticks = combine(*ticks, other);
        }
        self
    }
}

impl AddAssign<&CostVector> for CostVector {
    fn add_assign(&mut self, other: &CostVector) {
        *self = self.combined(other, u64::saturating_add);
    }
}

impl AddAssign for CostVector {
    fn add_assign(&mut self, other: CostVector) {
        *self += &other;
    }
}

impl Index<usize> for CostVector {
    type Output = u64;

    /// Returns the cost on one component, in ticks.
    ///
    /// # Panics
    /// If there is no such component.
    fn index(&self, component: usize) -> &u64 {
        &self.as_slice()[component]
    }
}

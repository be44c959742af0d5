//! Finds the region and offset to which an address points. A pointer contains a region's base
//! address among its addends.
//!
//! Accesses ignore null: `found ? pointer : 0` is treated as `pointer`, because a program that the
//! verifier accepted does not access memory through null. The concrete replay would detect a
//! violation. Pointers that are used as values may still be null.

use crate::executor::{Executor, PathVariable};
use crate::memory::Location;
use rustc_hash::FxHashSet as HashSet;
use slowpath_ir::RegionId;
use slowpath_smt::{Node, TermId};

/// Constants below this number are treated as null pointers, or as null plus the offset of a field.
/// Programs do not access memory there.
pub(crate) const NULL_PAGE: u64 = 4096;
/// Maximum number of nested choices (if-then-else) around the pointer in an address. Each helper
/// call that moves the packet's start adds one choice, and so does each later merge of paths.
const MAX_CHOICES: u32 = 48;
/// Maximum number of pointers among which the conditions in one address choose.
const MAX_POINTERS: usize = 256;
/// Maximum nesting of sums around a pointer.
const MAX_NESTED: u32 = 3;

impl Executor {
    /// Returns the region and offset of an address, if the term shows them.
    pub(crate) fn locate(&mut self, address: TermId) -> Option<Location> {
        let sum = self.pool.split_sum(address);
        for index in 0..self.bases.len() {
            let Some(base) = self.bases[index] else { continue };
            if self.pool.width(base) != self.pool.width(address) {
                continue;
            }
            let region = RegionId::from(index);
            if base == address || sum.addends.contains(&base) {
                let offset = self.pool.sub(address, base);
                return Some(Location { region, offset });
            }
            // In a base that concatenates a term and zeros, the zeros may have been merged with
            // the offset.
            if let (Node::Concat(base_high, base_low), Node::Concat(high, low)) =
                (*self.pool.node(base), *self.pool.node(address))
                && self.pool.as_const(base_low) == Some(0)
                && self.pool.width(base_low) == self.pool.width(low)
            {
                let sum = self.pool.split_sum(high);
                if base_high == high || sum.addends.contains(&base_high) {
                    let offset = self.pool.sub(high, base_high);
                    let offset = self.pool.concat(offset, low);
                    return Some(Location { region, offset });
                }
            }
            if let Some(offset) = self.behind_known(base, address, &sum.addends) {
                return Some(Location { region, offset });
            }
        }
        // This sum is too long to be split completely, so split it once.
        if let (Node::Add(a, b), [whole]) = (*self.pool.node(address), &sum.addends[..])
            && *whole == address
        {
            for (pointer, distance) in [(a, b), (b, a)] {
                if let Some(at) = self.locate(pointer) {
                    return Some(Location { offset: self.pool.add(at.offset, distance), ..at });
                }
            }
        }
        None
    }

    /// Returns the offset of `address` from `base` if `base` is a concatenation whose low part is a
    /// nonzero constant. Simplification may have added this constant to the offset in the address.
    fn behind_known(
        &mut self,
        base: TermId,
        address: TermId,
        addends: &[TermId],
    ) -> Option<TermId> {
        let Node::Concat(base_high, base_low) = *self.pool.node(base) else { return None };
        let known = self.pool.as_const(base_low).filter(|&known| known != 0)?;
        let width = self.pool.width(address);
        for &part in addends.iter().chain([&address]) {
            let Node::Concat(high, low) = *self.pool.node(part) else { continue };
            if high != base_high {
                continue;
            }
            let rest = self.pool.sub(address, part);
            let low = self.pool.zext(low, width);
            let place = self.pool.add(low, rest);
            let known = self.pool.constant(width, known);
            return Some(self.pool.sub(place, known));
        }
        None
    }

    /// Returns the location of a memory access. In contrast to [`locate`](Self::locate), ignores
    /// null pointers, and accepts choices between addresses in one region.
    pub(crate) fn locate_access(&mut self, address: TermId) -> Option<Location> {
        if let Some(&known) = self.located.get(&address) {
            return known;
        }
        let location = self.locate_choice(address, MAX_CHOICES);
        self.located.insert(address, location);
        location
    }

    fn locate_choice(&mut self, address: TermId, choices: u32) -> Option<Location> {
        if let Some(location) = self.locate(address) {
            return Some(location);
        }
        // Choices share subterms, so results are cached. A cached failure applies only to lookups
        // that may follow at most as many choices.
        if let Some(&Some(known)) = self.located.get(&address) {
            return Some(known);
        }
        if self.unlocated.get(&address).is_some_and(|&most| choices <= most) {
            return None;
        }
        let location = self.locate_through(address, choices.checked_sub(1)?);
        if location.is_some() {
            self.located.insert(address, location);
        } else {
            self.unlocated.insert(address, choices);
        }
        location
    }

    fn locate_through(&mut self, address: TermId, choices: u32) -> Option<Location> {
        if let Some((condition, then, other)) = self.choice(address) {
            return self.locate_branches(condition, then, other, choices);
        }
        let sum = self.pool.split_sum(address);
        for &addend in &sum.addends {
            let Some((condition, then, other)) = self.choice(addend) else { continue };
            if let Some(at) = self.locate_branches(condition, then, other, choices) {
                let rest = self.pool.sub(address, addend);
                return Some(Location { offset: self.pool.add(at.offset, rest), ..at });
            }
        }
        None
    }

    /// If a term is a choice (if-then-else), returns its condition and both values. Also accepts a
    /// zero-extended choice, as in addresses stored in 32 bits.
    fn choice(&mut self, term: TermId) -> Option<(TermId, TermId, TermId)> {
        let (zeros, low) = match *self.pool.node(term) {
            Node::Ite(condition, then, other) => return Some((condition, then, other)),
            Node::Concat(zeros, low) if self.pool.as_const(zeros) == Some(0) => (zeros, low),
            _ => return None,
        };
        let sum = self.pool.split_sum(low);
        for &addend in &sum.addends {
            let Node::Ite(condition, then, other) = *self.pool.node(addend) else { continue };
            let rest = self.pool.sub(low, addend);
            let [then, other] = [then, other].map(|value| {
                let value = self.pool.add(value, rest);
                self.pool.concat(zeros, value)
            });
            return Some((condition, then, other));
        }
        None
    }

    /// Returns the location of an address that is a choice between two pointers into one region, or
    /// between a pointer and null.
    fn locate_branches(
        &mut self,
        condition: TermId,
        then: TermId,
        other: TermId,
        choices: u32,
    ) -> Option<Location> {
        let null = |executor: &Self, t| executor.pool.as_const(t).is_some_and(|t| t < NULL_PAGE);
        if null(self, then) {
            return self.locate_choice(other, choices);
        }
        if null(self, other) {
            return self.locate_choice(then, choices);
        }
        let then = self.locate_choice(then, choices)?;
        let other = self.locate_choice(other, choices)?;
        (then.region == other.region).then(|| Location {
            offset: self.pool.ite(condition, then.offset, other.offset),
            ..then
        })
    }

    /// Returns the regions that an access may touch. Returns `None` if an address of the access may
    /// belong to an unknown region.
    pub(crate) fn regions(&mut self, address: TermId) -> Option<Vec<RegionId>> {
        self.regions_within(address, MAX_NESTED)
    }

    fn regions_within(&mut self, address: TermId, nested: u32) -> Option<Vec<RegionId>> {
        let nested = nested.checked_sub(1)?;
        let mut regions = Vec::new();
        let (mut work, mut seen) = (vec![address], HashSet::default());
        while let Some(pointer) = work.pop() {
            if !seen.insert(pointer)
                || self.pool.as_const(pointer).is_some_and(|constant| constant < NULL_PAGE)
            {
                continue;
            }
            if seen.len() > MAX_POINTERS {
                return None;
            }
            if let Some(location) = self.locate(pointer) {
                regions.push(location.region);
            } else if let Some(pointers) = self.alternatives(pointer) {
                work.extend(pointers);
            } else {
                // One addend is the pointer; the others are offsets.
                let mut addends = self.pool.split_sum(pointer).addends;
                addends.retain(|&addend| self.alternatives(addend).is_some());
                regions.extend(addends.iter().find_map(|&a| self.regions_within(a, nested))?);
            }
        }
        // A term without any pointer is an offset or null.
        (!regions.is_empty()).then_some(regions)
    }

    /// If a term is a choice (if-then-else) or a phi, returns the values among which it chooses;
    /// otherwise `None`.
    fn alternatives(&self, pointer: TermId) -> Option<Vec<TermId>> {
        match *self.pool.node(pointer) {
            Node::Ite(_, then, other) => Some(vec![then, other]),
            Node::Var(var) => match self.path_variables.get(&var)? {
                PathVariable::Phi { incoming, .. } => {
                    Some(incoming.iter().map(|&(_, value)| value).collect())
                }
                PathVariable::Deferred { .. } => None,
            },
            _ => None,
        }
    }
}

//! Where addresses point. A pointer is known by its region's base address among the addends.
//!
//! For accesses, null does not count: a program that a verifier accepted does not access memory
//! through it, so `found ? pointer : 0` is accessed at the pointer. The concrete replay would notice
//! if that were wrong. Where pointers are values, null stays what it is.

use crate::machine::Machine;
use crate::memory::Location;
use slowpath_ir::RegionId;
use slowpath_smt::{Node, TermId};

/// Constants below this are null, or null plus the offset of a field.
const NULL_PAGE: u64 = 4096;
/// Most choices looked through on the way to a pointer.
const MAX_CHOICES: u32 = 8;

impl Machine {
    /// The region and offset of an address, if the term shows them.
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
            // A base of the form (b, 0...0): its low bits and the offset may have been joined.
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
        }
        None
    }

    /// Where an access through an address goes; like [`locate`](Self::locate), but null does not
    /// count, and choices between places in one region are looked through.
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
        let choices = choices.checked_sub(1)?;
        if let Node::Ite(condition, then, other) = *self.pool.node(address) {
            return self.locate_branches(condition, then, other, choices);
        }
        let sum = self.pool.split_sum(address);
        for &addend in &sum.addends {
            let Node::Ite(condition, then, other) = *self.pool.node(addend) else { continue };
            if let Some(at) = self.locate_branches(condition, then, other, choices) {
                let rest = self.pool.sub(address, addend);
                return Some(Location { offset: self.pool.add(at.offset, rest), ..at });
            }
        }
        None
    }

    /// Where a choice points that is one between two pointers, or a pointer and null.
    fn locate_branches(
        &mut self,
        condition: TermId,
        then: TermId,
        other: TermId,
        choices: u32,
    ) -> Option<Location> {
        let null = |machine: &Self, t| machine.pool.as_const(t).is_some_and(|t| t < NULL_PAGE);
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
}

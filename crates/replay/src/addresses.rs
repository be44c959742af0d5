//! Addresses that programs write into maps: those of the kernel differ from the interpreter's.

use slowpath_ir::InputKind;

use crate::pair::Pair;

/// Lowest address of the kernel (x86-64 and arm64 with at most 48 bits below it).
const KERNEL: u64 = 0xffff_0000_0000_0000;
/// Longest distance of an address from the start of its region.
const REACH: u64 = 1 << 24;

impl Pair {
    /// Replaces addresses in a value of the interpreter by the kernel's, if both wrote an address
    /// at the same offset. Whether both mean the same object is not checked.
    pub fn with_their_addresses(&self, theirs: Option<&[u8]>, ours: Vec<u8>) -> Vec<u8> {
        let Some(theirs) = theirs.filter(|theirs| theirs.len() == ours.len()) else { return ours };
        let mut ours = ours;
        for (own, their) in ours.chunks_exact_mut(8).zip(theirs.chunks_exact(8)) {
            let word = |bytes: &[u8]| bytes.try_into().map_or(0, u64::from_le_bytes);
            if word(their) >= KERNEL && self.is_address(word(own)) {
                own.copy_from_slice(their);
            }
        }
        ours
    }

    fn is_address(&self, number: u64) -> bool {
        let regions = self.lifted.program.inputs.iter().filter_map(|input| match input.kind {
            InputKind::BaseAddress(region) => Some(region),
            _ => None,
        });
        let mut bases = regions.filter_map(|region| self.base(region));
        bases.any(|base| number.wrapping_sub(base) < REACH)
    }
}

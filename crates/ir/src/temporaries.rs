//! Provides temporary registers that the blocks of a program share. Without sharing, a program of
//! many blocks would have hundreds of thousands of temporaries, each of which would enlarge every
//! liveness set.

use std::collections::BTreeMap;

use crate::{Reg, RegInfo};

/// A pool of registers for results that no later block reads.
#[derive(Clone, Debug, Default)]
pub struct Temporaries {
    /// Registers of the pool by width in bits. The last number tells how many of them the current
    /// block already uses.
    pools: BTreeMap<u8, (Vec<Reg>, usize)>,
}

impl Temporaries {
    /// Starts a new block, which can use all registers of the pool again.
    pub fn begin_block(&mut self) {
        self.pools.values_mut().for_each(|(_, used)| *used = 0);
    }

    /// Returns a temporary register of `width` bits that the current block does not use yet.
    /// Appends a new register to `regs`, the registers of the program, if all are in use.
    pub fn take(&mut self, regs: &mut Vec<RegInfo>, width: u8) -> Reg {
        let (pool, used) = self.pools.entry(width).or_default();
        *used += 1;
        if *used > pool.len() {
            let reg = Reg::from(regs.len());
            regs.push(RegInfo { name: format!("t{}.{width}", pool.len()), width });
            pool.push(reg);
        }
        pool[*used - 1]
    }
}

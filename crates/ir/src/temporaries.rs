//! Temporaries that are reused from block to block: a program of many blocks would otherwise have
//! hundreds of thousands, and every liveness set would be that much larger.

use std::collections::BTreeMap;

use crate::{Reg, RegInfo};

/// A pool of registers for results that no later block reads.
#[derive(Clone, Debug, Default)]
pub struct Temporaries {
    /// By width in bits: the registers, and how many of them the current block uses.
    pools: BTreeMap<u8, (Vec<Reg>, usize)>,
}

impl Temporaries {
    /// Makes those of the blocks before available again.
    pub fn begin_block(&mut self) {
        self.pools.values_mut().for_each(|(_, used)| *used = 0);
    }

    /// One of `width` bits that the current block does not use yet; a new one becomes part of `regs`,
    /// the registers of the program.
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

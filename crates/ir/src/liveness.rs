//! Computes liveness: the registers that a block or its successors still read. Where paths merge,
//! analyses skip all other registers.
//!
//! Most registers are temporaries that one block writes and reads. The sets of live registers
//! contain only registers that some block reads before it writes them. Briggs et al. call such
//! registers "global names" ("Practical improvements to the construction and destruction of static
//! single assignment form", SP&E 1998). If each set had room for all registers, the memory would
//! grow with the square of the program's size.

use crate::{BlockId, Operand, Program, Reg, Terminator};

/// The live registers at the start of every block.
#[derive(Clone, Debug)]
pub struct Liveness {
    /// Registers that are live at the start of at least one block, in ascending order.
    carried: Vec<Reg>,
    /// Number of 64-bit words of each set in `live_in`. A set has one bit for each register in
    /// `carried`.
    words: usize,
    /// Sets of live registers at the start of all blocks, one set after the other.
    live_in: Vec<u64>,
}

impl Liveness {
    /// Computes the live registers of all blocks by backward data-flow analysis. The time is linear
    /// in practice, because most edges lead to later blocks.
    pub fn of(program: &Program) -> Self {
        let mut scan = Scan { seen: vec![Seen::default(); program.regs.len()], block: 0 };
        let mut read_first: Vec<Vec<Reg>> = Vec::with_capacity(program.blocks.len());
        for index in 0..program.blocks.len() {
            read_first.push(scan.read_first(program, index));
        }
        let mut carried: Vec<Reg> = read_first.iter().flatten().copied().collect();
        carried.sort_unstable();
        carried.dedup();
        let words = carried.len().div_ceil(64);
        let mut number = vec![NONE; program.regs.len()];
        (0u32..).zip(&carried).for_each(|(index, reg)| number[reg.index()] = index);
        let mut liveness =
            Liveness { carried, words, live_in: vec![0; words * program.blocks.len()] };
        liveness.solve(program, &read_first, &number);
        liveness
    }

    fn solve(&mut self, program: &Program, read_first: &[Vec<Reg>], number: &[u32]) {
        let blocks = program.blocks.len();
        let mut written = vec![0u64; self.words * blocks];
        for (index, block) in program.blocks.iter().enumerate() {
            // Registers that the block reads first are live at its start, whether or not the set
            // contains them.
            let set = &mut written[index * self.words..][..self.words];
            for reg in block.ops.iter().filter_map(|origin| origin.op.dst()) {
                insert(set, number[reg.index()]);
            }
            let set = &mut self.live_in[index * self.words..][..self.words];
            read_first[index].iter().for_each(|reg| insert(set, number[reg.index()]));
        }
        let mut before: Vec<Vec<u32>> = vec![Vec::new(); blocks];
        for (index, block) in program.blocks.iter().enumerate() {
            for next in block.terminator.successors() {
                before[next.index()].push(index as u32);
            }
        }
        // Start with the last blocks: front ends mostly put blocks in forward order, and liveness
        // flows backwards.
        let mut work: Vec<u32> = (0..blocks as u32).collect();
        let mut waiting = vec![true; blocks];
        while let Some(block) = work.pop() {
            let index = block as usize;
            waiting[index] = false;
            let mut changed = false;
            for next in program.blocks[index].terminator.successors() {
                for word in 0..self.words {
                    let after = self.live_in[next.index() * self.words + word];
                    let here = &mut self.live_in[index * self.words + word];
                    let all = *here | (after & !written[index * self.words + word]);
                    changed |= all != *here;
                    *here = all;
                }
            }
            if changed {
                for &earlier in &before[index] {
                    if !std::mem::replace(&mut waiting[earlier as usize], true) {
                        work.push(earlier);
                    }
                }
            }
        }
    }

    /// Returns the registers that are live at the start of `block`, in ascending order.
    pub fn live_in(&self, block: BlockId) -> impl Iterator<Item = Reg> + '_ {
        let set = &self.live_in[block.index() * self.words..][..self.words];
        let live = |&(index, _): &(usize, &Reg)| set[index / 64] >> (index % 64) & 1 == 1;
        self.carried.iter().enumerate().filter(live).map(|(_, &reg)| reg)
    }
}

/// Marker for a register without a position in `carried`, because it is not live at the start of
/// any block.
const NONE: u32 = u32::MAX;

fn insert(set: &mut [u64], number: u32) {
    if number != NONE {
        set[number as usize / 64] |= 1 << (number % 64);
    }
}

/// The numbers of the last block that read a register, and of the last block that wrote it. Block
/// numbers start at 1; 0 stands for no block.
#[derive(Clone, Copy, Default)]
struct Seen {
    read: u32,
    written: u32,
}

/// A scan of the blocks of a program, one after the other. For each register, the scan stores the
/// last blocks that read or wrote it, so that nothing has to be reset between blocks.
struct Scan {
    seen: Vec<Seen>,
    block: u32,
}

impl Scan {
    /// Returns the registers that a block reads before it writes them.
    fn read_first(&mut self, program: &Program, index: usize) -> Vec<Reg> {
        self.block += 1;
        let mut found = Vec::new();
        let block = &program.blocks[index];
        for origin in &block.ops {
            for operand in origin.op.operands() {
                if let Operand::Reg(reg) = operand {
                    self.read(reg, &mut found);
                }
            }
            if let Some(dst) = origin.op.dst() {
                self.seen[dst.index()].written = self.block;
            }
        }
        if let Terminator::Branch { cond, .. } = block.terminator {
            self.read(cond, &mut found);
        }
        found
    }

    fn read(&mut self, reg: Reg, found: &mut Vec<Reg>) {
        let seen = &mut self.seen[reg.index()];
        if seen.written != self.block && seen.read != self.block {
            seen.read = self.block;
            found.push(reg);
        }
    }
}

/// Removes operations whose results are not read, including loads and draws of an
/// [`Op::Unknown`](crate::Op::Unknown). Keeps stores. Also keeps the costs of removed loads,
/// because costs are separate events.
pub fn eliminate_dead_operations(program: &mut Program) {
    let liveness = Liveness::of(program);
    let mut live = vec![false; program.regs.len()];
    let mut touched: Vec<Reg> = Vec::new();
    for index in 0..program.blocks.len() {
        let terminator = &program.blocks[index].terminator;
        touched.extend(terminator.successors().flat_map(|next| liveness.live_in(next)));
        if let Terminator::Branch { cond, .. } = *terminator {
            touched.push(cond);
        }
        touched.iter().for_each(|reg| live[reg.index()] = true);
        // Start with the last operation, so that operands of removed operations do not become live.
        let mut kept = Vec::with_capacity(program.blocks[index].ops.len());
        for origin in program.blocks[index].ops.iter().rev() {
            if origin.op.dst().is_some_and(|dst| !live[dst.index()]) {
                continue;
            }
            if let Some(dst) = origin.op.dst() {
                live[dst.index()] = false;
            }
            for operand in origin.op.operands() {
                if let Operand::Reg(reg) = operand {
                    live[reg.index()] = true;
                    touched.push(reg);
                }
            }
            kept.push(*origin);
        }
        kept.reverse();
        kept.shrink_to_fit();
        program.blocks[index].ops = kept;
        // Clear only the registers that the block touched, because a program can have many more.
        touched.drain(..).for_each(|reg| live[reg.index()] = false);
    }
}

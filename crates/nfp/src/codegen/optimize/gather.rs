//! Finds memory copies. A sequence of loads and stores of the same register at consecutive offsets
//! becomes one read and one write of many bytes (`nfp_bpf_opt_ldst_gather`).

use slowpath_bpf::insn::{Insn, Register, Size, Source};
use slowpath_bpf::lift::RegisterValue;

use crate::codegen::annotated::{AnnotatedInsn, Copy};
use crate::codegen::facts::Facts;

/// Maximum number of bytes that one memory copy can transfer.
const LARGEST: i32 = 128;

/// A load, and the store after it that stores the loaded value.
#[derive(Clone, Copy)]
struct Pair {
    /// Index of the load instruction.
    load: usize,
    size: Size,
    register: Register,
    from: Register,
    to: Register,
    from_offset: i32,
    to_offset: i32,
}

/// Consecutive pairs of loads and stores that one memory copy can replace.
struct Chain {
    head: Pair,
    last: Pair,
    pairs: usize,
    length: i32,
}

pub(super) fn gather(insns: &mut [AnnotatedInsn], facts: &dyn Facts) {
    let mut chain: Option<Chain> = None;
    let mut slot = 0;
    while slot < insns.len() {
        let pair = pair(insns, facts, slot);
        let continues = match (&mut chain, pair) {
            (Some(chain), Some(pair)) if continues(insns, facts, chain, &pair) => {
                chain.last = pair;
                chain.pairs += 1;
                chain.length += i32::from(pair.size.bytes());
                true
            }
            _ => false,
        };
        if !continues {
            if let Some(chain) = chain.take() {
                finish(insns, &chain);
            }
            chain = pair.map(|pair| Chain {
                head: pair,
                last: pair,
                pairs: 1,
                length: pair.size.bytes().into(),
            });
        }
        slot += if pair.is_some() { 2 } else { 1 };
    }
    if let Some(chain) = chain {
        finish(insns, &chain);
    }
}

/// Returns the load at index `slot` with the store after it, if together they copy bytes to the
/// packet. Otherwise returns `None`.
fn pair(insns: &[AnnotatedInsn], facts: &dyn Facts, slot: usize) -> Option<Pair> {
    let (first, second) = (insns.get(slot)?, insns.get(slot + 1)?);
    let Insn::Load { size, signed: false, dst, base: from, offset: from_offset } = first.insn
    else {
        return None;
    };
    let Insn::Store { size: stored, base: to, offset: to_offset, src: Source::Reg(src) } =
        second.insn
    else {
        return None;
    };
    let source = facts.is_live(slot).then(|| facts.value(slot, from))?;
    let readable = matches!(source, RegisterValue::Packet | RegisterValue::MapValue { .. });
    let writable = facts.is_live(slot + 1) && facts.value(slot + 1, to) == RegisterValue::Packet;
    let same = size == stored && dst == src;
    (readable && writable && same && !second.is_target).then_some(Pair {
        load: slot,
        size,
        register: dst,
        from,
        to,
        from_offset: from_offset.into(),
        to_offset: to_offset.into(),
    })
}

fn continues(insns: &[AnnotatedInsn], facts: &dyn Facts, chain: &Chain, pair: &Pair) -> bool {
    let last = &chain.last;
    let size = i32::from(pair.size.bytes());
    let same = (pair.register, pair.from, pair.to, pair.size)
        == (last.register, last.from, last.to, last.size);
    let ascending =
        last.from_offset + size == pair.from_offset && last.to_offset + size == pair.to_offset;
    let descending =
        pair.from_offset + size == last.from_offset && pair.to_offset + size == last.to_offset;
    same && !insns[pair.load].is_target
        && (ascending || descending)
        && !overlaps(facts, &chain.head, pair)
        && chain.length < LARGEST
}

/// Returns true if the load of `pair` may read bytes that an earlier store of the chain has written
/// (`cross_mem_access`). `head` is the first pair of the chain.
fn overlaps(facts: &dyn Facts, head: &Pair, pair: &Pair) -> bool {
    if facts.value(head.load, head.from) != RegisterValue::Packet {
        return false;
    }
    let (from, to) = ((head.load, head.from), (head.load + 1, head.to));
    let Some(distance) = facts.packet_distance(from, to) else { return true };
    // Offsets below are relative to the base register of the loads.
    let Ok(written) = i32::try_from(i64::from(head.to_offset) + distance) else { return true };
    let (first, read) = (head.from_offset, pair.from_offset);
    let ascending = read > first && first < written && read >= written;
    let descending = read < first && first > written && read <= written;
    ascending || descending
}

/// Replaces a chain of loads and stores by a memory copy, if it contains more than one pair.
fn finish(insns: &mut [AnnotatedInsn], chain: &Chain) {
    if chain.pairs < 2 {
        return;
    }
    let Chain { head, last, .. } = chain;
    let descending = last.from_offset < head.from_offset;
    let lowest = if descending { last } else { head };
    let first = head.load.min(last.load);
    let end = head.load.max(last.load) + 2;
    for (slot, insn) in insns.iter_mut().enumerate().take(end).skip(first) {
        insn.skipped |= slot != head.load;
    }
    let insn = &mut insns[head.load];
    if let Insn::Load { offset, .. } = &mut insn.insn {
        *offset = lowest.from_offset as i16;
    }
    insn.copy = Some(Copy {
        // At most 128: a chain grows only while it is shorter, and the equal sizes of its pairs
        // divide 128.
        length: u8::try_from(chain.length).unwrap_or(u8::MAX),
        descending,
        to: head.to,
        to_offset: lowest.to_offset as i16,
    });
}

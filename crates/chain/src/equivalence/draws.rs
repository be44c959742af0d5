//! Makes BPF helpers return the same values in both programs: the n-th call of a helper returns the
//! same value in both, even if different instructions make the call.
//!
//! This is correct because helpers whose results depend on their arguments record these arguments.
//! The proof also compares these records. Two programs with different records differ at the first
//! call with other arguments, and up to this call both got the same values.

use slowpath_ir::{BlockId, Op};
use slowpath_product::{DrawSource, Side};
use slowpath_smt::{Domain, TermId};
use std::collections::HashMap;

/// Identifies a value that a program receives from outside, such as a helper's result. The parts
/// are the helper's index in `Draws::calls`, the position among the calls of this helper, and the
/// name of the result. Then come the position among the values with this name, and their range
/// (width in bits, minimum, maximum).
type Key = (usize, u32, String, u32, (u8, u64, u64));

/// The values that both programs have received from outside, such as results of helpers.
#[derive(Default)]
pub(super) struct Draws {
    /// For each helper, the index of its counter in the list of call counters, by the helper's
    /// name.
    calls: HashMap<String, usize>,
    terms: HashMap<Key, TermId>,
}

impl DrawSource for Draws {
    /// Merges call counters when paths join. For each helper, the result for both programs is the
    /// maximum number of calls on an incoming path. Returns `None` if the programs have called a
    /// helper a different number of times on an incoming path, because their later calls then no
    /// longer correspond.
    fn join(&self, ways: &[[&[u32]; 2]]) -> Option<[Vec<u32>; 2]> {
        let (&first, others) = ways.split_first()?;
        if others.iter().all(|&way| way == first) {
            return Some(first.map(<[u32]>::to_vec));
        }
        let made = |counts: &[u32], call: usize| counts.get(call).copied().unwrap_or(0);
        let mut next = vec![0; self.calls.len()];
        for &[mine, theirs] in ways {
            for (call, most) in next.iter_mut().enumerate() {
                if made(mine, call) != made(theirs, call) {
                    return None;
                }
                *most = made(mine, call).max(*most);
            }
        }
        Some([next.clone(), next])
    }

    fn draws(&mut self, side: &mut Side, block: BlockId, counts: &mut Vec<u32>) -> Vec<TermId> {
        let program = side.executor.program();
        let mut drawn = Vec::new();
        for origin in &program.block(block).ops {
            if let Op::Unknown { dst, draw, min, max } = origin.op {
                let draw = &program.draws[draw.index()];
                let shape = (program.width(dst), min, max);
                // Uninitialised values differ between the programs.
                let garbage = matches!(draw.call.as_str(), "" | "call") || draw.determined;
                let name = (!garbage).then(|| (draw.call.clone(), draw.result.clone()));
                drawn.push((origin.insn, name, shape));
            }
        }
        let mut inside: HashMap<(usize, String), u32> = HashMap::new();
        let mut last = HashMap::new();
        let mut terms = Vec::with_capacity(drawn.len());
        for (insn, name, (width, min, max)) in drawn {
            let domain = Domain::range(width, min, max);
            let pool = &mut side.executor.pool;
            let Some((call, result)) = name else {
                terms.push(pool.var("uninitialised", domain));
                continue;
            };
            let text = format!("{call}: {result}");
            let next = self.calls.len();
            let call = *self.calls.entry(call).or_insert(next);
            if counts.len() <= call {
                counts.resize(call + 1, 0);
            }
            if last.insert(call, insn) != Some(insn) {
                counts[call] += 1;
                inside.retain(|(of, _), _| *of != call);
            }
            let which = inside.entry((call, result.clone())).or_default();
            *which += 1;
            let key = (call, counts[call], result, *which, (width, min, max));
            terms.push(*self.terms.entry(key).or_insert_with(|| pool.var(&text, domain)));
        }
        terms
    }
}

//! Replaces calls that return the time or a random number by fixed results, called answers. The
//! original and the rewritten program get the same answers, so that their results can be compared.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{Call, Insn, helper_name};
use slowpath_kernel::Answer;

use crate::random::Random;

/// Helpers whose calls are replaced by answers. All of them are free of side effects.
const ANSWERED: [&str; 6] = [
    "bpf_ktime_get_ns",
    "bpf_ktime_get_boot_ns",
    "bpf_ktime_get_coarse_ns",
    "bpf_ktime_get_tai_ns",
    "bpf_jiffies64",
    "bpf_get_prandom_u32",
];
/// Number of random bits in an answer that stands for a time. 2^44 nanoseconds are almost five
/// hours.
const BITS: u32 = 44;

/// Fixed results for the calls of the original and of the rewritten program.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Answers {
    /// Fixed results for the calls of the original program.
    pub original: Vec<Answer>,
    /// Fixed results for the calls of the rewritten program.
    pub rewritten: Vec<Answer>,
}

impl Answers {
    /// Chooses fixed results for the calls of both programs. All calls of one helper get the same
    /// result. Each value of `number` gives other results.
    pub fn new(original: &BpfProgram, rewritten: &BpfProgram, number: u64) -> Answers {
        let answers = |program| answers(program, number);
        Answers { original: answers(original), rewritten: answers(rewritten) }
    }

    /// Returns the names of the helpers whose calls are replaced.
    pub fn names(&self) -> Vec<String> {
        let all = self.original.iter().chain(&self.rewritten);
        let mut names: Vec<String> = all.map(|answer| answer.helper.clone()).collect();
        names.sort();
        names.dedup();
        names
    }
}

/// Returns true if calls of the helper named `helper` can be replaced by fixed results.
pub fn is_answered(helper: &str) -> bool {
    ANSWERED.contains(&helper)
}

fn answers(program: &BpfProgram, number: u64) -> Vec<Answer> {
    let calls = program.insns.iter().enumerate().filter_map(|(instruction, insn)| {
        let Insn::Call(Call::Helper(helper)) = insn else { return None };
        let index = ANSWERED.iter().position(|&known| Some(known) == helper_name(*helper))?;
        let drawn = Random::new(number.wrapping_mul(ANSWERED.len() as u64) + index as u64).bits();
        let result = match ANSWERED[index] {
            "bpf_get_prandom_u32" => drawn & u64::from(u32::MAX),
            _ => drawn & ((1 << BITS) - 1),
        };
        Some(Answer { instruction, helper: ANSWERED[index].to_owned(), result, writes: Vec::new() })
    });
    calls.collect()
}

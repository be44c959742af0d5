//! Calls whose answer is given instead of asked for: what a test run cannot make the kernel answer.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{
    Call, Imm64, Insn, Register, Size, Source, helper::TAIL_CALL, helper_name,
};

/// Helpers that only answer. They are called all the same, so that the call takes its time.
const ONLY_ANSWER: [&str; 8] = [
    "bpf_ktime_get_ns",
    "bpf_ktime_get_boot_ns",
    "bpf_ktime_get_coarse_ns",
    "bpf_ktime_get_tai_ns",
    "bpf_jiffies64",
    "bpf_get_prandom_u32",
    "bpf_get_numa_node_id",
    "bpf_get_smp_processor_id",
];

/// What a call of a helper is to answer. The call is made only if it has no effects.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Its instruction, in the program that is loaded.
    pub instruction: usize,
    /// The helper.
    pub helper: String,
    /// What it returns.
    pub result: u64,
    /// What it writes: words of 4 bytes, and where: a register of an argument, and an offset.
    pub writes: Vec<(u8, i16, u32)>,
}

impl Answer {
    /// Whether the helper is called all the same, so that its time is part of a run.
    pub fn is_called(&self) -> bool {
        ONLY_ANSWER.contains(&self.helper.as_str())
    }
}

/// What takes the place of the call.
pub fn replacement(program: &BpfProgram, answer: &Answer) -> Result<Vec<Insn>, &'static str> {
    let called = match program.insns.get(answer.instruction) {
        Some(Insn::Call(Call::Helper(number))) if *number != TAIL_CALL => helper_name(*number),
        _ => None,
    };
    if called != Some(answer.helper.as_str()) {
        return Err("there is no such call to answer");
    }
    let write = |&(base, offset, value): &(u8, i16, u32)| {
        let base = Register::new(base).ok_or("there is no such register")?;
        Ok(Insn::Store { size: Size::W, base, offset, src: Source::Imm(value as i32) })
    };
    let mut insns = answer.writes.iter().map(write).collect::<Result<Vec<Insn>, &str>>()?;
    if answer.is_called() {
        insns.extend(program.insns.get(answer.instruction));
    }
    insns.push(Insn::LoadImm64 { dst: Register::R0, value: Imm64::Value(answer.result) });
    insns.push(Insn::SecondSlot);
    Ok(insns)
}

//! Replaces the results of helper calls by fixed values. This is for results that the kernel does
//! not return in a test run.

use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::{
    Call, Imm64, Insn, Register, Size, Source, helper::TAIL_CALL, helper_name,
};

/// Helpers without side effects. If a fixed value replaces the result of such a helper, the program
/// still calls the helper, so that runs take as long as before.
const PURE_HELPERS: [&str; 8] = [
    "bpf_ktime_get_ns",
    "bpf_ktime_get_boot_ns",
    "bpf_ktime_get_coarse_ns",
    "bpf_ktime_get_tai_ns",
    "bpf_jiffies64",
    "bpf_get_prandom_u32",
    "bpf_get_numa_node_id",
    "bpf_get_smp_processor_id",
];

/// A fixed result that replaces the result of a helper call. If the helper has no side effects, the
/// program still calls the helper first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Answer {
    /// Instruction slot of the call in the loaded program.
    pub instruction: usize,
    /// Name of the helper.
    pub helper: String,
    /// Return value of the call.
    pub result: u64,
    /// Memory that the call writes. Each tuple contains the argument register that holds the
    /// pointer, the offset in bytes from this pointer, and the 4-byte word to store.
    pub writes: Vec<(u8, i16, u32)>,
}

impl Answer {
    /// Returns true if the program still calls the helper, so that the time of a run includes the
    /// call.
    pub fn is_called(&self) -> bool {
        PURE_HELPERS.contains(&self.helper.as_str())
    }
}

/// Returns the instructions that replace a helper call.
///
/// # Errors
/// A short reason if the instruction at `answer.instruction` does not call this helper.
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

//! Maps each step of a program's path to its BPF instruction, and to the machine code that the
//! kernel compiled for it.

#[cfg(test)]
mod tests;

use serde::Deserialize;
use slowpath_bpf::Object;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_estimate::{Code, Path};
use slowpath_kernel::MachineCode;

/// Kind of a step that calls a kernel function, as in the first field of [`Step`].
const KERNEL: &str = "call";
/// x86 opcode of `jmp` with an 8-bit displacement. [`LONG`] is the opcode with a 32-bit one.
const SHORT: u8 = 0xeb;
const LONG: u8 = 0xe9;

/// A step of a path: its kind, the registers that it reads, the register that it writes, true if it
/// jumps, and two values that only estimates of time use.
type Step = (String, Vec<u8>, Option<u8>, bool, Option<(u32, bool)>, Option<u32>);

/// An execution path of a program, as read from JSON.
#[derive(Deserialize)]
pub struct Flow {
    steps: Vec<Step>,
}

/// A BPF program with the machine code that the kernel compiled for it.
pub struct Loaded {
    machine: MachineCode,
    code: Code,
}

impl Loaded {
    /// Combines a program's machine code with the object that it was loaded from.
    pub fn new(machine: MachineCode, object: &Object) -> Loaded {
        let code = Code::new(machine.insns.clone(), object);
        Loaded { machine, code }
    }

    /// Returns the machine code of each step in hexadecimal; `None` for kernel calls.
    ///
    /// # Errors
    /// If the path does not belong to this program or cannot be followed.
    pub fn code(&self, flow: &Flow) -> Result<Vec<Option<String>>, &'static str> {
        let slots = slots(&self.machine.insns, flow)?;
        self.check(flow, &slots)?;
        let steps = flow.steps.iter().zip(slots);
        let bytes = steps.map(|(step, slot)| (step.0 != KERNEL).then(|| digits(&self.bytes(slot))));
        Ok(bytes.collect())
    }

    /// Checks that each step of the path matches the BPF instruction found for it.
    fn check(&self, flow: &Flow, slots: &[usize]) -> Result<(), &'static str> {
        let different = "the path is not one of this program";
        let path = Path::new(&self.code, slots.iter().map(|&slot| (slot as u32, "")));
        let found: Flow = serde_json::from_str(&path.to_json()).map_err(|_| different)?;
        let alike = |(one, other): (&Step, &Step)| {
            (&one.0, &one.1, one.2, one.3) == (&other.0, &other.1, other.2, other.3)
        };
        let same = found.steps.len() == flow.steps.len();
        let same = same && found.steps.iter().zip(&flow.steps).all(alike);
        same.then_some(()).ok_or(different)
    }

    /// Returns the machine code of an instruction. If a return jumps to shared code, that code is
    /// included.
    fn bytes(&self, slot: usize) -> Vec<u8> {
        let Some(part) = self.machine.part(slot) else { return Vec::new() };
        let mut bytes = self.machine.bytes[part.clone()].to_vec();
        if matches!(self.machine.insns[slot], Insn::Exit)
            && let Some(target) = jump(part.start, &bytes)
            && let Some(shared) = self.machine.part_at(target)
        {
            bytes.extend_from_slice(&self.machine.bytes[target..shared.end]);
        }
        bytes
    }
}

/// Returns the target of a `jmp` at offset `from`; `None` if `bytes` do not begin with a `jmp`.
fn jump(from: usize, bytes: &[u8]) -> Option<usize> {
    let (length, distance) = match *bytes {
        [SHORT, distance, ..] => (2, i32::from(distance as i8)),
        [LONG, a, b, c, d, ..] => (5, i32::from_le_bytes([a, b, c, d])),
        _ => return None,
    };
    (from + length).checked_add_signed(distance as isize)
}

fn digits(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

/// Follows the jumps of a path through a program. Returns the position of each executed
/// instruction, in slots of 8 bytes.
fn slots(insns: &[Insn], flow: &Flow) -> Result<Vec<usize>, &'static str> {
    let (mut slots, mut callers, mut next) = (Vec::new(), Vec::new(), Some(0));
    for (_, _, _, jumps, _, _) in &flow.steps {
        let at = next.take().ok_or("the path goes on behind its end")?;
        let insn = insns.get(at).ok_or("the path leaves the program")?;
        slots.push(at);
        let behind = at + insn.slots().max(1);
        next = match insn {
            Insn::Jump { .. } => insn.jump_target(at),
            _ if insn.jump_offset().is_some() && *jumps => insn.jump_target(at),
            Insn::Call(Call::Subprogram { .. }) => {
                callers.push(behind);
                insn.function_target(at)
            }
            Insn::Call(_) if *jumps => return Err("the kernel calls back, or another program"),
            Insn::Exit => callers.pop(),
            _ => Some(behind),
        };
    }
    match next {
        None => Ok(slots),
        Some(_) => Err("the path ends elsewhere"),
    }
}

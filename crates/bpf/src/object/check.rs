//! Checks the control flow of functions. Like the kernel, it checks every function, whether
//! reachable or not.

use super::functions::Function;
use super::references::{Reference, References};
use crate::ObjectError;
use crate::error::DAMAGED;
use crate::insn::{Call, Insn};

/// Kernel functions that do not return.
const NO_RETURN: [&str; 2] = ["bpf_throw", "__bpf_trap"];

/// Checks the jumps of a function. They must stay inside the function and lead to the start of an
/// instruction, and control must not fall off the function's end.
pub(super) fn function(
    function: &Function,
    code: &[Insn],
    references: &References,
) -> Result<(), ObjectError> {
    let fault = |slot: usize, what: &str, hint| {
        ObjectError::insn(function.section_name.as_str(), function.first + slot, what, hint)
    };
    for (slot, insn) in code.iter().enumerate() {
        if insn.jump_offset().is_none() {
            continue;
        }
        match insn.jump_target(slot).and_then(|target| code.get(target)) {
            None => return Err(fault(slot, "a jump out of its function", DAMAGED)),
            Some(Insn::SecondSlot) => {
                return Err(fault(slot, "a jump into the middle of an instruction", DAMAGED));
            }
            Some(_) => {}
        }
    }
    let last = (function.section, function.first + code.len().saturating_sub(1));
    match (code.last(), references.get(&last)) {
        (Some(Insn::Exit | Insn::Jump { .. }), _) => Ok(()),
        (Some(Insn::Call(Call::Subprogram { .. })), Some(Reference::ExternFunction { name }))
            if NO_RETURN.contains(&name.as_str()) =>
        {
            Ok(())
        }
        _ => {
            let text = "the last instruction of a function is neither exit nor jump";
            let hint = "a path without return statement; compile with -Wall";
            Err(fault(code.len().saturating_sub(1), text, hint))
        }
    }
}

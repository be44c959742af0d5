//! Checks that the SmartNIC supports the helper calls of a program and their arguments
//! (`nfp_bpf_check_helper_call`, `nfp_bpf_stack_arg_ok` of the Linux NFP driver).

use slowpath_bpf::insn::helper::{
    GET_PRANDOM_U32, MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, PERF_EVENT_OUTPUT,
    XDP_ADJUST_HEAD, XDP_ADJUST_TAIL,
};
use slowpath_bpf::insn::helper_name;
use slowpath_bpf::lift::RegisterValue;
use slowpath_codes as codes;

use crate::codegen::access::constant_offset;
use crate::codegen::annotated::AnnotatedProgram;
use crate::codegen::refusal::Cause;
use crate::firmware::MapAbi;

/// Checks a helper call. If the SmartNIC does not support it, returns the reason as an error.
pub(super) fn check(
    program: &AnnotatedProgram<'_>,
    slot: usize,
    number: i32,
    abi: MapAbi,
) -> Result<(), Cause> {
    let name = helper_name(number).unwrap_or("an unknown helper");
    let argument = |number| program.registers.before(slot, number);
    match (number, abi) {
        (MAP_LOOKUP_ELEM, _) | (MAP_UPDATE_ELEM | MAP_DELETE_ELEM, MapAbi::Call) => {
            stack_argument(name, argument(2))?;
            if number == MAP_UPDATE_ELEM {
                stack_argument(name, argument(3))?;
            }
            match argument(1) {
                RegisterValue::Map(_) => Ok(()),
                _ => Err(Cause::new(
                    codes::CARD_HELPER,
                    format!("{name} with different maps on different paths to it"),
                    "call the helper in each branch",
                )),
            }
        }
        (MAP_UPDATE_ELEM | MAP_DELETE_ELEM, MapAbi::ArrayPointer) => Err(Cause::new(
            codes::CARD_HELPER,
            format!("{name}: the firmware has one array, whose elements programs cannot set"),
            "--map-abi call compiles it for the stock firmware, whose map costs are not published",
        )),
        (GET_PRANDOM_U32 | XDP_ADJUST_TAIL | XDP_ADJUST_HEAD, _) => Ok(()),
        (PERF_EVENT_OUTPUT, MapAbi::Call) => perf_output(argument(3), argument(4)),
        _ => Err(Cause::new(
            codes::CARD_HELPER,
            format!("{name}, which the card does not have"),
            "--target ebpf counts instructions instead",
        )),
    }
}

fn perf_output(flags: RegisterValue, data: RegisterValue) -> Result<(), Cause> {
    /// The helper flag `BPF_F_CURRENT_CPU`. It is also the mask of the flag bits that hold an index
    /// in the map.
    const CURRENT: u64 = 0xffff_ffff;
    match flags {
        RegisterValue::Constant(flags) if flags & CURRENT == CURRENT => {}
        _ => {
            let what = "bpf_perf_event_output to a CPU other than the current one";
            return Err(Cause::new(codes::CARD_HELPER, what, "pass BPF_F_CURRENT_CPU"));
        }
    }
    match data {
        RegisterValue::Stack { .. } => stack_argument("bpf_perf_event_output", data),
        RegisterValue::Packet | RegisterValue::MapValue { .. } => Ok(()),
        RegisterValue::Other | RegisterValue::Constant(_) => Ok(()),
        _ => Err(Cause::new(
            codes::CARD_HELPER,
            "bpf_perf_event_output of this kind of data",
            "copy the data to the \
             stack",
        )),
    }
}

/// Rejects an argument unless it is a stack pointer that the firmware accepts.
fn stack_argument(name: &str, value: RegisterValue) -> Result<(), Cause> {
    let hint = "the card's helpers take addresses of variables on the stack";
    let RegisterValue::Stack { offset, .. } = value else {
        return Err(Cause::new(
            codes::CARD_HELPER,
            format!("{name} with a pointer that is not into the stack"),
            hint,
        ));
    };
    let Some(offset) = constant_offset(offset) else {
        return Err(Cause::new(
            codes::CARD_HELPER,
            format!("{name} with a variable stack offset"),
            hint,
        ));
    };
    if offset % 4 != 0 {
        let what = format!("{name} with a stack variable at {offset}, not a multiple of 4");
        return Err(Cause::new(
            codes::CARD_HELPER,
            what,
            "give the variable an alignment of 4 bytes",
        ));
    }
    Ok(())
}

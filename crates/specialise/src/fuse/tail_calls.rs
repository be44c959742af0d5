//! Connects separate programs by tail calls, according to handovers. Tests run these programs in
//! the kernel and compare fused programs with them.
//!
//! Each program becomes a function of a separate driver program, which calls it, tests its return
//! value, and makes the tail call.

use super::{Form, FuseError, Fusion, Handover, copy, error, order};
use slowpath_bpf::BpfProgram;
use slowpath_bpf::insn::helper::TAIL_CALL;
use slowpath_bpf::insn::{Call, Condition, Imm64, Insn, Register, Source, Width};

/// Return value of a program whose tail call fails. It is not an XDP action.
const FAILED: i32 = 0x5105;

/// Returns programs that run the next program by a tail call. `array` is the index in the object of
/// the program array for these calls. A program has the same index in the array as in `programs`.
///
/// # Errors
/// The same as those of [`super::fuse`].
pub fn tail_calls(
    programs: &[BpfProgram],
    handovers: &[Handover],
    array: u32,
) -> Result<Vec<BpfProgram>, FuseError> {
    let first = programs.first().ok_or(FuseError::Nothing)?;
    programs.iter().try_for_each(|program| error::check(first, program))?;
    order::order(programs, handovers)?;
    let one = |(number, program): (usize, &BpfProgram)| {
        let mut fusion = Fusion::new(std::slice::from_ref(program), &[]);
        fusion.push(copy(Register::R6, Register::R1), None);
        fusion.references.push((fusion.insns.len(), (0, 0)));
        fusion.push(Insn::Call(Call::Subprogram { offset: 0 }), None);
        for handover in handovers.iter().filter(|handover| handover.from == number) {
            for &result in &handover.results {
                let call = tail_call(array, handover.to);
                fusion.push(unless(result, call.len()), None);
                call.into_iter().for_each(|insn| fusion.push(insn, None));
            }
        }
        fusion.push(Insn::Exit, None);
        fusion.add_functions(Form::Calls, &[0]);
        fusion.finish(program, &program.name)
    };
    programs.iter().enumerate().map(one).collect()
}

/// Returns a jump that skips `count` instructions unless `r0` contains the return value `result`.
fn unless(result: u32, count: usize) -> Insn {
    Insn::Branch {
        width: Width::W32,
        cond: Condition::Ne,
        dst: Register::R0,
        src: Source::Imm(result as i32),
        offset: count as i16,
    }
}

/// Returns the instructions of a tail call. `place` is the index of the called program in the
/// program array.
fn tail_call(array: u32, place: usize) -> Vec<Insn> {
    vec![
        copy(Register::R1, Register::R6),
        Insn::LoadImm64 { dst: Register::R2, value: Imm64::Map(array) },
        Insn::SecondSlot,
        number(Register::R3, place as i32),
        Insn::Call(Call::Helper(TAIL_CALL)),
        number(Register::R0, FAILED),
        Insn::Exit,
    ]
}

fn number(dst: Register, value: i32) -> Insn {
    use slowpath_bpf::insn::AluOp;
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Imm(value) }
}

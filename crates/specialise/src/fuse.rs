//! Fuses several programs that run on the same packet into one program. A handover names a program,
//! return values of this program, and the program that runs next. The next program gets the packet
//! as the previous one left it.
//!
//! If possible, all programs become parts of one function, and a test of the return value replaces
//! each exit. The function saves the context at its start, on the stack below the data of all
//! programs; each program reloads it. Otherwise, each program becomes a function that a driver
//! calls. Programs with tail calls need this form. There, a tail call ends only the called function
//! (on x86-64, Linux 5.10 and later), so the driver can still hand over. The fused program contains
//! each program once, even if several handovers lead to it.
//!
//! Only the kernel's verifier checks the total stack depth of nested calls, and that the saved
//! context is unchanged when it is reloaded.

mod depth;
mod error;
mod handover;
mod order;
mod tail_calls;

pub use error::FuseError;
pub use handover::Handover;
pub use tail_calls::tail_calls;

use std::collections::HashMap;

use slowpath_bpf::insn::helper::TAIL_CALL;
use slowpath_bpf::insn::{AluOp, Call, Condition, Imm64, Insn, Register, Size, Source, Width};
use slowpath_bpf::{BpfProgram, LineInfo, Subprogram, Unresolved};

/// Size of the BPF stack, in bytes.
const STACK: u32 = 512;

/// The form in which programs are fused.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    /// All programs are in one function, which saves the context on the stack.
    Inline {
        /// Distance in bytes from the frame pointer down to the saved context, a multiple of 8.
        context: u32,
    },
    /// Each program is a function, and a driver calls them one after the other.
    Calls,
}

/// Fuses programs into one program called `name`. The first program in the list runs first. If no
/// handover matches the return value of a program, the fused program returns this value. The
/// section, the type and the index in the object are those of the first program. All programs must
/// use the same list of maps.
///
/// # Errors
/// If two handovers contradict each other, handovers form a cycle, no handover leads to a program,
/// or programs differ in type.
pub fn fuse(
    programs: &[BpfProgram],
    handovers: &[Handover],
    name: &str,
) -> Result<BpfProgram, FuseError> {
    fuse_in_form(form(programs, handovers), programs, handovers, name)
}

/// Returns the form that [`fuse`] uses for these programs.
pub fn form(programs: &[BpfProgram], handovers: &[Handover]) -> Form {
    let hands_over = |number: usize| handovers.iter().any(|handover| handover.from == number);
    let tail_call = Insn::Call(Call::Helper(TAIL_CALL));
    let leaves = programs
        .iter()
        .enumerate()
        .any(|(number, program)| hands_over(number) && program.insns.contains(&tail_call));
    let calls_itself = programs.iter().any(|program| {
        let insns = program.insns.iter().enumerate();
        insns.into_iter().any(|(slot, insn)| insn.function_target(slot) == Some(0))
    });
    match context(programs).filter(|_| !leaves && !calls_itself) {
        Some(context) => Form::Inline { context },
        None => Form::Calls,
    }
}

/// Returns the distance in bytes from the frame pointer down to the slot in which the fused program
/// saves its context. The slot is below the stack data of all programs. Returns `None` if the stack
/// has no room for it and for the frames of all called functions.
fn context(programs: &[BpfProgram]) -> Option<u32> {
    let (mut own, mut called) = (0, 0);
    for program in programs {
        own = own.max(depth::depth(entry(program))?);
        called = called.max(depth::below(program)?);
    }
    let context = own.next_multiple_of(8) + 8;
    (depth::frame(context) + called <= STACK).then_some(context)
}

/// Fuses programs as [`fuse`] does, but in the given form.
///
/// # Errors
/// The same as those of [`fuse`].
pub fn fuse_in_form(
    form: Form,
    programs: &[BpfProgram],
    handovers: &[Handover],
    name: &str,
) -> Result<BpfProgram, FuseError> {
    let first = programs.first().ok_or(FuseError::Nothing)?;
    programs.iter().try_for_each(|program| error::check(first, program))?;
    let order = order::order(programs, handovers)?;
    let mut fusion = Fusion::new(programs, handovers);
    fusion.drive(form, &order);
    fusion.add_functions(form, &order);
    fusion.finish(first, name)
}

fn entry(program: &BpfProgram) -> &[Insn] {
    depth::code(program, 0)
}

/// A fused program under construction.
struct Fusion<'a> {
    programs: &'a [BpfProgram],
    handovers: &'a [Handover],
    insns: Vec<Insn>,
    lines: Vec<Option<LineInfo>>,
    subprograms: Vec<Subprogram>,
    kfuncs: Vec<String>,
    unresolved: Vec<Unresolved>,
    /// First slot of each function in the fused program. The key consists of the index of the
    /// program and the index of the function in this program.
    starts: HashMap<(usize, usize), usize>,
    /// Slots that call a function or load its address. Each has the index of the program and the
    /// index of the function in this program.
    references: Vec<(usize, (usize, usize))>,
    /// First slot of each program's code in the driver function, to which handovers jump, by
    /// program index.
    begins: HashMap<usize, usize>,
    /// Jumps from handovers: the slot of each jump, and the index of the program that runs next.
    jumps: Vec<(usize, usize)>,
}

impl<'a> Fusion<'a> {
    fn new(programs: &'a [BpfProgram], handovers: &'a [Handover]) -> Self {
        Fusion {
            programs,
            handovers,
            insns: Vec::new(),
            lines: Vec::new(),
            subprograms: Vec::new(),
            kfuncs: Vec::new(),
            unresolved: Vec::new(),
            starts: HashMap::new(),
            references: Vec::new(),
            begins: HashMap::new(),
            jumps: Vec::new(),
        }
    }

    fn push(&mut self, insn: Insn, line: Option<LineInfo>) {
        self.insns.push(insn);
        self.lines.push(line);
    }

    /// Emits the driver function, which runs all programs. In the given order of programs, all
    /// handovers are forward jumps.
    fn drive(&mut self, form: Form, order: &[usize]) {
        let keep = match form {
            Form::Inline { context } => Insn::Store {
                size: Size::DW,
                base: Register::FRAME,
                offset: -(context as i16),
                src: Source::Reg(Register::R1),
            },
            Form::Calls => copy(Register::R6, Register::R1),
        };
        self.push(keep, None);
        for (place, &number) in order.iter().enumerate() {
            self.begins.insert(number, self.insns.len());
            if place > 0 {
                let restore = match form {
                    Form::Inline { context } => Insn::Load {
                        size: Size::DW,
                        signed: false,
                        dst: Register::R1,
                        base: Register::FRAME,
                        offset: -(context as i16),
                    },
                    Form::Calls => copy(Register::R1, Register::R6),
                };
                self.push(restore, None);
            }
            match form {
                Form::Inline { .. } => self.inline(number),
                Form::Calls => {
                    self.references.push((self.insns.len(), (number, 0)));
                    self.push(Insn::Call(Call::Subprogram { offset: 0 }), None);
                }
            }
            self.test(number);
        }
        for (slot, to) in std::mem::take(&mut self.jumps) {
            let distance = self.begins.get(&to).map_or(0, |begin| begin - slot - 1);
            self.insns[slot] = jump(distance);
        }
    }

    /// Appends the entry function of a program to the driver, the function that runs all programs.
    /// An exit of the program becomes a jump to the slot after its code.
    fn inline(&mut self, number: usize) {
        let start = self.insns.len();
        self.copy(number, 0);
        let end = self.insns.len();
        for slot in start..end {
            if self.insns[slot] == Insn::Exit {
                self.insns[slot] = jump(end - slot - 1);
            }
        }
    }

    /// Emits tests of a program's return value, which jump to the next program, or to the exit of
    /// the fused program.
    fn test(&mut self, number: usize) {
        for handover in self.handovers.iter().filter(|handover| handover.from == number) {
            // After the tests of a handover comes one unconditional jump: the next program may be
            // too far away for a branch.
            let count = handover.results.len();
            for (place, result) in handover.results.iter().enumerate() {
                let last = place + 1 == count;
                let cond = if last { Condition::Ne } else { Condition::Eq };
                let offset = if last { 1 } else { (count - place - 1) as i16 };
                let src = Source::Imm(*result as i32);
                let width = Width::W32;
                let branch = Insn::Branch { width, cond, dst: Register::R0, src, offset };
                self.push(branch, None);
            }
            if count > 0 {
                self.jumps.push((self.insns.len(), handover.to));
                self.push(jump(0), None);
            }
        }
        self.push(Insn::Exit, None);
    }

    /// Appends a function of a program. Its instructions stay the same, except for the indices of
    /// kernel functions.
    fn copy(&mut self, number: usize, function: usize) {
        let program = &self.programs[number];
        let (first, end) = depth::range(program, function);
        let start = self.insns.len();
        for slot in first..end {
            let insn = match program.insns[slot] {
                Insn::Call(Call::Kfunc { id, module }) => {
                    Insn::Call(Call::Kfunc { id: self.kfunc(program, id), module })
                }
                insn => insn,
            };
            if let Some(target) = insn.function_target(slot) {
                let target = program.subprograms.iter().position(|of| of.first == target);
                self.references.push((self.insns.len(), (number, target.unwrap_or(usize::MAX))));
            }
            self.push(insn, program.lines.get(slot).cloned().flatten());
        }
        let unresolved = program.unresolved.iter().filter(|u| (first..end).contains(&u.insn));
        self.unresolved.extend(
            unresolved.map(|u| Unresolved { insn: u.insn - first + start, what: u.what.clone() }),
        );
    }

    /// Returns the index of a kernel function in the fused program's list. `id` is the index in the
    /// list of `program`. Returns -1 if this list has no entry `id`.
    fn kfunc(&mut self, program: &BpfProgram, id: i32) -> i32 {
        let name = usize::try_from(id).ok().and_then(|id| program.kfuncs.get(id));
        let Some(name) = name else { return -1 };
        let known = self.kfuncs.iter().position(|known| known == name);
        let number = known.unwrap_or_else(|| {
            self.kfuncs.push(name.clone());
            self.kfuncs.len() - 1
        });
        i32::try_from(number).unwrap_or(-1)
    }

    /// Appends the functions that programs call. In the form [`Form::Calls`], also appends the
    /// programs themselves as functions.
    fn add_functions(&mut self, form: Form, order: &[usize]) {
        let entries = usize::from(form != Form::Calls);
        for &number in order {
            for function in entries..self.programs[number].subprograms.len() {
                let start = self.insns.len();
                self.starts.insert((number, function), start);
                let of = &self.programs[number].subprograms[function];
                // A global function is verified by itself, without knowledge about its argument, so
                // entry functions must not be global.
                let global = of.global && function > 0;
                self.subprograms.push(Subprogram { first: start, global, ..of.clone() });
                self.copy(number, function);
            }
        }
    }

    fn finish(mut self, first: &BpfProgram, name: &str) -> Result<BpfProgram, FuseError> {
        for (slot, function) in std::mem::take(&mut self.references) {
            let distance = self.starts.get(&function).map(|to| *to as i64 - slot as i64 - 1);
            let distance = distance.and_then(|distance| i32::try_from(distance).ok());
            let Some(distance) = distance else {
                let program = self.programs[function.0].name.clone();
                return Err(FuseError::Damaged { program });
            };
            match &mut self.insns[slot] {
                Insn::Call(Call::Subprogram { offset })
                | Insn::LoadImm64 { value: Imm64::Function { offset }, .. } => *offset = distance,
                _ => {}
            }
        }
        let (name, section) = (name.to_owned(), first.section.clone());
        let of = name.clone();
        let driver =
            Subprogram { name: name.clone(), first: 0, global: true, section: of, section_slot: 0 };
        self.subprograms.insert(0, driver);
        self.unresolved.sort_by_key(|unresolved| unresolved.insn);
        Ok(BpfProgram {
            number: first.number,
            name,
            section,
            kind: first.kind,
            insns: self.insns,
            lines: self.lines,
            subprograms: self.subprograms,
            kfuncs: self.kfuncs,
            unresolved: self.unresolved,
        })
    }
}

fn copy(dst: Register, src: Register) -> Insn {
    Insn::Alu { width: Width::W64, op: AluOp::Mov, dst, src: Source::Reg(src) }
}

/// Returns a jump forward over `distance` instructions. The kernel supports long jumps since Linux
/// 6.6.
fn jump(distance: usize) -> Insn {
    let offset = i32::try_from(distance).unwrap_or(i32::MAX);
    Insn::Jump { offset, long: i16::try_from(offset).is_err() }
}

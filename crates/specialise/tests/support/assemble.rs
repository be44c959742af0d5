//! Assembles programs for tests from the notation of the kernel's verifier. Each line is an
//! instruction, or a label for the next instruction (`drop:`). Jumps refer to labels. A function
//! begins with its name and two colons (`count::`), and calls refer to this name.
//!
//! The assembler supports only the instructions that the tests use, and panics at others.

use slowpath_bpf::insn::{
    AluOp, AtomicOp, Call, Condition, Imm64, Insn, Register, Size, Source, SwapKind, Width,
};
use slowpath_bpf::{BpfProgram, ProgramKind, Subprogram};
use std::collections::BTreeMap;

/// Assembles a program. Its entry function comes first in the text, followed by the functions that
/// it calls.
pub fn program(text: &str) -> BpfProgram {
    let lines = || text.lines().map(str::trim).filter(|line| !line.is_empty());
    let (mut insns, mut names) = (Vec::new(), BTreeMap::new());
    let mut subprograms = vec![subprogram("test", 0)];
    let mut jumps = Vec::new();
    for line in lines() {
        if let Some(name) = line.strip_suffix("::") {
            subprograms.push(subprogram(name, insns.len()));
            names.insert(name, insns.len());
        } else if let Some(name) = line.strip_suffix(':') {
            names.insert(name, insns.len());
        } else {
            let (insn, target) = insn(line).unwrap_or_else(|| panic!("no instruction: {line}"));
            jumps.extend(target.map(|target| (insns.len(), target)));
            insns.push(insn);
            if matches!(insn, Insn::LoadImm64 { .. }) {
                insns.push(Insn::SecondSlot);
            }
        }
    }
    for (slot, target) in jumps {
        let to = *names.get(target).unwrap_or_else(|| panic!("no instruction {target}"));
        let distance = to as i32 - slot as i32 - 1;
        match &mut insns[slot] {
            Insn::Branch { offset, .. } | Insn::MayGoto { offset } => *offset = distance as i16,
            Insn::Jump { offset, .. } | Insn::Call(Call::Subprogram { offset }) => {
                *offset = distance;
            }
            other => panic!("{other:?} does not jump"),
        }
    }
    BpfProgram {
        number: 0,
        name: "test".to_owned(),
        section: "xdp".to_owned(),
        kind: ProgramKind::Xdp,
        lines: vec![None; insns.len()],
        insns,
        subprograms,
        kfuncs: Vec::new(),
        unresolved: Vec::new(),
    }
}

fn subprogram(name: &str, first: usize) -> Subprogram {
    let (name, section) = (name.to_owned(), "xdp".to_owned());
    Subprogram { name, first, global: false, section, section_slot: first }
}

/// Parses an instruction in the notation of the kernel's verifier. Also returns the label to which
/// it jumps, if it jumps. Returns `None` if the instruction is not supported.
fn insn(line: &str) -> Option<(Insn, Option<&str>)> {
    let words: Vec<&str> = line.split_whitespace().collect();
    Some(match words[..] {
        ["exit"] => (Insn::Exit, None),
        ["goto", target] => (Insn::Jump { offset: 0, long: false }, Some(target)),
        ["may_goto", target] => (Insn::MayGoto { offset: 0 }, Some(target)),
        ["call", target] => match target.parse() {
            Ok(number) => (Insn::Call(Call::Helper(number)), None),
            Err(_) => (Insn::Call(Call::Subprogram { offset: 0 }), Some(target)),
        },
        ["if", dst, cond, src, "goto", target] => {
            let ((width, dst), cond) = (register(dst)?, condition(cond)?);
            (Insn::Branch { width, cond, dst, src: source(src)?, offset: 0 }, Some(target))
        }
        ["lock", ref rest @ ..] => (atomic(&rest.join(" "))?, None),
        [dst, "=", "map", index] => {
            let value = Imm64::Map(index.parse().ok()?);
            (Insn::LoadImm64 { dst: register(dst)?.1, value }, None)
        }
        [dst, "=", value, "ll"] => {
            let value = Imm64::Value(number(value)? as u64);
            (Insn::LoadImm64 { dst: register(dst)?.1, value }, None)
        }
        [dst, "=", be, of] if be.starts_with("be") && dst == of => {
            let size = Size::from_bytes(be[2..].parse::<u32>().ok()? / 8)?;
            (Insn::Swap { kind: SwapKind::Be, size, dst: register(dst)?.1 }, None)
        }
        [dst, "=", minus] if minus.strip_prefix('-') == Some(dst) => {
            let (width, dst) = register(dst)?;
            (Insn::Neg { width, dst }, None)
        }
        [dst, op, src] if !line.contains('*') => {
            let ((width, dst), op) = (register(dst)?, operator(op)?);
            (Insn::Alu { width, op, dst, src: source(src)? }, None)
        }
        _ => match line.split_once(" = ")? {
            (dst, from) if from.starts_with('*') => {
                let ((size, base, offset), dst) = (memory(from)?, register(dst)?.1);
                (Insn::Load { size, signed: false, dst, base, offset }, None)
            }
            (to, src) => {
                let (size, base, offset) = memory(to)?;
                (Insn::Store { size, base, offset, src: source(src)? }, None)
            }
        },
    })
}

fn atomic(text: &str) -> Option<Insn> {
    let (to, src) = text.split_once(" += ")?;
    let ((size, base, offset), src) = (memory(to)?, register(src)?.1);
    let width = if size == Size::DW { Width::W64 } else { Width::W32 };
    Some(Insn::Atomic { op: AtomicOp::Add { fetch: false }, width, base, offset, src })
}

fn register(text: &str) -> Option<(Width, Register)> {
    let width = if text.starts_with('w') { Width::W32 } else { Width::W64 };
    let number = text.strip_prefix(['r', 'w'])?.parse().ok()?;
    Some((width, Register::new(number)?))
}

fn number(text: &str) -> Option<i64> {
    let (negative, digits) = match text.strip_prefix('-') {
        Some(digits) => (true, digits),
        None => (false, text),
    };
    let value = match digits.strip_prefix("0x") {
        Some(digits) => u64::from_str_radix(digits, 16).ok()? as i64,
        None => digits.parse().ok()?,
    };
    Some(if negative { -value } else { value })
}

fn source(text: &str) -> Option<Source> {
    match register(text) {
        Some((_, reg)) => Some(Source::Reg(reg)),
        None => {
            let value = number(text)?;
            let short = i32::try_from(value).ok().or(u32::try_from(value).ok().map(|v| v as i32));
            short.map(Source::Imm)
        }
    }
}

/// Parses a memory operand such as `*(u16 *)(r1 +4)`. Returns its size, base register and offset.
fn memory(text: &str) -> Option<(Size, Register, i16)> {
    let (size, place) = text.strip_prefix("*(u")?.split_once(" *)(")?;
    let (base, offset) = place.strip_suffix(')')?.split_once(' ')?;
    let offset = number(offset.trim_start_matches('+'))?;
    let size = Size::from_bytes(size.parse::<u32>().ok()? / 8)?;
    Some((size, register(base)?.1, i16::try_from(offset).ok()?))
}

fn operator(text: &str) -> Option<AluOp> {
    Some(match text {
        "=" => AluOp::Mov,
        "+=" => AluOp::Add,
        "-=" => AluOp::Sub,
        "*=" => AluOp::Mul,
        "&=" => AluOp::And,
        "|=" => AluOp::Or,
        "^=" => AluOp::Xor,
        "<<=" => AluOp::Lsh,
        ">>=" => AluOp::Rsh,
        _ => return None,
    })
}

fn condition(text: &str) -> Option<Condition> {
    Some(match text {
        "==" => Condition::Eq,
        "!=" => Condition::Ne,
        ">" => Condition::Gt,
        ">=" => Condition::Ge,
        "<" => Condition::Lt,
        "<=" => Condition::Le,
        "&" => Condition::Set,
        _ => return None,
    })
}

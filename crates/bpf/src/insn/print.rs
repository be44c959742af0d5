//! Prints instructions in the style of the kernel's verifier log and of `bpftool prog dump`.

use std::fmt;

use super::{
    AtomicOp, Call, Condition, Imm64, Insn, POISON, Register, Size, Source, Width, helper_name,
};

/// Names of maps and functions, to which instructions refer by number. [`Insn::print`] uses them.
pub trait Names {
    /// Returns the name of the map with this index.
    fn map(&self, index: u32) -> Option<&str>;
    /// Returns the name of the function that the printed instruction refers to. The function starts
    /// at the slot of the instruction + 1 + `offset`.
    fn function(&self, offset: i32) -> Option<&str>;
    /// Returns the name of the kernel function to which [`crate::insn::Call::Kfunc`] refers by
    /// `id`.
    fn kfunc(&self, id: i32) -> Option<&str>;
}

/// An implementation of [`Names`] without any name, so that instructions are printed with numbers
/// only.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoNames;

impl Names for NoNames {
    fn map(&self, _: u32) -> Option<&str> {
        None
    }

    fn function(&self, _: i32) -> Option<&str> {
        None
    }

    fn kfunc(&self, _: i32) -> Option<&str> {
        None
    }
}

impl fmt::Display for Insn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.print(f, &NoNames)
    }
}

impl fmt::Display for Register {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "r{}", self.number())
    }
}

/// Formats a register for an operation of this width: `r3` or `w3`.
fn reg(width: Width, reg: Register) -> String {
    let letter = if width == Width::W64 { 'r' } else { 'w' };
    format!("{letter}{}", reg.number())
}

fn unsigned(size: Size) -> String {
    format!("u{}", size.bits())
}

impl Insn {
    /// Writes the instruction as text. Maps and functions without a name in `names` appear as
    /// numbers.
    pub fn print(&self, f: &mut dyn fmt::Write, names: &dyn Names) -> fmt::Result {
        match *self {
            Insn::Alu { width, op, dst, src } => {
                let right = match src {
                    Source::Reg(src) => reg(width, src),
                    Source::Imm(imm) => imm.to_string(),
                };
                write!(f, "{} {}= {right}", reg(width, dst), op.symbol())
            }
            Insn::Neg { width, dst } => write!(f, "{0} = -{0}", reg(width, dst)),
            Insn::MoveSigned { width, from, dst, src } => {
                write!(f, "{} = (s{}){}", reg(width, dst), from.bits(), reg(width, src))
            }
            Insn::Swap { kind, size, dst } => {
                write!(f, "{dst} = {}{} {dst}", kind.name(), size.bits())
            }
            Insn::LoadImm64 { dst, value } => {
                write!(f, "{dst} = ")?;
                imm64(value, f, names)
            }
            Insn::SecondSlot => write!(f, "(second half of a 64-bit immediate)"),
            Insn::Load { size, signed, dst, base, offset } => {
                let sign = if signed { 's' } else { 'u' };
                write!(f, "{dst} = *({sign}{} *)({base} {offset:+})", size.bits())
            }
            Insn::Store { size, base, offset, src } => {
                write!(f, "*({} *)({base} {offset:+}) = ", unsigned(size))?;
                match src {
                    Source::Reg(src) => write!(f, "{src}"),
                    Source::Imm(imm) => write!(f, "{imm}"),
                }
            }
            Insn::Atomic { op, width, base, offset, src } => {
                atomic(op, width, &format!("({base} {offset:+})"), src, f)
            }
            Insn::LoadAcquire { size, dst, base, offset } => {
                write!(f, "{dst} = load_acquire(({} *)({base} {offset:+}))", unsigned(size))
            }
            Insn::StoreRelease { size, base, offset, src } => {
                write!(f, "store_release(({} *)({base} {offset:+}), {src})", unsigned(size))
            }
            Insn::LoadPacket { size, index: None, offset } => {
                write!(f, "r0 = *({} *)skb[{offset}]", unsigned(size))
            }
            Insn::LoadPacket { size, index: Some(index), offset } => {
                write!(f, "r0 = *({} *)skb[{index} + {offset}]", unsigned(size))
            }
            Insn::Jump { offset, long } => {
                write!(f, "goto{} pc{offset:+}", if long { "l" } else { "" })
            }
            Insn::Branch { width, cond, dst, src, offset } => {
                write!(f, "if {} {} ", reg(width, dst), condition(cond))?;
                match src {
                    Source::Reg(src) => write!(f, "{}", reg(width, src))?,
                    Source::Imm(imm) => write!(f, "{imm:#x}")?,
                }
                write!(f, " goto pc{offset:+}")
            }
            Insn::MayGoto { offset } => write!(f, "may_goto pc{offset:+}"),
            Insn::Call(call) => print_call(call, f, names),
            Insn::Exit => write!(f, "exit"),
        }
    }
}

fn imm64(value: Imm64, f: &mut dyn fmt::Write, names: &dyn Names) -> fmt::Result {
    let map = |index: u32| match names.map(index) {
        Some(name) => format!("map[{name}]"),
        None => format!("map[idx:{index}]"),
    };
    match value {
        Imm64::Value(value) => write!(f, "{value:#x}"),
        Imm64::MapFd(fd) => write!(f, "map[fd:{fd}]"),
        Imm64::MapFdValue { fd, offset } => write!(f, "map[fd:{fd}][0]+{offset}"),
        Imm64::Variable { id, module: 0 } => write!(f, "var[{id}]"),
        Imm64::Variable { id, module } => write!(f, "var[{id}, module {module}]"),
        Imm64::Function { offset } => match names.function(offset) {
            Some(name) => write!(f, "func[{name}]"),
            None => write!(f, "func[pc{offset:+}]"),
        },
        Imm64::Map(index) => write!(f, "{}", map(index)),
        Imm64::MapValue { map: index, offset } => write!(f, "{}[0]+{offset}", map(index)),
    }
}

fn print_call(call: Call, f: &mut dyn fmt::Write, names: &dyn Names) -> fmt::Result {
    match call {
        Call::Helper(POISON) => write!(f, "call unresolved#{POISON}"),
        Call::Helper(number) => {
            write!(f, "call {}#{number}", helper_name(number).unwrap_or("unknown"))
        }
        Call::Subprogram { offset } => match names.function(offset) {
            Some(name) => write!(f, "call pc{offset:+} ({name})"),
            None => write!(f, "call pc{offset:+}"),
        },
        Call::Kfunc { id, .. } => match names.kfunc(id) {
            Some(name) => write!(f, "call {name}#{id}"),
            None => write!(f, "call kernel-function#{id}"),
        },
    }
}

fn condition(cond: Condition) -> &'static str {
    match cond {
        Condition::Eq => "==",
        Condition::Ne => "!=",
        Condition::Set => "&",
        Condition::Gt => ">",
        Condition::Ge => ">=",
        Condition::Lt => "<",
        Condition::Le => "<=",
        Condition::Sgt => "s>",
        Condition::Sge => "s>=",
        Condition::Slt => "s<",
        Condition::Sle => "s<=",
    }
}

fn atomic(
    op: AtomicOp,
    width: Width,
    address: &str,
    src: Register,
    f: &mut dyn fmt::Write,
) -> fmt::Result {
    let bits = width.bits();
    let infix = if width == Width::W64 { "64" } else { "" };
    let (name, sign, fetch) = match op {
        AtomicOp::Add { fetch } => ("add", "+=", fetch),
        AtomicOp::Or { fetch } => ("or", "|=", fetch),
        AtomicOp::And { fetch } => ("and", "&=", fetch),
        AtomicOp::Xor { fetch } => ("xor", "^=", fetch),
        AtomicOp::Xchg => {
            return write!(f, "{src} = atomic{infix}_xchg((u{bits} *){address}, {src})");
        }
        AtomicOp::Cmpxchg => {
            return write!(f, "r0 = atomic{infix}_cmpxchg((u{bits} *){address}, r0, {src})");
        }
    };
    if fetch {
        write!(f, "{src} = atomic{infix}_fetch_{name}((u{bits} *){address}, {src})")
    } else {
        write!(f, "lock *(u{bits} *){address} {sign} {src}")
    }
}

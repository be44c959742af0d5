//! Computes the stack usage of a program along its calls, and checks it against the kernel's
//! limits.
//!
//! Sources: `check_max_stack_depth`, `grow_stack_state` and `MAX_CALL_FRAMES` of the kernel's
//! `kernel/bpf/verifier.c` and `bpf_verifier.h`. Kernels with a JIT compiler round the stack of a
//! function up to a multiple of 16 bytes; older kernels and interpreters, to a multiple of 32. XDP
//! programs have no private stacks.

use std::collections::BTreeMap;

use super::program::BpfProgram;
use crate::insn::helper::{TAIL_CALL, helper_name};
use crate::insn::{AluOp, AtomicOp, Call, Imm64, Insn, Register, Source, Width};

/// Maximum total size of the stack frames of nested calls, in bytes (`MAX_BPF_STACK`).
const STACK: u32 = 512;
/// Stack limit for functions that make tail calls: the stack frames of their callers together must
/// have fewer bytes.
const BEFORE_TAIL_CALL: u32 = 256;
/// Maximum number of nested function calls (`MAX_CALL_FRAMES`).
const FRAMES: usize = 8;
/// Maximum number of instructions of a program (`BPF_COMPLEXITY_LIMIT_INSNS`).
const INSTRUCTIONS: usize = 1_000_000;
/// Smallest granularity, in bytes, to which kernels round up the stack size of a function.
const ROUNDED: u32 = 16;
/// Largest granularity, in bytes, to which kernels round up the stack size of a function.
const ROUNDED_MOST: u32 = 32;

/// Stack usage of a program, and the reasons why kernels reject it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct StackUse {
    /// Stack bytes of each function, by index in [`BpfProgram::subprograms`].
    pub own: Vec<u32>,
    /// Indices of the functions in the chain of calls that needs most stack, from the entry
    /// function on.
    pub deepest: Vec<usize>,
    /// Stack bytes of all functions in `deepest` together, each rounded up to a multiple of 32.
    pub bytes: u32,
    /// Reasons why all kernels reject the program, one sentence for each.
    pub refused: Vec<String>,
    /// Reasons why some kernels reject the program, one sentence for each.
    pub refused_by_some: Vec<String>,
}

/// A function: its stack size in bytes, the indices of the functions that it calls, and true if it
/// makes tail calls.
#[derive(Clone, Debug, Default)]
struct Function {
    bytes: u32,
    calls: Vec<usize>,
    tail_calls: bool,
}

impl BpfProgram {
    /// Computes the stack usage of each function, and the total along chains of calls. An access to
    /// the stack counts if its distance from the frame pointer is constant.
    pub fn stack_use(&self) -> StackUse {
        let functions: Vec<Function> =
            (0..self.subprograms.len()).map(|number| self.function(number)).collect();
        let name = |number: &usize| self.subprograms[*number].name.as_str();
        let named = |path: &[usize]| path.iter().map(name).collect::<Vec<_>>().join(" > ");
        let own: Vec<u32> = functions.iter().map(|function| function.bytes).collect();
        let mut found = StackUse { own, ..StackUse::default() };
        if self.insns.len() > INSTRUCTIONS {
            let number = self.insns.len();
            let sentence =
                format!("{number} instructions exceed the {INSTRUCTIONS} that a program may have");
            found.refused.push(sentence);
        }
        let mut paths = Paths::new(&functions);
        if let Some(cycle) = paths.cycle(0, &mut Vec::new()) {
            found.refused.push(format!("functions call themselves: {}", named(&cycle)));
            return found;
        }
        let rounded_to = |to: u32| move |function: &Function| function.bytes.next_multiple_of(to);
        let most = |function: &Function| rounded_to(ROUNDED_MOST)(function).max(ROUNDED_MOST);
        (found.bytes, found.deepest) = paths.heaviest(None, &most).unwrap_or_default();
        let (least, path) = paths.heaviest(None, &rounded_to(ROUNDED)).unwrap_or_default();
        let too_deep = |bytes: u32, path: &[usize]| {
            let (calls, path) = (path.len(), named(path));
            format!("the stack of {calls} functions is {bytes} bytes, above {STACK}: {path}")
        };
        if least > STACK {
            found.refused.push(too_deep(least, &path));
        } else if found.bytes > STACK {
            found.refused_by_some.push(too_deep(found.bytes, &found.deepest));
        }
        let (frames, path) = paths.heaviest(None, &|_| 1).unwrap_or_default();
        if frames as usize > FRAMES {
            let path = named(&path);
            found.refused.push(format!("calls nest {frames} functions, above {FRAMES}: {path}"));
        }
        for (number, _) in functions.iter().enumerate().skip(1).filter(|(_, of)| of.tail_calls) {
            let before = |bytes: &dyn Fn(&Function) -> u32| {
                paths.heaviest(Some(number), bytes).unwrap_or_default().0
            };
            let sentence = |bytes: u32| {
                format!(
                    "{} makes tail calls, but its callers use {bytes} bytes of stack; the limit is \
                     below {BEFORE_TAIL_CALL}",
                    name(&number)
                )
            };
            let (least, most) = (before(&rounded_to(ROUNDED)), before(&most));
            if least >= BEFORE_TAIL_CALL {
                found.refused.push(sentence(least));
            } else if most >= BEFORE_TAIL_CALL {
                found.refused_by_some.push(sentence(most));
            }
        }
        found
    }

    fn function(&self, number: usize) -> Function {
        let start = self.subprograms[number].first;
        let end = self.subprograms.get(number + 1).map_or(self.insns.len(), |next| next.first);
        let mut found = Function::default();
        let targets: Vec<usize> =
            (start..end).filter_map(|slot| self.insns[slot].jump_target(slot)).collect();
        let number_at = |first: usize| self.subprograms.iter().position(|of| of.first == first);
        // Constant distances from the frame pointer, by register.
        let mut known: BTreeMap<u8, i64> = BTreeMap::new();
        for slot in start..end {
            if targets.contains(&slot) {
                known.clear();
            }
            let insn = self.insns[slot];
            let at = |reg: Register, known: &BTreeMap<u8, i64>| match reg.number() {
                10 => Some(0),
                number => known.get(&number).copied(),
            };
            let mut uses = |place: Option<i64>| {
                if let Some(place) = place.filter(|place| *place < 0) {
                    let bytes = u32::try_from(-place).unwrap_or(u32::MAX / 64);
                    found.bytes = found.bytes.max(bytes.next_multiple_of(8));
                }
            };
            match insn {
                Insn::Load { base, offset, .. }
                | Insn::LoadAcquire { base, offset, .. }
                | Insn::Store { base, offset, .. }
                | Insn::StoreRelease { base, offset, .. }
                | Insn::Atomic { base, offset, .. } => {
                    uses(at(base, &known).map(|place| place + i64::from(offset)));
                }
                Insn::Call(call) => {
                    for argument in 1..=5 {
                        uses(known.get(&argument).copied());
                    }
                    if call == Call::Helper(TAIL_CALL) {
                        found.tail_calls = true;
                    }
                    if let Some(callee) = insn.function_target(slot).and_then(number_at) {
                        found.calls.push(callee);
                    }
                    (0..=5).for_each(|scratch| {
                        known.remove(&scratch);
                    });
                }
                Insn::LoadImm64 { value: Imm64::Function { .. }, .. } => {
                    // A callback that runs after the program has its own stack.
                    if let Some(callee) = insn.function_target(slot).and_then(number_at)
                        && !self.runs_later(slot, end)
                    {
                        found.calls.push(callee);
                    }
                }
                _ => {}
            }
            match insn {
                Insn::Alu { op, width: Width::W64, dst, src } => {
                    let moved = match (op, src) {
                        (AluOp::Mov, Source::Reg(from)) => at(from, &known),
                        (AluOp::Add, Source::Imm(by)) => {
                            at(dst, &known).map(|place| place + i64::from(by))
                        }
                        _ => None,
                    };
                    match moved {
                        Some(place) => known.insert(dst.number(), place),
                        None => known.remove(&dst.number()),
                    };
                }
                Insn::Alu { dst, .. }
                | Insn::Neg { dst, .. }
                | Insn::MoveSigned { dst, .. }
                | Insn::Swap { dst, .. }
                | Insn::Load { dst, .. }
                | Insn::LoadAcquire { dst, .. }
                | Insn::LoadImm64 { dst, .. } => {
                    known.remove(&dst.number());
                }
                Insn::Atomic { op: AtomicOp::Cmpxchg, .. } => {
                    known.remove(&0);
                }
                Insn::Atomic { op, src, .. } if op.fetches() => {
                    known.remove(&src.number());
                }
                Insn::LoadPacket { .. } => (0..=5).for_each(|scratch| {
                    known.remove(&scratch);
                }),
                _ => {}
            }
        }
        found
    }

    /// Returns true if the first call at or after this instruction slot registers a callback that
    /// runs after the program has ended.
    fn runs_later(&self, slot: usize, end: usize) -> bool {
        let next = self.insns[slot..end].iter().find_map(|insn| match insn {
            Insn::Call(call) => Some(*call),
            _ => None,
        });
        match next {
            Some(Call::Helper(number)) => helper_name(number) == Some("bpf_timer_set_callback"),
            Some(Call::Kfunc { .. }) => true,
            _ => false,
        }
    }
}

/// The heaviest chain of calls from a function on: its sum of function weights, and its second
/// function. The second function is `None` if the chain ends at once.
type Step = (u32, Option<usize>);

/// A search for chains of calls that start at the entry function.
struct Paths<'a> {
    functions: &'a [Function],
    done: Vec<bool>,
}

impl<'a> Paths<'a> {
    fn new(functions: &'a [Function]) -> Self {
        Paths { functions, done: vec![false; functions.len()] }
    }

    /// Returns functions that call each other in a cycle; `None` if no cycle is reachable from the
    /// function `at`. `path` contains the functions on the way to `at`.
    fn cycle(&mut self, at: usize, path: &mut Vec<usize>) -> Option<Vec<usize>> {
        if let Some(first) = path.iter().position(|before| *before == at) {
            return Some([&path[first..], &[at]].concat());
        }
        if self.done.get(at).copied().unwrap_or(true) {
            return None;
        }
        path.push(at);
        let functions = self.functions;
        let found = functions[at].calls.iter().find_map(|&callee| self.cycle(callee, path));
        path.pop();
        self.done[at] = true;
        found
    }

    /// Returns the largest sum of weights on a path through calls from the entry function, and the
    /// functions on the path. With `to`, the path must end at this function, whose weight does not
    /// count. Returns `None` if there is no such path.
    fn heaviest(
        &self,
        to: Option<usize>,
        weight: &dyn Fn(&Function) -> u32,
    ) -> Option<(u32, Vec<usize>)> {
        let mut known = vec![None; self.functions.len()];
        let (sum, _) = self.from(0, to, weight, &mut known)?;
        let (mut path, mut next) = (Vec::new(), Some(0));
        while let Some(at) = next {
            path.push(at);
            next = known[at].flatten().and_then(|(_, next)| next);
        }
        Some((sum, path))
    }

    /// Like [`Paths::heaviest`], but for chains of calls that start at function `at`. Returns the
    /// weight of the heaviest chain and its second function. `known` stores results by function, so
    /// that each is computed once.
    fn from(
        &self,
        at: usize,
        to: Option<usize>,
        weight: &dyn Fn(&Function) -> u32,
        known: &mut Vec<Option<Option<Step>>>,
    ) -> Option<Step> {
        if to == Some(at) {
            return Some((0, None));
        }
        let function = self.functions.get(at)?;
        if let Some(known) = known[at] {
            return known;
        }
        let mut best = None;
        for &callee in &function.calls {
            if let Some((sum, _)) = self.from(callee, to, weight, known)
                && best.is_none_or(|(most, _)| sum > most)
            {
                best = Some((sum, Some(callee)));
            }
        }
        if to.is_none() {
            best = best.or(Some((0, None)));
        }
        let best = best.map(|(sum, next)| (sum.saturating_add(weight(function)), next));
        known[at] = Some(best);
        best
    }
}

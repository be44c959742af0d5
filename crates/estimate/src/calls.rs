//! Calls of the kernel on a path: of what, on which map, how much, and whether something was found.

use crate::code::Code;
use crate::values::{Place, Value, Values};
use slowpath_bpf::insn::helper::{
    LOOP, MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, TAIL_CALL, XDP_ADJUST_TAIL,
    helper_name, map_register,
};
use slowpath_bpf::insn::{AluOp, Call as Target, Condition, Insn, Source};
use std::collections::HashSet;

/// Instructions after a call until its result is compared with 0 at the latest.
const SOON: usize = 16;

/// `jhash` reads up to so many bytes at the end of a key one by one, unless all are words.
const UNMIXED: u32 = 12;
/// The longest format that is looked at.
const LONGEST: u32 = 1 << 12;
/// A flag of updates: there must be no such element yet.
const NO_ELEMENT: i64 = 1;

/// Updates that insert.
const NEW: &str = "new";
/// Ends of packets that move outwards.
const GROW: &str = "grow";
/// Ends of packets that move inwards.
const SHRINK: &str = "shrink";

/// A call of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// The helper without `bpf_`, and behind points the type of the map that it works on, and which
    /// case it is.
    pub name: String,
    /// How much it works on, as far as the path tells: bytes of the map's keys, of what is summed
    /// up, printed or written out, turns of a loop.
    pub bytes: u32,
    /// Whether the result is 0, where the path compares it with 0 soon: nothing was found, or it
    /// was done. Of tail calls, whether they do not return.
    pub zero: Option<bool>,
    /// Entries that its map has room for, as far as the path tells.
    pub room: Option<u32>,
}

impl Call {
    /// The helper without `bpf_`.
    pub fn helper(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// The type of the map that it works on.
    pub fn map_type(&self) -> Option<&str> {
        self.name.split('.').skip(1).find(|part| !is_case(part))
    }

    /// Its case, of those that its time depends on.
    pub fn case(&self) -> Option<&str> {
        self.name.split('.').skip(1).find(|part| is_case(part))
    }
}

/// Returns whether a part of a name is a case, not a type of map.
fn is_case(part: &str) -> bool {
    matches!(part, NEW | GROW | SHRINK) || part.bytes().all(|byte| byte.is_ascii_digit())
}

/// What the calls before tell of the next one.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cases {
    /// Maps whose last look-up has found nothing.
    missed: HashSet<usize>,
}

impl Cases {
    /// The call at a place of a path, whose cost class is `class`.
    pub fn call(
        &mut self,
        code: &Code,
        values: &Values,
        path: &[u32],
        at: usize,
        class: &str,
    ) -> Call {
        let name = class.strip_prefix("call.").unwrap_or(class);
        let Some(&Insn::Call(Target::Helper(number))) = code.insns.get(path[at] as usize) else {
            let zero = zero(code, path, at);
            return Call { name: name.to_owned(), bytes: 0, zero, room: None };
        };
        let zero = if number == TAIL_CALL { Some(leaves(path, at)) } else { zero(code, path, at) };
        let name = match self.case(code, values, number, zero) {
            Some(case) => format!("{name}.{case}"),
            None => name.to_owned(),
        };
        let room = map(values, number).and_then(|map| code.rooms.get(map).copied());
        Call { name, bytes: bytes(code, values, number), zero, room }
    }

    /// What else a call's time depends on.
    fn case(
        &mut self,
        code: &Code,
        values: &Values,
        number: i32,
        zero: Option<bool>,
    ) -> Option<String> {
        let map = map(values, number);
        match number {
            MAP_LOOKUP_ELEM => {
                let map = map?;
                if zero == Some(true) {
                    self.missed.insert(map);
                } else {
                    self.missed.remove(&map);
                }
                None
            }
            MAP_UPDATE_ELEM => {
                let new = map.is_some_and(|map| self.missed.remove(&map))
                    || values.register(4) == Value::Constant(NO_ELEMENT);
                new.then(|| NEW.to_owned())
            }
            XDP_ADJUST_TAIL => match values.register(2) {
                // It is an `int`.
                Value::Constant(delta) if (delta as i32) < 0 => Some(SHRINK.to_owned()),
                Value::Constant(_) => Some(GROW.to_owned()),
                _ => None,
            },
            _ if helper_name(number) == Some("bpf_trace_printk") => {
                let printed = printed(code, values)?;
                (printed > 0).then(|| printed.to_string())
            }
            _ => None,
        }
    }
}

/// Returns the number of values that the format of `bpf_trace_printk` prints.
fn printed(code: &Code, values: &Values) -> Option<u32> {
    let Value::Constant(size) = values.register(2) else { return None };
    let (mut count, mut begun) = (0, false);
    for at in 0..size.clamp(0, LONGEST.into()) {
        match values.byte(values.register(1), at, &code.initial)? {
            0 => break,
            b'%' => begun = !begun,
            _ if begun => {
                count += 1;
                begun = false;
            }
            _ => {}
        }
    }
    Some(count)
}

/// Returns whether the path goes on elsewhere than behind the call.
fn leaves(path: &[u32], at: usize) -> bool {
    path.get(at + 1).is_some_and(|&next| next != path[at] + 1)
}

/// How much a helper works on.
fn bytes(code: &Code, values: &Values, number: i32) -> u32 {
    let constant = |register| match values.register(register) {
        Value::Constant(number) => u32::try_from(number).unwrap_or(0),
        _ => 0,
    };
    match helper_name(number).unwrap_or_default() {
        "bpf_csum_diff" => constant(2).saturating_add(constant(4)),
        "bpf_trace_printk" => constant(2),
        "bpf_perf_event_output" => {
            // The upper half of the flags says how much of the packet follows.
            let packet = match values.register(3) {
                Value::Constant(flags) => u32::try_from((flags as u64) >> 32).unwrap_or(0),
                _ => 0,
            };
            constant(5).saturating_add(packet)
        }
        "bpf_ringbuf_output" => constant(3),
        "bpf_trace_vprintk" => constant(4),
        _ if number == LOOP => constant(1),
        _ => map(values, number).and_then(|map| code.key_bytes.get(map).copied()).unwrap_or(0),
    }
}

/// The loads by which a helper reads its key; none where it has no key at a known address.
pub(crate) fn key(code: &Code, values: &Values, number: i32, call: &Call) -> Vec<Place> {
    if !matches!(number, MAP_LOOKUP_ELEM | MAP_UPDATE_ELEM | MAP_DELETE_ELEM) {
        return Vec::new();
    }
    let bytes = map(values, number).and_then(|map| code.key_bytes.get(map).copied());
    let (Some(bytes), Value::Address(base, from)) = (bytes, values.register(2)) else {
        return Vec::new();
    };
    let mut place = Place { base, offset: from, bytes: 0 };
    let widths = widths(bytes, call.map_type() == Some("lpm_trie"));
    let next = |bytes| {
        place.offset = place.offset.wrapping_add(place.bytes.into());
        place.bytes = bytes;
        place
    };
    widths.into_iter().map(next).collect()
}

/// Bytes of each load of a key: of a trie as `longest_prefix_match` in `kernel/bpf/lpm_trie.c`
/// compares it, of others by the words that `jhash` mixes.
fn widths(bytes: u32, is_trie: bool) -> Vec<u8> {
    let mut widths = Vec::new();
    let mut left = bytes;
    while left > 0 {
        let width = match left {
            _ if is_trie && left == bytes => 4,
            8.. if is_trie => 8,
            _ if !is_trie && !bytes.is_multiple_of(4) && left <= UNMIXED => 1,
            4.. => 4,
            2.. if is_trie => 2,
            _ => 1,
        };
        widths.push(width);
        left = left.saturating_sub(width.into());
    }
    widths
}

/// The map that a helper is given, by its number.
fn map(values: &Values, helper: i32) -> Option<usize> {
    match values.register(map_register(helper)) {
        Value::Map(map) => Some(map as usize),
        _ => None,
    }
}

/// Returns whether the result of the call at `at` is 0, by the first comparison with 0 that
/// follows soon.
fn zero(code: &Code, path: &[u32], at: usize) -> Option<bool> {
    let mut holds = [false; 11];
    holds[0] = true;
    for (place, &number) in path.iter().enumerate().skip(at + 1).take(SOON) {
        match *code.insns.get(number as usize)? {
            Insn::Alu { op: AluOp::Mov, dst, src: Source::Reg(src), .. } => {
                holds[usize::from(dst.number())] = holds[usize::from(src.number())];
            }
            Insn::Branch { cond, dst, src: Source::Imm(0), .. }
                if holds[usize::from(dst.number())] =>
            {
                let taken = *path.get(place + 1)? != number + 1;
                return match cond {
                    Condition::Eq => Some(taken),
                    Condition::Ne => Some(!taken),
                    _ => None,
                };
            }
            Insn::Call(_) => return None,
            ref other => {
                if let Some(register) = crate::effect::of(other).writes {
                    holds[usize::from(register)] = false;
                }
            }
        }
    }
    None
}

#[cfg(test)]
mod tests;

//! Describes the kernel calls on a path: the helper, the type of its map, the amount of work, and
//! whether the call succeeds.

use crate::code::{Code, Room};
use crate::values::{MemoryAccess, Value, Values};
use slowpath_bpf::insn::helper::{
    LOOP, MAP_DELETE_ELEM, MAP_LOOKUP_ELEM, MAP_UPDATE_ELEM, TAIL_CALL, XDP_ADJUST_TAIL,
    helper_name, map_register,
};
use slowpath_bpf::insn::{AluOp, Call as Target, Condition, Insn, Source};
use std::collections::HashSet;

/// Maximum number of instructions after a call within which the program must compare the result
/// with 0 for the outcome of the call to be known.
const SOON: usize = 16;

/// Maximum number of bytes that `jhash` reads one by one at the end of a hash key, after the
/// 12-byte blocks. If a key consists of whole 4-byte words, `jhash` reads no single bytes.
const UNMIXED: u32 = 12;
/// Maximum length in bytes of a format string of `bpf_trace_printk` in which values are counted.
const LONGEST: u32 = 1 << 12;
/// Flag of map updates that must not change an existing element (`BPF_NOEXIST`).
const NO_ELEMENT: i64 = 1;

/// Suffix of a call's name for a map update that inserts a new element. Its time differs from that
/// of an update of an existing element.
const NEW: &str = "new";
/// Suffix of a call's name for a helper call that extends the packet.
const GROW: &str = "grow";
/// Suffix of a call's name for a helper call that shrinks the packet.
const SHRINK: &str = "shrink";

/// A call of a kernel function (helper) on a path.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Call {
    /// Name of the helper without `bpf_`, followed by the type of its map and by its case
    /// ([`Call::case`]). The parts are separated by dots; a type or case that the call does not
    /// have is left out.
    pub name: String,
    /// Amount of work of the call, if the path shows it. Depending on the helper, this is the
    /// number of key bytes, checksummed bytes, output bytes, or loop iterations.
    pub bytes: u32,
    /// True if the call returns 0: a look-up found nothing, or another helper succeeded. `None` if
    /// the path does not compare the result with 0 soon after the call. For tail calls, true if the
    /// call does not return.
    pub zero: Option<bool>,
    /// Number and size of the map's elements, if the path shows the map.
    pub room: Option<Room>,
}

impl Call {
    /// Returns the helper name without `bpf_`.
    pub fn helper(&self) -> &str {
        self.name.split('.').next().unwrap_or_default()
    }

    /// Returns the type of the map that the call uses, if there is one.
    pub fn map_type(&self) -> Option<&str> {
        self.name.split('.').skip(1).find(|part| !is_case(part))
    }

    /// Returns true if the call only computes the address of an element, like a look-up in an
    /// array. Cache misses then delay the access to the element, not the call.
    pub(crate) fn is_address_only(&self) -> bool {
        self.name == "map_lookup_elem.array"
    }

    /// Returns true if the call looks up an element of an array.
    pub(crate) fn is_in_array(&self) -> bool {
        self.helper() == "map_lookup_elem"
            && matches!(self.map_type(), Some("array" | "percpu_array"))
    }

    /// Returns the case of the call (`new`, `grow` or `shrink`), if its time depends on it.
    pub fn case(&self) -> Option<&str> {
        self.name.split('.').skip(1).find(|part| is_case(part))
    }
}

/// Returns true if `part`, a part of a call's name between dots, is the case of the call: `new`,
/// `grow`, `shrink` or a number. Otherwise it is the helper or a map type.
fn is_case(part: &str) -> bool {
    matches!(part, NEW | GROW | SHRINK) || part.bytes().all(|byte| byte.is_ascii_digit())
}

/// Results of earlier calls on a path. They determine if a later map update inserts a new element.
#[derive(Clone, Debug, Default)]
pub(crate) struct Cases {
    /// Indices of the maps in which the last look-up on the path found no entry.
    missed: HashSet<usize>,
}

impl Cases {
    /// Describes the call at position `at` of a path. `class` is the cost class of the call.
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

    /// Returns the case of a call, such as `new` or `grow`. Returns `None` if its time does not
    /// depend on a case.
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
                // The kernel reads the argument as an `int`.
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

/// Returns the number of values that `bpf_trace_printk` prints according to its format; `None` if
/// the format is not known.
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

/// Returns true if the tail call at position `at` of the path succeeded, so that the path does not
/// continue with the instruction after the call.
fn leaves(path: &[u32], at: usize) -> bool {
    path.get(at + 1).is_some_and(|&next| next != path[at] + 1)
}

/// Returns the amount of work of a helper call, as in [`Call::bytes`].
fn bytes(code: &Code, values: &Values, number: i32) -> u32 {
    let constant = |register| match values.register(register) {
        Value::Constant(number) => u32::try_from(number).unwrap_or(0),
        _ => 0,
    };
    match helper_name(number).unwrap_or_default() {
        "bpf_csum_diff" => constant(2).saturating_add(constant(4)),
        "bpf_trace_printk" => constant(2),
        "bpf_perf_event_output" => {
            // The upper 32 bits of the flags are the number of packet bytes to output.
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

/// Returns the loads by which a helper reads its key. Returns an empty list if the helper has no
/// key, or the address of the key is not known.
pub(crate) fn key(code: &Code, values: &Values, number: i32, call: &Call) -> Vec<MemoryAccess> {
    if !matches!(number, MAP_LOOKUP_ELEM | MAP_UPDATE_ELEM | MAP_DELETE_ELEM) {
        return Vec::new();
    }
    let bytes = map(values, number).and_then(|map| code.key_bytes.get(map).copied());
    let (Some(bytes), Value::Address(base, from)) = (bytes, values.register(2)) else {
        return Vec::new();
    };
    let mut place = MemoryAccess { base, offset: from, bytes: 0 };
    let widths = widths(bytes, call.map_type() == Some("lpm_trie"));
    let next = |bytes| {
        place.offset = place.offset.wrapping_add(place.bytes.into());
        place.bytes = bytes;
        place
    };
    widths.into_iter().map(next).collect()
}

/// Returns the sizes of the loads that read a key, in bytes and in order. Tries compare keys as
/// `longest_prefix_match` in `kernel/bpf/lpm_trie.c` does. Other maps read the words that `jhash`
/// mixes.
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

/// Returns the index of the map in a helper's argument, if it is known.
fn map(values: &Values, helper: i32) -> Option<usize> {
    match values.register(map_register(helper)) {
        Value::Map(map) => Some(map as usize),
        _ => None,
    }
}

/// Returns true if the call at position `at` of the path returns 0, false if it does not. The first
/// comparison of its result with 0 shows this. Returns `None` if none of the next [`SOON`]
/// instructions compares the result.
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

//! Reads the results that helper calls must have on the path of a witness.

#[cfg(test)]
mod tests;

use std::collections::BTreeMap;

use serde_json::Value;
use slowpath_bpf::insn::{Call, Insn, helper_name};
use slowpath_bpf::{BpfProgram, errno_name};

use crate::count::Answer;

/// Helpers that return a time or a random number.
const NUMBERS: [&str; 5] = [
    "bpf_ktime_get_ns",
    "bpf_ktime_get_boot_ns",
    "bpf_ktime_get_coarse_ns",
    "bpf_ktime_get_tai_ns",
    "bpf_get_prandom_u32",
];
/// Helper whose result is the same in all calls of one run, but may differ on the machine that
/// measures.
const NUMA_NODE: &str = "bpf_get_numa_node_id";
/// Register of the second argument of `bpf_fib_lookup`, and offset of the field `ifindex` in it.
const IFINDEX: (u8, i16) = (2, 8);
/// Error number of a failed write to a full ring buffer.
const EAGAIN: u64 = 11;
/// The largest error number that helpers return.
const MAX_ERRNO: u64 = 4095;

/// Returns fixed results for helper calls of `program`, which they must have on the path of a
/// witness: clocks, random numbers, NUMA node, routes, and map updates that fail because the map is
/// full. All other calls keep the kernel's result. So does an instruction that makes several calls
/// with different results.
pub fn answers(program: &BpfProgram, witness: &Value) -> Vec<Answer> {
    let mut jiffies = initial(witness, "bpf_jiffies64 at the start").unwrap_or(0);
    let mut known: BTreeMap<usize, Vec<Answer>> = BTreeMap::new();
    for unknown in witness["unknowns"].as_array().into_iter().flatten() {
        let parsed = parse_unknown(unknown, &mut jiffies);
        let Some((instruction, change)) = parsed else { continue };
        let answers = known.entry(instruction).or_default();
        let answer = Answer {
            instruction,
            helper: unknown["call"].as_str().unwrap_or_default().to_owned(),
            result: 0,
            writes: Vec::new(),
        };
        match (change, answers.last_mut()) {
            // The lines of one call are adjacent.
            (Change::Code(code), Some(last)) if last.result == 0 => last.result = code,
            (Change::Device(device), Some(last)) => {
                last.writes.push((IFINDEX.0, IFINDEX.1, device));
            }
            (Change::Code(_) | Change::Device(_), _) => {}
            (Change::Result(result), _) => answers.push(Answer { result, ..answer }),
        }
    }
    let same = |answers: Vec<Answer>| {
        let all_same = answers.windows(2).all(|two| two[0] == two[1]);
        answers.into_iter().next().filter(|_| all_same)
    };
    let mut answers: Vec<Answer> = known.into_values().filter_map(same).collect();
    if let Some(result) = initial(witness, NUMA_NODE) {
        answers.extend(calls_of(program, NUMA_NODE).map(|instruction| Answer {
            instruction,
            helper: NUMA_NODE.to_owned(),
            result,
            writes: Vec::new(),
        }));
    }
    answers
}

/// Returns the instruction slots of a program that call this helper.
fn calls_of<'p>(program: &'p BpfProgram, helper: &'p str) -> impl Iterator<Item = usize> + 'p {
    program.insns.iter().enumerate().filter_map(move |(slot, insn)| match *insn {
        Insn::Call(Call::Helper(number)) if helper_name(number) == Some(helper) => Some(slot),
        _ => None,
    })
}

/// A part of the required result of one helper call, read from one item of a witness.
enum Change {
    /// The return value of a call.
    Result(u64),
    /// The return value of `bpf_fib_lookup` if the lookup does not fail.
    Code(u64),
    /// The output device that `bpf_fib_lookup` writes to its parameters.
    Device(u32),
}

/// Parses one item of the witness's field `unknowns`: a value that a helper call returns on the
/// path. Returns the instruction slot of the call and a part of its required result, or `None` if
/// the kernel's result is kept. `jiffies` is the previous result of `bpf_jiffies64`, and is
/// updated.
fn parse_unknown(unknown: &Value, jiffies: &mut u64) -> Option<(usize, Change)> {
    let instruction = usize::try_from(unknown["instruction"].as_u64()?).ok()?;
    let (call, result) = (unknown["call"].as_str()?, unknown["result"].as_str()?);
    let value = unknown["value"].as_u64()?;
    let change = match (call, result) {
        ("bpf_jiffies64", _) => {
            *jiffies = jiffies.wrapping_add(value);
            Change::Result(*jiffies)
        }
        ("bpf_fib_lookup", "return value, if it is an error") => Change::Result(negative(value)),
        ("bpf_fib_lookup", "return value, if it is no error") => Change::Code(value),
        ("bpf_fib_lookup", "params->ifindex") => Change::Device(u32::try_from(value).ok()?),
        ("bpf_ringbuf_reserve", _) if unknown["meaning"] == "no" => Change::Result(0),
        ("bpf_ringbuf_output", _) if unknown["meaning"] == "no" => Change::Result(negative(EAGAIN)),
        ("bpf_map_update_elem", _) => Change::Result(failed(unknown["meaning"].as_str()?)?),
        (call, "return value") if NUMBERS.contains(&call) => Change::Result(value),
        _ => return None,
    };
    Some((instruction, change))
}

/// Parses the error in a text such as `no: -ENAME`. Returns the return value of a helper that fails
/// with this error.
fn failed(meaning: &str) -> Option<u64> {
    let error = meaning.strip_prefix("no: -")?;
    (1..=MAX_ERRNO).find(|&number| errno_name(number) == Some(error)).map(negative)
}

/// Returns the return value of a helper that fails with this error number; 0 stays 0.
fn negative(error: u64) -> u64 {
    error.wrapping_neg()
}

/// Returns the value that the witness requires at the start of the program under this name.
fn initial(witness: &Value, name: &str) -> Option<u64> {
    let mut environment = witness["environment"].as_array().into_iter().flatten();
    environment.find(|item| item["name"] == *name)?["value"].as_u64()
}

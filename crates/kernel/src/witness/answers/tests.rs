//! Tests that the required results of helper calls are read correctly from witnesses.

use serde_json::{Value, json};
use slowpath_bpf::insn::{Call, Insn, helper};

use super::answers;
use crate::Answer;

fn unknown(instruction: u64, call: &str, result: &str, value: u64, meaning: &str) -> Value {
    json!({
        "instruction": instruction,
        "call": call,
        "result": result,
        "value": value,
        "meaning": meaning,
    })
}

/// Fields of an [`Answer`]: instruction, return value, and writes through an argument.
type Fields = (usize, i64, Vec<(u8, i16, u32)>);

fn extracted(unknowns: &[Value], environment: &Value) -> Vec<Fields> {
    extracted_for(&[], unknowns, environment)
}

/// Like [`extracted`], for a program of these instructions.
fn extracted_for(insns: &[Insn], unknowns: &[Value], environment: &Value) -> Vec<Fields> {
    let program = crate::tests::program(insns.to_vec(), &[0]);
    let witness = json!({ "unknowns": unknowns, "environment": environment });
    let fields = |answer: Answer| (answer.instruction, answer.result as i64, answer.writes);
    answers(&program, &witness).into_iter().map(fields).collect()
}

#[test]
fn a_route_is_an_error_or_a_code_and_a_device() {
    let fib = |result, value| unknown(7, "bpf_fib_lookup", result, value, "");
    let (error, code) = ("return value, if it is an error", "return value, if it is no error");
    let none = json!([]);
    let found = [fib(error, 0), fib(code, 4), fib("params->ifindex", 9)];
    assert_eq!(extracted(&found, &none), [(7, 4, vec![(2, 8, 9)])]);
    assert_eq!(extracted(&[fib(error, 19), fib(code, 4)], &none), [(7, -19, vec![])]);
}

#[test]
fn jiffies_add_up_and_clocks_do_not() {
    let jiffies = |at, value| unknown(at, "bpf_jiffies64", "jiffies since", value, "");
    let start = json!([{ "name": "bpf_jiffies64 at the start", "value": 100 }]);
    let found = extracted(&[jiffies(1, 0), jiffies(2, 5), jiffies(3, 5)], &start);
    assert_eq!(found, [(1, 100, vec![]), (2, 105, vec![]), (3, 110, vec![])]);
    let time = |at, value| unknown(at, "bpf_ktime_get_ns", "return value", value, "");
    assert_eq!(
        extracted(&[time(1, 10), time(2, 30)], &json!([])),
        [(1, 10, vec![]), (2, 30, vec![])]
    );
}

#[test]
fn calls_that_answer_differently_each_time_are_left_to_the_kernel() {
    let random = |value| unknown(4, "bpf_get_prandom_u32", "return value", value, "");
    assert_eq!(extracted(&[random(1), random(2)], &json!([])), []);
    assert_eq!(extracted(&[random(1), random(1)], &json!([])), [(4, 1, vec![])]);
}

#[test]
fn only_calls_that_fail_for_lack_of_room_are_answered() {
    let update = |meaning| unknown(3, "bpf_map_update_elem", "room in m", 1, meaning);
    let none = json!([]);
    assert_eq!(extracted(&[update("no: -ENOMEM")], &none), [(3, -12, vec![])]);
    assert_eq!(extracted(&[update("yes")], &none), []);
    let reserve = unknown(3, "bpf_ringbuf_reserve", "room in rb", 1, "no");
    assert_eq!(extracted(&[reserve], &none), [(3, 0, vec![])]);
    let other = unknown(3, "bpf_tail_call", "program in the slot of p", 1, "yes: the path ends");
    assert_eq!(extracted(&[other], &none), []);
}

#[test]
fn each_call_for_the_numa_node_has_the_same_answer() {
    let node = Insn::Call(Call::Helper(helper::number("bpf_get_numa_node_id")));
    let time = Insn::Call(Call::Helper(helper::KTIME_GET_NS));
    let insns = [node, time, node, Insn::Exit];
    let start = json!([{ "name": "bpf_get_numa_node_id", "value": 5 }]);
    assert_eq!(extracted_for(&insns, &[], &start), [(0, 5, vec![]), (2, 5, vec![])]);
    assert_eq!(extracted_for(&insns, &[], &json!([])), []);
}

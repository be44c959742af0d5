use proptest::prelude::*;
use slowpath_bpf::insn::{AluOp, Width};

use super::*;

fn reg(number: u8) -> Register {
    Register::new(number).expect("a register")
}

fn pointer(offset: u16, range: u16) -> Kind {
    Kind::Packet(Pointer { id: 0, offset, range })
}

#[test]
fn joins_keep_knowledge_of_both_paths() {
    let mut one = VerifierState::new(64);
    let mut two = one.clone();
    one.set(reg(1), Kind::Scalar(Range { min: 3, max: 7 }));
    two.set(reg(1), Kind::Scalar(Range { min: 5, max: 9 }));
    one.set(reg(2), pointer(14, 20));
    two.set(reg(2), pointer(14, 34));
    one.set(reg(3), pointer(14, 20));
    two.set(reg(3), pointer(0, 20));
    one.set(reg(4), Kind::Value);
    one.write(8, 8);
    two.write(8, 4);
    let joined = one.join(&two);
    assert_eq!(joined.get(reg(1)), Kind::Scalar(Range { min: 3, max: 9 }));
    assert_eq!(joined.get(reg(2)), pointer(14, 20));
    assert_eq!(joined.get(reg(3)), Kind::Nothing);
    assert_eq!(joined.get(reg(4)), Kind::Nothing);
    assert!(joined.readable(8, 4) && !joined.readable(8, 8));
    assert_eq!(joined.paths, 2);
}

#[test]
fn ended_paths_do_not_count() {
    let mut one = VerifierState::new(64);
    one.set(reg(1), Kind::Value);
    let mut ended = VerifierState::new(64);
    ended.paths = 0;
    assert_eq!(one.join(&ended), one);
    assert_eq!(ended.join(&one), one);
}

#[test]
fn checks_apply_to_pointers_with_the_same_base() {
    let mut state = VerifierState::new(64);
    state.set(reg(1), pointer(0, 0));
    state.set(reg(2), Kind::Packet(Pointer { id: 1, offset: 0, range: 0 }));
    state.spill(16, pointer(4, 0));
    state.checked(0, 20);
    assert_eq!(state.get(reg(1)), pointer(0, 20));
    assert_eq!(state.get(reg(2)), Kind::Packet(Pointer { id: 1, offset: 0, range: 0 }));
    assert_eq!(state.spilled(), [(16, pointer(4, 20))]);
    state.packet_moved();
    assert_eq!(state.get(reg(1)), Kind::Nothing);
    assert!(state.spilled().is_empty());
}

#[test]
fn numbers_and_pointers_on_the_stack_exclude_each_other() {
    let mut state = VerifierState::new(64);
    state.write(16, 8);
    state.spill(16, pointer(0, 0));
    assert!(!state.readable(16, 8) && !state.readable(12, 1));
    state.write(12, 2);
    assert!(state.spilled().is_empty());
    assert!(state.readable(12, 2) && !state.readable(16, 8));
    assert!(!state.readable(72, 8) && !state.readable(4, 8));
}

fn concrete(op: AluOp, width: Width, a: u64, b: u64) -> Option<u64> {
    let bits = u64::from(width.bits());
    let low = |value: u64| if bits == 32 { u64::from(value as u32) } else { value };
    let (a, b) = (low(a), low(b));
    let by = (b % bits) as u32;
    Some(low(match op {
        AluOp::Mov => b,
        AluOp::Add => a.wrapping_add(b),
        AluOp::Sub => a.wrapping_sub(b),
        AluOp::Mul => a.wrapping_mul(b),
        AluOp::Div => a.checked_div(b)?,
        AluOp::Or => a | b,
        AluOp::And => a & b,
        AluOp::Xor => a ^ b,
        AluOp::Lsh => a << by,
        AluOp::Rsh => a >> by,
        AluOp::Arsh if bits == 32 => u64::from((a as i32 >> by) as u32),
        AluOp::Arsh => (a as i64 >> by) as u64,
        _ => return None,
    }))
}

fn number() -> impl Strategy<Value = u64> {
    (any::<u64>(), 0..64u32).prop_map(|(value, by)| value >> by)
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(4000))]

    #[test]
    fn ranges_of_results_hold(
        (a, more_a, b, more_b) in (number(), number(), number(), number()),
        exact in any::<bool>(),
        wide in any::<bool>(),
        which in 0..11usize,
    ) {
        let op = [AluOp::Mov, AluOp::Add, AluOp::Sub, AluOp::Mul, AluOp::Div, AluOp::Or,
            AluOp::And, AluOp::Xor, AluOp::Lsh, AluOp::Rsh, AluOp::Arsh][which];
        let width = if wide { Width::W64 } else { Width::W32 };
        let around = |value: u64, more: u64| Range {
            min: value.saturating_sub(more),
            max: value.saturating_add(more),
        };
        let of_b = if exact { Range::exactly(b) } else { around(b, more_b) };
        let range = result(op, width, around(a, more_a), of_b);
        if let Some(value) = concrete(op, width, a, b) {
            prop_assert!(range.min <= value && value <= range.max, "{range:?} without {value}");
        }
    }
}

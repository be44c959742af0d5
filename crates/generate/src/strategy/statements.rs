//! Provides proptest strategies for all kinds of statements of random programs.

use proptest::option;
use proptest::prelude::{BoxedStrategy, Strategy, any};
use proptest::sample::select;
use proptest::strategy::Union;
use slowpath_bpf::insn::{AluOp, Condition, Size, SwapKind, Width};

use super::values::{code, immediate, one_of, operand, wide_immediate};
use crate::Features;
use crate::statement::{
    Addend, Amount, Comparison, Delta, Divisor, Element, Follow, Pick, Stmt, Straddle, Test,
    Variable,
};

/// The position of a statement in the program, with the strategy for the statements nested in it.
pub(super) enum Statements {
    /// A position on the outermost level of the program.
    Outside(BoxedStrategy<Vec<Stmt>>),
    /// A position in a branch or loop.
    Inside(BoxedStrategy<Vec<Stmt>>),
    /// A position in a called function.
    Function(BoxedStrategy<Vec<Stmt>>),
}

type List = Vec<(bool, u32, BoxedStrategy<Stmt>)>;

/// Returns a strategy for a statement at this position in the program.
pub(super) fn statement(features: &Features, place: &Statements) -> BoxedStrategy<Stmt> {
    let mut list = arithmetic(features);
    list.extend(stack(features));
    let nested = match place {
        Statements::Function(nested) => {
            list.push((true, 3, branch(nested)));
            return one_of(list);
        }
        Statements::Outside(nested) => nested,
        Statements::Inside(nested) => {
            list.push((true, 1, code().prop_map(Stmt::Exit).boxed()));
            list.push((features.loops, 1, test().prop_map(Stmt::Break).boxed()));
            nested
        }
    };
    list.extend(packet(features, nested));
    list.extend(calls(features, nested));
    list.push((true, 8, branch(nested)));
    let body = (nested.clone(), option::of((test(), nested.clone())));
    let body = body.prop_map(|(mut body, leave)| {
        if let Some((test, rest)) = leave {
            body.push(Stmt::Break(test));
            body.extend(rest);
        }
        body
    });
    let rounds = (1..=6u8, any::<bool>(), body);
    let rounds = rounds.prop_map(|(rounds, up, body)| Stmt::Loop { rounds, up, body });
    list.push((features.loops, 2, rounds.boxed()));
    one_of(list)
}

fn width() -> impl Strategy<Value = Width> + Clone {
    select(vec![Width::W64, Width::W32])
}

fn size() -> impl Strategy<Value = Size> + Clone {
    select(vec![Size::B, Size::H, Size::W, Size::DW])
}

fn pick() -> proptest::num::u16::Any {
    any::<Pick>()
}

fn arithmetic(features: &Features) -> List {
    use AluOp::{Add, And, Arsh, Lsh, Mov, Or, Rsh, Sub, Xor};
    let simple = select(vec![Mov, Add, Sub, And, Or, Xor]);
    let simple = (simple, width(), pick(), operand());
    let amount = Union::new_weighted(vec![
        (4, (0..64u8).prop_map(Amount::Constant).boxed()),
        (2, select(vec![0u8, 1, 31, 32, 33, 63]).prop_map(Amount::Constant).boxed()),
        (2, pick().prop_map(Amount::Any).boxed()),
        (2, pick().prop_map(Amount::Low).boxed()),
        (2, pick().prop_map(Amount::High).boxed()),
        (1, (0..64u8).prop_map(Amount::Known).boxed()),
    ]);
    let shift = (select(vec![Lsh, Rsh, Arsh]), width(), pick(), amount);
    let divisor = Union::new_weighted(vec![
        (3, immediate().prop_map(Divisor::Immediate).boxed()),
        (1, (1..200i32).prop_map(Divisor::Immediate).boxed()),
        (2, immediate().prop_map(|value| Divisor::Known(value as u32)).boxed()),
    ]);
    let kind = if features.little_endian && features.swaps {
        vec![SwapKind::Be, SwapKind::Le]
    } else if features.little_endian {
        vec![SwapKind::Le]
    } else {
        vec![SwapKind::Be]
    };
    let swap = (select(kind), select(vec![Size::H, Size::W, Size::DW]), pick());
    vec![
        (true, 18, simple.prop_map(|(o, w, d, s)| Stmt::Alu(o, w, d, s)).boxed()),
        (true, 1, (width(), pick()).prop_map(|(w, d)| Stmt::Neg(w, d)).boxed()),
        (
            features.swaps || features.little_endian,
            2,
            swap.prop_map(|(k, s, d)| Stmt::Swap(k, s, d)).boxed(),
        ),
        (true, 1, (pick(), wide_immediate()).prop_map(|(d, v)| Stmt::Constant(d, v)).boxed()),
        (features.wide, 1, pick().prop_map(Stmt::Truncate).boxed()),
        (true, 7, shift.prop_map(|(o, w, d, a)| Stmt::Shift(o, w, d, a)).boxed()),
        (
            features.multiply,
            3,
            (width(), pick(), operand()).prop_map(|(w, d, s)| Stmt::Multiply(w, d, s)).boxed(),
        ),
        (
            features.divide,
            2,
            (width(), pick(), divisor).prop_map(|(w, d, b)| Stmt::Divide(w, d, b)).boxed(),
        ),
    ]
}

/// Returns a strategy for a load from the packet, followed by a typical use of the loaded value.
pub(super) fn load() -> BoxedStrategy<Stmt> {
    let follow = Union::new_weighted(vec![
        (12, proptest::strategy::Just(Follow::Nothing).boxed()),
        (2, select(vec![Size::B, Size::H, Size::W]).prop_map(Follow::Mask).boxed()),
        (1, proptest::strategy::Just(Follow::Truncate).boxed()),
        (2, proptest::strategy::Just(Follow::Swap).boxed()),
    ]);
    (size(), pick(), pick(), pick(), follow)
        .prop_map(|(size, to, from, at, follow)| Stmt::Load { size, to, from, at, follow })
        .boxed()
}

fn comparison() -> impl Strategy<Value = Comparison> {
    use Comparison::{EndGreaterEqual, EndLess, Greater, LessEqual};
    select(vec![Greater, EndLess, LessEqual, EndGreaterEqual])
}

fn packet(features: &Features, nested: &BoxedStrategy<Vec<Stmt>>) -> List {
    let check = (1..=features.packet_reach.max(1), comparison(), code(), any::<bool>());
    let check =
        check.prop_map(|(bytes, by, fail, keep)| Stmt::Check { bytes, by, fail, keep }).boxed();
    let point = (pick(), pick(), -16..=40i16);
    let point = point.prop_map(|(from, to, by)| Stmt::Point { from, to, by }).boxed();
    let store = (size(), pick(), pick(), operand());
    let store = store.prop_map(|(size, to, at, value)| Stmt::Store { size, to, at, value });
    let copy = (size(), 2..=10u8, (pick(), pick()), (pick(), pick()), any::<bool>(), pick());
    let copy = copy.prop_map(|(size, count, from, to, down, via)| Stmt::Copy {
        size,
        count,
        from,
        to,
        down,
        via,
    });
    let mask = select(vec![0x7u16, 0xf, 0x1f, 0x3c, 0x3f, 0x7f, 0xff, 0x3ff]);
    let access = (pick(), mask, pick(), any::<bool>(), 1..=24u8, comparison());
    let access = access.prop_map(|(index, mask, from, reverse, bytes, by)| Variable {
        index,
        mask,
        from,
        reverse,
        bytes,
        by,
    });
    // Always use the checked pointer.
    let use_it = (load(), nested.clone()).prop_map(|(load, mut rest)| {
        rest.insert(0, load);
        rest
    });
    let variable = (access, use_it, nested.clone());
    let variable =
        variable.prop_map(|(access, inside, outside)| Stmt::Variable { access, inside, outside });
    let straddle = (size(), pick(), (pick(), pick()), option::of((pick(), pick())), 1..=4u8);
    let straddle =
        straddle.prop_map(|(size, via, from, to, count)| Straddle { size, via, from, to, count });
    let straddle = (test(), straddle).prop_map(|(test, of)| Stmt::Straddle(test, of)).boxed();
    vec![
        (true, 1, straddle),
        (true, 4, check),
        (true, 2, point),
        (true, 12, load()),
        (features.packet_writes, 8, store.boxed()),
        (features.copies && features.packet_writes, 3, copy.boxed()),
        (features.variable_offsets, 3, variable.boxed()),
    ]
}

fn stack(features: &Features) -> List {
    // Slots near the frame pointer are more likely, so that loads and stores use the slots of
    // earlier stores.
    let slot = || Union::new_weighted(vec![(3, (0..6u16).boxed()), (2, pick().boxed())]);
    let push = (size(), slot(), operand());
    let push = push.prop_map(|(size, slot, value)| Stmt::Push { size, slot, value }).boxed();
    let pop = (size(), pick(), pick());
    let pop = pop.prop_map(|(size, slot, to)| Stmt::Pop { size, slot, to }).boxed();
    let spill = (slot(), pick()).prop_map(|(slot, pointer)| Stmt::Spill { slot, pointer });
    let fill = (pick(), pick()).prop_map(|(slot, to)| Stmt::Fill { slot, to });
    let on = features.stack;
    vec![(on, 6, push), (on, 6, pop), (on, 2, spill.boxed()), (on, 2, fill.boxed())]
}

fn test() -> impl Strategy<Value = Test> {
    use Condition::{Eq, Ge, Gt, Le, Lt, Ne, Set, Sge, Sgt, Sle, Slt};
    let condition = select(vec![Eq, Ne, Set, Gt, Ge, Lt, Le, Sgt, Sge, Slt, Sle]);
    (condition, width(), pick(), operand()).prop_map(|(condition, width, left, right)| Test {
        condition,
        width,
        left,
        right,
    })
}

fn branch(nested: &BoxedStrategy<Vec<Stmt>>) -> BoxedStrategy<Stmt> {
    (test(), nested.clone(), nested.clone())
        .prop_map(|(test, taken, other)| Stmt::If { test, taken, other })
        .boxed()
}

fn calls(features: &Features, nested: &BoxedStrategy<Vec<Stmt>>) -> List {
    let element = (operand(), proptest::bool::weighted(0.8), 0..8u16);
    let element = (element, option::of(pick()), any::<bool>());
    let element = element.prop_map(|((key, mask, slot), keep, jump_if_missing)| Element {
        key,
        mask,
        slot,
        copy_to: keep,
        jump_if_missing,
    });
    let read = (size(), pick(), pick(), pick());
    let read = read.prop_map(|(size, to, from, at)| Stmt::Read { size, to, from, at }).boxed();
    let addend = Union::new_weighted(vec![
        (2, pick().prop_map(Addend::Any).boxed()),
        (2, pick().prop_map(Addend::Short).boxed()),
        (1, pick().prop_map(Addend::Long).boxed()),
        (2, immediate().prop_map(Addend::Known).boxed()),
    ]);
    let add = (width(), pick(), pick(), addend);
    let add = add.prop_map(|(width, to, at, value)| Stmt::Add { width, to, at, value }).boxed();
    let first = if features.atomics {
        Union::new(vec![read.clone(), add.clone()]).boxed()
    } else {
        read.clone()
    };
    // Always use the element.
    let use_it = (proptest::collection::vec(first, 1..=3), nested.clone());
    let use_it = use_it.prop_map(|(mut first, rest)| {
        first.extend(rest);
        first
    });
    let lookup = (element, use_it, nested.clone())
        .prop_map(|(element, found, missing)| Stmt::Lookup { element, found, missing });
    let delta = |constants: Vec<i32>, negative: bool| {
        let variable = (pick(), select(vec![0x3u8, 0x7, 0xf, 0x1f, 0x3f]), any::<bool>());
        Union::new_weighted(vec![
            (2, select(constants).prop_map(Delta::Constant).boxed()),
            (
                1,
                variable
                    .prop_map(move |(of, mask, sign)| Delta::Variable(of, mask, sign || negative))
                    .boxed(),
            ),
        ])
    };
    let head =
        (delta(vec![-64, -32, -20, -14, -8, -4, -1, 0, 1, 4, 14, 20, 40], false), any::<bool>());
    let head = head.prop_map(|(delta, check)| Stmt::AdjustHead { delta, check }).boxed();
    let tail = (delta(vec![-1, -4, -8, -14, -20, -40], true), any::<bool>());
    let tail = tail.prop_map(|(delta, check)| Stmt::AdjustTail { delta, check }).boxed();
    let call = (pick(), [operand(), operand(), operand()]);
    let call = call.prop_map(|(function, arguments)| Stmt::Call { function, arguments }).boxed();
    let random = proptest::strategy::Just(Stmt::Random).boxed();
    vec![
        (features.maps, 3, lookup.boxed()),
        (features.maps, 1, read),
        (features.maps && features.atomics, 1, add),
        (features.helpers, 1, head),
        (features.helpers, 1, tail),
        (features.random, 1, random),
        (features.calls, 2, call),
    ]
}

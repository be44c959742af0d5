//! Tests that symbolic execution yields the same values as a concrete run with the same inputs. The
//! random programs look up keys in a hash map and use the results.

use crate::straight;

use proptest::prelude::*;
use slowpath_exec::Executor;
use slowpath_exec::concrete::{self, Environment};
use slowpath_ir::{BinaryOp, BlockBuilder, DrawId, Emit, Operand, Program, Reg};
use slowpath_smt::{Model, Node};
use straight::{
    COND, HASH, PACKET_REGION, POINT, TABLE, VALUES, element, execute, k, look_up, packet, program,
};

/// Number of packet bytes that programs read.
const BYTES: u64 = 8;

/// A statement of a random program. Registers are indices into [`VALUES`].
#[derive(Clone, Debug)]
enum Stmt {
    Read { dst: usize, offset: u64, bytes: u8 },
    Draw { dst: usize, most: u64 },
    Table { dst: usize, a: usize },
    Intern { dst: usize, a: usize, b: usize },
    Mark { a: usize, b: usize, place: u64 },
    Found { access: Access, key: usize, place: u64, bytes: u8 },
    Either { access: Access, a: usize, b: usize, place: u64, bytes: u8 },
    Clear { key: usize, place: u64, count: usize },
    Add { dst: usize, a: usize, b: usize },
}

#[derive(Clone, Copy, Debug)]
enum Access {
    Load(usize),
    Store(usize),
}

fn statement() -> impl Strategy<Value = Stmt> {
    let v = || 0..VALUES.len();
    let access = || prop_oneof![v().prop_map(Access::Load), v().prop_map(Access::Store)];
    let bytes = || prop::sample::select(vec![1u8, 2, 4, 8]);
    prop_oneof![
        4 => (v(), 0..BYTES, 1u8..3).prop_map(|(dst, offset, bytes)| Stmt::Read {
            dst,
            offset: offset.min(BYTES - u64::from(bytes)),
            bytes
        }),
        1 => (v(), 0u64..4).prop_map(|(dst, most)| Stmt::Draw { dst, most }),
        1 => (v(), v()).prop_map(|(dst, a)| Stmt::Table { dst, a }),
        1 => (v(), v(), v()).prop_map(|(dst, a, b)| Stmt::Intern { dst, a, b }),
        1 => (v(), v(), 8u64..16).prop_map(|(a, b, place)| Stmt::Mark { a, b, place }),
        6 => (access(), v(), 0u64..8, bytes())
            .prop_map(|(access, key, place, bytes)| Stmt::Found { access, key, place, bytes }),
        2 => (access(), v(), v(), 0u64..8, bytes())
            .prop_map(|(access, a, b, place, bytes)| Stmt::Either { access, a, b, place, bytes }),
        2 => (v(), 0u64..6, v())
            .prop_map(|(key, place, count)| Stmt::Clear { key, place, count }),
        1 => (v(), v(), v()).prop_map(|(dst, a, b)| Stmt::Add { dst, a, b }),
    ]
}

fn emit(b: &mut BlockBuilder<'_>, statement: &Stmt) {
    let reg = |index: usize| VALUES[index];
    let accessed =
        |b: &mut BlockBuilder<'_>, access: Access, place: Operand, bytes: u8| match access {
            Access::Load(dst) => {
                let read = b.load(place, bytes);
                let read = b.zero_extend(read, 64);
                b.copy(reg(dst), read);
            }
            Access::Store(src) => {
                let low = b.extract(reg(src), 0, 8 * bytes);
                b.store(place, low);
            }
        };
    // The value of an element has 8 bytes.
    let inside = |place: u64, bytes: u8| k(place.min(8 - u64::from(bytes)));
    match *statement {
        Stmt::Read { dst, offset, bytes } => {
            let read = packet(b, offset, bytes);
            b.copy(reg(dst), read);
        }
        Stmt::Draw { dst, most } => {
            let drawn = b.unknown(DrawId(0), 64, 0, most);
            b.copy(reg(dst), drawn);
        }
        Stmt::Table { dst, a } => {
            let low = b.extract(reg(a), 0, 3);
            let offset = b.zero_extend(low, 64);
            let place = b.binary(BinaryOp::Add, TABLE, offset);
            accessed(b, Access::Load(dst), place, 1);
        }
        Stmt::Intern { dst, a, b: second } => {
            let number = b.binary(BinaryOp::Intern, reg(a), reg(second));
            let number = b.zero_extend(number, 64);
            b.copy(reg(dst), number);
        }
        Stmt::Mark { a, b: second, place } => {
            let at = element(b, reg(a), reg(second), place);
            b.store(at, Operand::constant(8, 1));
        }
        Stmt::Found { access, key, place, bytes } => {
            let found = look_up(b, reg(key));
            let place = b.binary(BinaryOp::Add, found, inside(place, bytes));
            accessed(b, access, place, bytes);
        }
        Stmt::Either { access, a, b: other, place, bytes } => {
            let (first, second) = (element(b, reg(a), k(0), 8), element(b, reg(other), k(0), 8));
            let less = b.binary(BinaryOp::Ult, reg(a), reg(other));
            let either = b.select(less, first, second);
            let place = b.binary(BinaryOp::Add, either, inside(place, bytes));
            accessed(b, access, place, bytes);
        }
        Stmt::Clear { key, place, count } => {
            let found = look_up(b, reg(key));
            let place = b.binary(BinaryOp::Add, found, k(place));
            let count = b.extract(reg(count), 0, 2);
            let count = b.zero_extend(count, 64);
            b.clear(place, count);
        }
        Stmt::Add { dst, a, b: second } => {
            let sum = b.binary(BinaryOp::Add, reg(a), reg(second));
            b.copy(reg(dst), sum);
        }
    }
}

fn compile(statements: &[Stmt], wanted: Option<[u64; VALUES.len()]>) -> Program {
    program(|b| {
        for statement in statements {
            emit(b, statement);
        }
        let mut all = Operand::constant(1, 1);
        for (reg, wanted) in VALUES.into_iter().zip(wanted.into_iter().flatten()) {
            let same = b.binary(BinaryOp::Eq, reg, k(wanted));
            all = b.binary(BinaryOp::And, all, same);
        }
        b.copy(COND, all);
    })
}

/// Returns an assignment of values to the executor's inputs: the values that they had in a concrete
/// run.
fn model(executor: &Executor, environment: &Environment, run: &concrete::Run) -> Model {
    let mut model = Model::new();
    let pool = &executor.pool;
    let mut assign = |term, value| {
        if let Node::Var(var) = *pool.node(term) {
            model.set_var(var, value);
        }
    };
    for (&input, &value) in &environment.inputs {
        assign(executor.inputs()[input.index()], value);
    }
    for (&term, &value) in executor.unknowns(POINT).iter().zip(&environment.unknowns) {
        assign(term, value);
    }
    for (&(region, offset), &byte) in &environment.memory {
        model.set_byte(executor.array(region), offset, byte);
    }
    for (&pair, &number) in &run.interned {
        model.set_interned(pair, number);
    }
    model
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::with_cases(600) })]

    #[test]
    fn the_model_of_a_run_says_what_the_run_does(
        statements in prop::collection::vec(statement(), 1..14),
        bytes in prop::collection::vec(prop_oneof![Just(0u8), 0u8..3], BYTES as usize),
        unknowns in prop::collection::vec(0u64..4, 14),
    ) {
        let first = compile(&statements, None);
        let mut environment = Environment::with_fill(&first, 0);
        // Drawn values must stay within the range of their operation.
        let draws = statements.iter().filter_map(|statement| match statement {
            Stmt::Draw { most, .. } => Some(*most),
            _ => None,
        });
        environment.unknowns = draws.zip(unknowns).map(|(most, drawn)| drawn.min(most)).collect();
        for (offset, byte) in (0u64..).zip(bytes) {
            environment.memory.insert((PACKET_REGION, offset), byte);
        }
        let run = concrete::run(&first, &environment, 10).expect("runs");
        let values = VALUES.map(|Reg(index)| run.regs[index as usize]);
        let program = compile(&statements, Some(values));
        let again = concrete::run(&program, &environment, 10).expect("runs");
        prop_assert_eq!(again.path[0].edge, 0);
        let (executor, condition) = execute(&program);
        let model = model(&executor, &environment, &run);
        let holds = executor.pool.eval(condition, &model);
        prop_assert_eq!(holds, 1, "{}", executor.pool.display(condition));
        prop_assert_eq!(run.unknowns, executor.unknowns(POINT).len());
        prop_assert!(run.regs[HASH.index()] == environment.inputs[&slowpath_ir::InputId(1)]);
    }
}

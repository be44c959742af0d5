//! Tests the conclusions that `Facts` draws from path conditions: each contradiction follows from
//! the conditions given as its reasons, and each bound holds. The tests try all assignments of two
//! small variables.

use proptest::prelude::*;
use slowpath_exec::Facts;
use slowpath_smt::{Domain, Model, Node, TermId, TermPool};

const WIDTH: u8 = 4;

#[derive(Clone, Debug)]
enum Value {
    X,
    Y,
    Constant(u64),
    Low(Box<Value>),
    Plus(Box<Value>, u64),
    Xor(Box<Value>, u64),
    Not(Box<Value>),
}

#[derive(Clone, Debug)]
enum Condition {
    Eq(Value, Value),
    Less(Value, Value),
    SignedLess(Value, Value),
    Both(Box<Condition>, Box<Condition>),
}

fn value() -> impl Strategy<Value = Value> {
    let leaf = prop_oneof![Just(Value::X), Just(Value::Y), (0u64..16).prop_map(Value::Constant)];
    leaf.prop_recursive(2, 4, 1, |inner| {
        prop_oneof![
            inner.clone().prop_map(|v| Value::Low(v.into())),
            (inner.clone(), 0u64..16).prop_map(|(v, c)| Value::Plus(v.into(), c)),
            (inner.clone(), 0u64..16).prop_map(|(v, c)| Value::Xor(v.into(), c)),
            inner.prop_map(|v| Value::Not(v.into())),
        ]
    })
}

fn condition() -> impl Strategy<Value = Condition> {
    let leaf = prop_oneof![
        (value(), value()).prop_map(|(a, b)| Condition::Eq(a, b)),
        (value(), value()).prop_map(|(a, b)| Condition::Less(a, b)),
        (value(), value()).prop_map(|(a, b)| Condition::SignedLess(a, b)),
    ];
    leaf.prop_recursive(1, 2, 2, |inner| {
        (inner.clone(), inner).prop_map(|(a, b)| Condition::Both(a.into(), b.into()))
    })
}

struct Scene {
    pool: TermPool,
    x: TermId,
    y: TermId,
}

impl Scene {
    fn new() -> Self {
        let mut pool = TermPool::new();
        let x = pool.var("x", Domain::full(WIDTH));
        let y = pool.var("y", Domain::range(WIDTH, 2, 13));
        Scene { pool, x, y }
    }

    fn value(&mut self, value: &Value) -> TermId {
        match value {
            Value::X => self.x,
            Value::Y => self.y,
            Value::Constant(c) => self.pool.constant(WIDTH, *c),
            Value::Low(v) => {
                let v = self.value(v);
                let low = self.pool.extract(v, 0, 2);
                self.pool.zext(low, WIDTH)
            }
            Value::Plus(v, c) => {
                let (v, c) = (self.value(v), self.pool.constant(WIDTH, *c));
                self.pool.add(v, c)
            }
            Value::Xor(v, c) => {
                let (v, c) = (self.value(v), self.pool.constant(WIDTH, *c));
                self.pool.xor(v, c)
            }
            Value::Not(v) => {
                let v = self.value(v);
                self.pool.not(v)
            }
        }
    }

    fn condition(&mut self, condition: &Condition) -> TermId {
        match condition {
            Condition::Eq(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.pool.eq(a, b)
            }
            Condition::Less(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.pool.ult(a, b)
            }
            Condition::SignedLess(a, b) => {
                let (a, b) = (self.value(a), self.value(b));
                self.pool.slt(a, b)
            }
            Condition::Both(a, b) => {
                let (a, b) = (self.condition(a), self.condition(b));
                self.pool.and(a, b)
            }
        }
    }

    /// Returns all models in which the variables have values within their domains.
    fn models(&self) -> Vec<Model> {
        let var = |t| match *self.pool.node(t) {
            Node::Var(var) => var,
            _ => unreachable!("x and y are variables"),
        };
        let all = (0..16).flat_map(|x| (2..=13).map(move |y| (x, y)));
        all.map(|(x, y)| {
            let mut model = Model::new();
            model.set_var(var(self.x), x);
            model.set_var(var(self.y), y);
            model
        })
        .collect()
    }
}

proptest! {
    #![proptest_config(ProptestConfig {
        cases: 1000, failure_persistence: None, ..ProptestConfig::default()
    })]

    #[test]
    fn contradictions_and_bounds_hold(
        conditions in prop::collection::vec((condition(), any::<bool>()), 1..6),
    ) {
        let mut scene = Scene::new();
        let terms: Vec<(TermId, bool)> =
            conditions.iter().map(|(c, value)| (scene.condition(c), *value)).collect();
        let models = scene.models();
        let holds = |index: usize, model: &Model| {
            let (term, value) = terms[index];
            (scene.pool.eval(term, model) == 1) == value
        };
        let mut facts = Facts::new();
        for (index, &(term, value)) in terms.iter().enumerate() {
            let before: Vec<&Model> =
                models.iter().filter(|m| (0..index).all(|i| holds(i, m))).collect();
            if let Some(decided) = facts.decide(&scene.pool, term) {
                let agrees = |m: &&&Model| (scene.pool.eval(term, m) == 1) == decided;
                prop_assert_eq!(before.iter().filter(agrees).count(), before.len());
            }
            match facts.assume(&scene.pool, term, value, Some(index as u32)) {
                Ok(()) => {
                    let (least, reasons) = facts.at_least(&scene.pool, scene.x);
                    let because = |m: &&Model| reasons.iter().all(|&i| holds(i as usize, m));
                    for model in models.iter().filter(because) {
                        prop_assert!(scene.pool.eval(scene.x, model) >= least);
                    }
                }
                Err(conflict) => {
                    prop_assert!(conflict.reasons.iter().all(|&i| i as usize <= index));
                    let possible = |m: &&Model| {
                        conflict.reasons.iter().all(|&i| holds(i as usize, m))
                    };
                    prop_assert_eq!(models.iter().filter(possible).count(), 0);
                    return Ok(());
                }
            }
        }
    }
}

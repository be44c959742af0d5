use super::descent::quotient;
use super::*;
use crate::term::VarId;

fn found(pool: &TermPool, conditions: &[TermId]) -> Model {
    let anything = |term: TermId| pool.domain(term);
    let model = nearby_model(pool, &Model::new(), conditions, &anything).expect("found");
    for &condition in conditions {
        assert_eq!(pool.eval(condition, &model), 1, "{}", pool.display(condition));
    }
    model
}

#[test]
fn a_field_of_several_bytes_is_set() {
    let mut pool = TermPool::new();
    let packet = pool.array("packet", 32);
    let bytes: Vec<TermId> = (0..2)
        .map(|at| {
            let index = pool.constant(32, at);
            pool.select(packet, index)
        })
        .collect();
    let field = pool.concat(bytes[0], bytes[1]);
    let wanted = pool.constant(16, 0x0800);
    let condition = pool.eq(field, wanted);
    let model = found(&pool, &[condition]);
    assert_eq!((model.byte(packet, 0), model.byte(packet, 1)), (Some(8), Some(0)));
}

#[test]
fn a_byte_at_the_place_that_a_hash_names_is_set() {
    let mut pool = TermPool::new();
    let (packet, table) = (pool.array("packet", 32), pool.array("table", 32));
    let zero = pool.constant(32, 0);
    let key = pool.select(packet, zero);
    let wide = pool.zext(key, 32);
    let odd = pool.constant(32, 0x9e37_79b1);
    let hash = pool.mul(wide, odd);
    let entry = pool.select(table, hash);
    let seven = pool.constant(8, 7);
    let (same, known) = (pool.eq(entry, key), pool.eq(key, seven));
    let model = found(&pool, &[known, same]);
    let index = (7u64 * 0x9e37_79b1) & 0xffff_ffff;
    assert_eq!(model.byte(table, index), Some(7));
}

#[test]
fn sums_products_and_orders_are_undone() {
    let mut pool = TermPool::new();
    let x = pool.var("x", Domain::full(16));
    let y = pool.var("y", Domain::full(16));
    let six = pool.constant(16, 6);
    let product = pool.mul(x, six);
    let sum = pool.add(product, y);
    let wanted = pool.constant(16, 1234);
    let equal = pool.eq(sum, wanted);
    let limit = pool.constant(16, 0x8000);
    let negative = pool.slt(y, limit);
    let not_negative = pool.not(negative);
    let many = pool.constant(16, 1000);
    let more = pool.ult(many, x);
    found(&pool, &[not_negative, more, equal]);
}

#[test]
fn values_outside_of_the_domain_are_not_tried() {
    let mut pool = TermPool::new();
    let length = pool.var("length", Domain::range(16, 60, 1500));
    let limit = pool.constant(16, 74);
    let condition = pool.ult(length, limit);
    let long = pool.not(condition);
    let mut start = Model::new();
    start.set_var(VarId(0), 60);
    let anything = |term: TermId| pool.domain(term);
    let model = nearby_model(&pool, &start, &[long], &anything).expect("found");
    assert_eq!(model.var(VarId(0)), Some(74));
    let short = |term: TermId| {
        if term == length { Domain::constant(16, 60) } else { pool.domain(term) }
    };
    assert_eq!(nearby_model(&pool, &start, &[long], &short), None);
}

#[test]
fn quotients_invert_products() {
    for (product, factor) in [(12, 6), (0x8000_0000, 2), (7, 3), (0, 4)] {
        let found = quotient(product, factor, u64::from(u32::MAX)).expect("has one");
        assert_eq!((found.wrapping_mul(factor)) as u32, product as u32);
    }
    assert_eq!(quotient(3, 2, 0xff), None);
    assert_eq!(quotient(1, 0, 0xff), None);
}

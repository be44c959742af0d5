//! Compares simplified terms with the expected text. Each family of rules has one test.

use crate::{Domain, TermId, TermPool};

mod map_values;

struct Fixture {
    pool: TermPool,
}

impl Fixture {
    fn new() -> Self {
        Fixture { pool: TermPool::new() }
    }

    fn var(&mut self, name: &str, width: u8) -> TermId {
        self.pool.var(name, Domain::full(width))
    }

    fn k(&mut self, width: u8, value: u64) -> TermId {
        self.pool.constant(width, value)
    }

    #[track_caller]
    fn shows(&self, t: TermId, expected: &str) {
        assert_eq!(self.pool.display(t), expected);
    }

    /// Returns a 32-bit packet pointer that is not near either end of the address space, and a
    /// packet length in bytes.
    fn pointer(&mut self) -> (TermId, TermId) {
        let base = self.pool.var("base", Domain::range(32, 0x10000, 0x3fff_0000));
        let len = self.pool.var("len", Domain::range(14, 60, 1500));
        (base, len)
    }
}

#[test]
fn bounds_check_loses_its_pointer() {
    let mut f = Fixture::new();
    let base = f.pool.var("base", Domain::range(32, 0x10000, 0x3fff_0000));
    let len = f.pool.var("len", Domain::range(14, 20, 1500));
    let wide = f.pool.zext(len, 32);
    let end = f.pool.add(base, wide);
    let header = f.k(32, 42);
    let needed = f.pool.add(base, header);
    let short = f.pool.ult(end, needed);
    f.shows(short, "(len <u 0x2a:14)");
    let distance = f.pool.sub(end, needed);
    f.shows(distance, "((0:18 . len) + 0xffffffd6:32)");
    let fits = f.pool.ule(needed, end);
    f.shows(fits, "~(len <u 0x2a:14)");
    let beyond = f.pool.ult(needed, end);
    f.shows(beyond, "~(len <u 0x2b:14)");
}

#[test]
fn bounds_check_is_decided_by_the_length_domain() {
    let mut f = Fixture::new();
    let (base, len) = f.pointer();
    let wide = f.pool.zext(len, 32);
    let end = f.pool.add(base, wide);
    let header = f.k(32, 42);
    let needed = f.pool.add(base, header);
    let short = f.pool.ult(end, needed);
    f.shows(short, "0:1");
    // An address below the base.
    let four = f.k(32, 4);
    let before = f.pool.sub(base, four);
    let below = f.pool.ult(before, base);
    f.shows(below, "1:1");
    let not_below = f.pool.ult(base, before);
    f.shows(not_below, "0:1");
}

#[test]
fn comparison_of_unknown_pointers_with_constants() {
    let mut f = Fixture::new();
    let (base, _) = f.pointer();
    let (four, zero, forty_two) = (f.k(32, 4), f.k(32, 0), f.k(32, 42));
    let field = f.pool.add(base, four);
    let null = f.pool.eq(field, zero);
    f.shows(null, "0:1");
    let end = f.pool.add(base, forty_two);
    let carry = f.pool.ult(end, forty_two);
    f.shows(carry, "0:1");
    let limit = f.k(32, 0x20004);
    let below = f.pool.ult(field, limit);
    f.shows(below, "(base <u 0x20000:32)");
}

#[test]
fn wrapping_sums_are_not_compared_by_parts() {
    let mut f = Fixture::new();
    let x = f.var("x", 8);
    let (two, seven) = (f.k(8, 2), f.k(8, 7));
    let sum = f.pool.add(x, two);
    let below = f.pool.ult(sum, seven);
    f.shows(below, "((x + 2:8) <u 7:8)");
    let equal = f.pool.eq(sum, seven);
    f.shows(equal, "(x == 5:8)");
}

#[test]
fn sums_cancel_and_collect() {
    let mut f = Fixture::new();
    let (x, y) = (f.var("x", 16), f.var("y", 16));
    let sum = f.pool.add(x, y);
    let back = f.pool.sub(sum, x);
    assert_eq!(back, y);
    let nothing = f.pool.sub(sum, sum);
    f.shows(nothing, "0:16");
    let (three, five) = (f.k(16, 3), f.k(16, 5));
    let more = f.pool.add(sum, three);
    let less = f.pool.sub(more, five);
    f.shows(less, "((x + y) + 0xfffe:16)");
    let tripled = f.pool.mul(x, three);
    let sum = f.pool.add(tripled, x);
    f.shows(sum, "(x{13:0} . 0:2)");
    let complement = f.pool.not(x);
    let one = f.k(16, 1);
    let negated = f.pool.add(complement, one);
    f.shows(negated, "-x");
    let not_below = f.pool.eq(negated, y);
    f.shows(not_below, "((x + y) == 0:16)");
}

#[test]
fn sums_see_through_extension_and_scaling() {
    let mut f = Fixture::new();
    let (base, len) = f.pointer();
    let (minus, two) = (f.k(14, 14u64.wrapping_neg()), f.k(32, 2));
    let payload = f.pool.add(len, minus);
    let wide = f.pool.zext(payload, 32);
    let end = f.pool.add(base, wide);
    f.shows(end, "((base + (0:18 . len)) + 0xfffffff2:32)");
    let index = f.var("i", 32);
    let one = f.k(32, 1);
    let next = f.pool.add(index, one);
    let scaled = f.pool.shl(next, two);
    let element = f.pool.add(base, scaled);
    let sum = f.pool.split_sum(element);
    assert_eq!((sum.addends.len(), sum.constant), (2, 4));
}

#[test]
fn bytes_assemble_to_concatenations() {
    let mut f = Fixture::new();
    let (hi, lo) = (f.var("hi", 8), f.var("lo", 8));
    let eight = f.k(32, 8);
    let (hi, lo) = (f.pool.zext(hi, 32), f.pool.zext(lo, 32));
    let shifted = f.pool.shl(hi, eight);
    let word = f.pool.or(shifted, lo);
    f.shows(word, "(0:16 . (hi . lo))");
    let by_sum = f.pool.add(shifted, lo);
    let by_xor = f.pool.xor(lo, shifted);
    assert_eq!((by_sum, by_xor), (word, word));
    let (mask, kind) = (f.k(32, 0xff), f.k(32, 0x800));
    let low = f.pool.and(word, mask);
    assert_eq!(low, lo);
    let is_ip = f.pool.eq(word, kind);
    f.shows(is_ip, "((hi . lo) == 0x800:16)");
}

#[test]
fn masks_are_slices() {
    let mut f = Fixture::new();
    let x = f.var("x", 32);
    let (low, nibble, sparse) = (f.k(32, 0xff), f.k(32, 0xf0), f.k(32, 0x5555_5555));
    let byte = f.pool.and(x, low);
    f.shows(byte, "(0:24 . x{7:0})");
    let nibble = f.pool.and(x, nibble);
    f.shows(nibble, "(0:24 . (x{7:4} . 0:4))");
    let set = f.pool.or(x, low);
    f.shows(set, "(x{31:8} . 0xff:8)");
    let many = f.pool.and(x, sparse);
    f.shows(many, "(x & 0x55555555:32)");
}

#[test]
fn slices_merge() {
    let mut f = Fixture::new();
    let x = f.var("x", 32);
    let (high, low) = (f.pool.extract(x, 16, 16), f.pool.extract(x, 0, 16));
    assert_eq!(f.pool.concat(high, low), x);
    let swapped = f.pool.concat(low, high);
    let middle = f.pool.extract(swapped, 8, 16);
    f.shows(middle, "(x{7:0} . x{31:24})");
    let again = f.pool.extract(middle, 8, 4);
    f.shows(again, "x{3:0}");
    let narrow = f.pool.extract(x, 3, 5);
    let signed = f.pool.sext(narrow, 32);
    let sign = f.pool.extract(signed, 20, 3);
    f.shows(sign, "sext3(x{7:7})");
    let part = f.pool.extract(signed, 1, 3);
    f.shows(part, "x{6:4}");
}

#[test]
fn low_bits_of_arithmetic_are_narrow_arithmetic() {
    let mut f = Fixture::new();
    let (x, y) = (f.var("x", 32), f.var("y", 8));
    let wide = f.pool.zext(y, 32);
    let sum = f.pool.add(x, wide);
    let low = f.pool.extract(sum, 0, 8);
    f.shows(low, "(y + x{7:0})");
    let page = f.k(32, 0x1000);
    let moved = f.pool.add(x, page);
    let high = f.pool.extract(moved, 12, 20);
    f.shows(high, "(x{31:12} + 1:20)");
}

#[test]
fn shifts_by_constants_are_slices() {
    let mut f = Fixture::new();
    let x = f.var("x", 16);
    let four = f.k(16, 4);
    let (left, right, signed) = (f.pool.shl(x, four), f.pool.lshr(x, four), f.pool.ashr(x, four));
    f.shows(left, "(x{11:0} . 0:4)");
    f.shows(right, "(0:4 . x{15:4})");
    f.shows(signed, "sext16(x{15:4})");
    let back = f.pool.lshr(left, four);
    f.shows(back, "(0:4 . x{11:0})");
    let sixteen = f.k(16, 16);
    let gone = f.pool.shl(x, sixteen);
    f.shows(gone, "0:16");
}

#[test]
fn divisions_by_powers_of_two_are_slices() {
    let mut f = Fixture::new();
    let (x, y) = (f.var("x", 32), f.var("y", 8));
    let (eight, ten) = (f.k(32, 8), f.k(32, 10));
    let (quotient, remainder) = (f.pool.udiv(x, eight), f.pool.urem(x, eight));
    f.shows(quotient, "(0:3 . x{31:3})");
    f.shows(remainder, "(0:29 . x{2:0})");
    let wide = f.pool.zext(y, 32);
    let tenth = f.pool.udiv(wide, ten);
    assert_eq!(f.pool.domain(tenth).hi(), 25);
    f.shows(tenth, "(0:24 . (y /u 0xa:8))");
}

#[test]
fn equalities_shrink() {
    let mut f = Fixture::new();
    let (x, y) = (f.var("x", 16), f.var("y", 16));
    let (zero, mask, five) = (f.k(16, 0), f.k(16, 0x5a5a), f.k(16, 5));
    let flipped = f.pool.xor(x, mask);
    let e = f.pool.eq(flipped, zero);
    f.shows(e, "(x == 0x5a5a:16)");
    let differs = f.pool.xor(x, y);
    let e = f.pool.eq(differs, zero);
    f.shows(e, "(x == y)");
    let any = f.pool.or(x, y);
    let e = f.pool.eq(any, zero);
    f.shows(e, "((x == 0:16) & (y == 0:16))");
    let c = f.var("c", 1);
    let choice = f.pool.ite(c, five, zero);
    let (is_five, is_zero, is_mask) =
        (f.pool.eq(choice, five), f.pool.eq(choice, zero), f.pool.eq(choice, mask));
    f.shows(is_five, "c");
    f.shows(is_zero, "~c");
    f.shows(is_mask, "0:1");
    let signed = f.pool.sext(x, 32);
    let (minus_two, large) = (f.k(32, 0xffff_fffe), f.k(32, 0x1_0000));
    let e = f.pool.eq(signed, minus_two);
    f.shows(e, "(x == 0xfffe:16)");
    let e = f.pool.eq(signed, large);
    f.shows(e, "0:1");
    let tripled = f.pool.add(x, x);
    let tripled = f.pool.sub(x, tripled);
    let e = f.pool.eq(tripled, five);
    f.shows(e, "(x == 0xfffb:16)");
}

#[test]
fn orders_shrink() {
    let mut f = Fixture::new();
    let (x, y) = (f.var("x", 8), f.var("y", 8));
    let (wx, wy) = (f.pool.zext(x, 32), f.pool.zext(y, 32));
    let below = f.pool.ult(wx, wy);
    f.shows(below, "(x <u y)");
    let signed = f.pool.slt(wx, wy);
    assert_eq!(signed, below);
    let limit = f.k(32, 64);
    let below = f.pool.slt(wx, limit);
    f.shows(below, "(x <u 0x40:8)");
    let above = f.pool.ult(limit, wx);
    f.shows(above, "~(x <u 0x41:8)");
    let (one, zero) = (f.k(8, 1), f.k(8, 0));
    let none = f.pool.ult(x, one);
    f.shows(none, "(x == 0:8)");
    let some = f.pool.ult(zero, x);
    f.shows(some, "~(x == 0:8)");
    let negative = f.pool.slt(x, zero);
    f.shows(negative, "x{7:7}");
    let (sx, sy) = (f.pool.sext(x, 32), f.pool.sext(y, 32));
    let signed = f.pool.slt(sx, sy);
    f.shows(signed, "(x <s y)");
    let (left, right) = (f.pool.concat(y, x), f.pool.concat(y, y));
    let below = f.pool.ult(left, right);
    f.shows(below, "(x <u y)");
    let block = f.k(16, 0x4000);
    let below = f.pool.ult(left, block);
    f.shows(below, "(y <u 0x40:8)");
}

#[test]
fn booleans_absorb() {
    let mut f = Fixture::new();
    let (a, b, c) = (f.var("a", 1), f.var("b", 1), f.var("c", 1));
    let not_a = f.pool.not(a);
    assert_eq!(f.pool.not(not_a), a);
    let (both, either) = (f.pool.and(a, b), f.pool.or(a, b));
    assert_eq!(f.pool.and(either, a), a);
    assert_eq!(f.pool.or(both, a), a);
    let impossible = f.pool.and(both, not_a);
    f.shows(impossible, "0:1");
    assert_eq!(f.pool.and(either, not_a), f.pool.and(b, not_a));
    let (one, zero) = (f.k(1, 1), f.k(1, 0));
    assert_eq!(f.pool.ite(a, one, zero), a);
    assert_eq!(f.pool.ite(a, zero, one), not_a);
    assert_eq!(f.pool.ite(a, b, zero), both);
    assert_eq!(f.pool.ite(not_a, b, c), f.pool.ite(a, c, b));
    assert_eq!(f.pool.xor(a, one), not_a);
    assert_eq!(f.pool.eq(a, one), a);
    assert_eq!(f.pool.eq(zero, a), not_a);
}

#[test]
fn a_value_decides_other_comparisons() {
    let mut f = Fixture::new();
    let x = f.var("x", 8);
    let (six, seven, ten) = (f.k(8, 6), f.k(8, 17), f.k(8, 10));
    let (is_six, is_seven, small) = (f.pool.eq(x, six), f.pool.eq(x, seven), f.pool.ult(x, ten));
    let never = f.pool.and(is_six, is_seven);
    f.shows(never, "0:1");
    assert_eq!(f.pool.and(is_six, small), is_six);
    assert_eq!(f.pool.or(is_six, small), small);
    let never = f.pool.and(is_seven, small);
    f.shows(never, "0:1");
}

#[test]
fn choices_share_their_ends() {
    let mut f = Fixture::new();
    let (c, x) = (f.var("c", 1), f.var("x", 8));
    let (one, zero) = (f.k(32, 1), f.k(32, 0));
    let flag = f.pool.ite(c, one, zero);
    f.shows(flag, "(0:31 . c)");
    let wide = f.pool.zext(x, 32);
    let chosen = f.pool.ite(c, wide, zero);
    f.shows(chosen, "(0:24 . (c ? x : 0:8))");
    let five = f.k(8, 5);
    let is_five = f.pool.eq(x, five);
    assert_eq!(f.pool.ite(is_five, five, x), x);
    let inner = f.pool.ite(c, x, five);
    assert_eq!(f.pool.ite(c, inner, five), inner);
}

#[test]
fn one_member_domains_are_constants() {
    let mut f = Fixture::new();
    let x = f.pool.var("x", Domain::range(8, 0x40, 0x4f));
    let high = f.pool.extract(x, 4, 4);
    f.shows(high, "4:4");
    let fixed = f.pool.var("y", Domain::constant(8, 3));
    assert_eq!(f.pool.as_const(fixed), Some(3));
}

#[test]
fn deep_terms_do_not_exhaust_the_stack() {
    let mut f = Fixture::new();
    let mut model = crate::Model::new();
    let mut t = f.k(32, 0);
    for n in 0..100_000u64 {
        let x = f.pool.var("x", Domain::full(32));
        if let crate::Node::Var(var) = *f.pool.node(x) {
            model.set_var(var, n * 77);
        }
        t = match n % 4 {
            0 => f.pool.add(t, x),
            1 => f.pool.xor(t, x),
            2 => f.pool.mul(t, x),
            _ => f.pool.not(t),
        };
    }
    let low = f.pool.extract(t, 0, 8);
    let zero = f.k(8, 0);
    let test = f.pool.eq(low, zero);
    assert!(f.pool.eval(test, &model) <= 1);
    assert!(f.pool.subterms(&[test]).len() > 100_000);
    assert!(f.pool.len() < 2_000_000);
    assert!(f.pool.display(test).ends_with('…'));
    let again = f.pool.substitute(t, &mut std::collections::HashMap::new());
    assert_eq!(f.pool.width(again), 32);
}

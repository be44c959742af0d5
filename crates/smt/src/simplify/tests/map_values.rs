//! Tests addresses of map values in a 64-bit address space, in which programs truncate packet
//! pointers to 32 bits. The address of a byte of a map value is `base + concat(zeros, number of the
//! element, offset in the value)`.

use super::Fixture;
use crate::{Domain, TermId};

impl Fixture {
    /// Returns an unknown start address of a memory region in a 64-bit address space.
    fn base(&mut self, name: &str) -> TermId {
        self.pool.var(name, Domain::range(64, 0x1_0000, 0x7fff_ffff))
    }

    /// Returns the offset of byte `place` in the element with the number `id` (32 bits), in a map
    /// whose values have 64 bytes.
    fn element(&mut self, id: TermId, place: u64) -> TermId {
        let zeros = self.k(64 - 32 - 6, 0);
        let low = self.k(6, place);
        let rest = self.pool.concat(id, low);
        self.pool.concat(zeros, rest)
    }

    /// Returns `t` truncated to 32 bits and zero-extended again.
    fn through_32_bits(&mut self, t: TermId) -> TermId {
        let low = self.pool.extract(t, 0, 32);
        self.pool.zext(low, 64)
    }
}

#[test]
fn pointers_survive_32_bits() {
    let mut f = Fixture::new();
    let base = f.base("base");
    assert_eq!(f.through_32_bits(base), base);
    let length = f.pool.var("len", Domain::range(64, 14, 16383));
    assert_eq!(f.through_32_bits(length), length);
    let end = f.pool.add(base, length);
    assert_eq!(f.through_32_bits(end), end);
    let short = f.pool.var("len", Domain::range(14, 14, 16383));
    let wide = f.pool.zext(short, 64);
    let end = f.pool.add(base, wide);
    assert_eq!(f.through_32_bits(end), end);
    let (header, four) = (f.k(64, 34), f.k(64, 4));
    for distance in [header, four] {
        let at = f.pool.add(end, distance);
        assert_eq!(f.through_32_bits(at), at);
    }
    // Truncation loses upper bits that may be set.
    let any = f.var("any", 64);
    let cut = f.through_32_bits(any);
    f.shows(cut, "(0:32 . any{31:0})");
    // The extension may be wider than the source.
    let narrow = f.pool.var("narrow", Domain::range(16, 0, 200));
    let byte = f.pool.extract(narrow, 0, 8);
    let wide = f.pool.zext(byte, 64);
    f.shows(wide, "(0:48 . narrow)");
}

#[test]
fn elements_are_walked_through() {
    let mut f = Fixture::new();
    let (base, id) = (f.base("base"), f.var("id", 32));
    let (start, fourth) = (f.element(id, 0), f.element(id, 4));
    let twelfth = f.element(id, 12);
    let eight = f.k(64, 8);
    assert_eq!(f.pool.add(fourth, eight), twelfth);
    assert_eq!(f.pool.sub(twelfth, eight), fourth);
    let pointer = f.pool.add(base, start);
    let field = f.pool.add(pointer, eight);
    let offset = f.pool.sub(field, base);
    assert_eq!(offset, f.element(id, 8));
    let pointer = f.pool.add(base, fourth);
    let field = f.pool.add(pointer, eight);
    assert_eq!(f.pool.sub(field, base), twelfth);
    let back = f.pool.sub(field, eight);
    assert_eq!(f.pool.sub(back, base), fourth);
}

#[test]
fn elements_are_compared_by_their_parts() {
    let mut f = Fixture::new();
    let (one, two) = (f.var("one", 32), f.var("two", 32));
    let places = [0, 4, 8, 56];
    for a in places {
        for b in places {
            let (x, y) = (f.element(one, a), f.element(two, b));
            let same = f.pool.eq(x, y);
            f.shows(same, if a == b { "(one == two)" } else { "0:1" });
            // Compare by the distance between the offsets.
            let distance = f.pool.sub(x, y);
            for byte in 0..8 {
                let wanted = f.k(64, byte);
                let here = f.pool.eq(distance, wanted);
                f.shows(here, if a == b + byte { "(one == two)" } else { "0:1" });
            }
        }
    }
}

#[test]
fn numbers_are_equal_exactly_for_equal_pairs() {
    let mut f = Fixture::new();
    let [a, b, c, d] = ["a", "b", "c", "d"].map(|name| f.var(name, 64));
    let (x, y) = (f.pool.intern(a, b), f.pool.intern(c, d));
    f.shows(x, "intern(a, b)");
    assert_eq!(f.pool.intern(a, b), x);
    let same = f.pool.eq(x, y);
    f.shows(same, "((a == c) & (b == d))");
    let (one, two) = (f.k(64, 1), f.k(64, 2));
    let (first, second) = (f.pool.intern(a, one), f.pool.intern(b, two));
    let same = f.pool.eq(first, second);
    f.shows(same, "0:1");
    let constant = [one, two].map(|k| f.pool.intern(k, k));
    let same = f.pool.eq(constant[0], constant[1]);
    f.shows(same, "0:1");
    // The number of a longer key is a chain of numbers.
    let chain = [x, y].map(|number| {
        let wide = f.pool.zext(number, 64);
        f.pool.intern(wide, one)
    });
    let same = f.pool.eq(chain[0], chain[1]);
    f.shows(same, "((a == c) & (b == d))");
    let (low, high) = (f.element(x, 4), f.element(y, 4));
    let same = f.pool.eq(low, high);
    f.shows(same, "((a == c) & (b == d))");
}

#[test]
fn null_checks_become_the_presence_of_the_element() {
    let mut f = Fixture::new();
    let (base, id) = (f.base("base"), f.var("id", 32));
    let present = f.var("present", 1);
    let offset = f.element(id, 0);
    let pointer = f.pool.add(base, offset);
    let zero = f.k(64, 0);
    let nullable = f.pool.ite(present, pointer, zero);
    let null = f.pool.eq(nullable, zero);
    f.shows(null, "~present");
    let swapped = f.pool.ite(present, zero, pointer);
    let null = f.pool.eq(swapped, zero);
    f.shows(null, "present");
    let inner = f.var("inner", 1);
    let nested = f.pool.ite(inner, nullable, zero);
    let null = f.pool.eq(nested, zero);
    f.shows(null, "(~present | ~inner)");
    let below = f.pool.ult(zero, nullable);
    f.shows(below, "present");
    let other = f.var("x", 64);
    let choice = f.pool.ite(present, other, zero);
    let null = f.pool.eq(choice, zero);
    f.shows(null, "(~present | (x == 0:64))");
}

#[test]
fn bounds_checks_with_64_bits_lose_the_pointer() {
    let mut f = Fixture::new();
    let base = f.base("base");
    let length = f.pool.var("len", Domain::range(64, 14, 16383));
    let header = f.k(64, 34);
    let needed = f.pool.add(base, header);
    let end = f.pool.add(base, length);
    let short = f.pool.ult(end, needed);
    f.shows(short, "(len <u 0x22:64)");
    let low = f.pool.extract(length, 0, 32);
    let low = f.pool.zext(low, 64);
    let end = f.pool.add(base, low);
    assert_eq!(f.pool.ult(end, needed), short);
    // The context has both pointers as 32-bit words.
    let (start, end) = (f.through_32_bits(base), f.through_32_bits(end));
    let needed = f.pool.add(start, header);
    assert_eq!(f.pool.ult(end, needed), short);
    let beyond = f.pool.ult(needed, end);
    f.shows(beyond, "~(len <u 0x23:64)");
    let narrow = f.pool.var("len", Domain::range(14, 14, 16383));
    let wide = f.pool.zext(narrow, 64);
    let end = f.pool.add(base, wide);
    let end = f.through_32_bits(end);
    let short = f.pool.ult(end, needed);
    f.shows(short, "(len <u 0x22:14)");
    // An 8-bit field is added to the pointer to the end of the header.
    let options = f.var("ihl", 8);
    let options = f.pool.zext(options, 64);
    let behind = f.pool.add(needed, options);
    let short = f.pool.ult(end, behind);
    f.shows(short, "((0:50 . len) <u ((0:56 . ihl) + 0x22:64))");
}

#[test]
fn bytes_of_tables() {
    let mut f = Fixture::new();
    let table = f.pool.constant_array("table", 16, &[7, 7, 3, 7, 5]);
    let at = |f: &mut Fixture, index| {
        let index = f.k(16, index);
        f.pool.select(table, index)
    };
    let bytes = [0, 2, 4, 5, 65535].map(|index| at(&mut f, index));
    assert_eq!(bytes.map(|byte| f.pool.as_const(byte)), [7, 3, 5, 0, 0].map(Some));
    let first = f.pool.var("i", Domain::range(16, 0, 1));
    let byte = f.pool.select(table, first);
    f.shows(byte, "7:8");
    let inside = f.pool.var("i", Domain::range(16, 0, 4));
    let byte = f.pool.select(table, inside);
    assert_eq!(
        f.pool.domain(byte),
        Domain::range(8, 3, 7).meet(&Domain::from_bits(8, 0xf8, 1)).expect("meets")
    );
    let even = f.pool.var("i", Domain::from_bits(16, 0xfff9, 0));
    let byte = f.pool.select(table, even);
    let domain = f.pool.domain(byte);
    assert_eq!((domain.lo(), domain.hi()), (0, 7));
    let behind = f.pool.var("i", Domain::range(16, 5, 65535));
    let byte = f.pool.select(table, behind);
    f.shows(byte, "0:8");
    assert_eq!(f.pool.array_content(table), Some(&[7, 7, 3, 7, 5][..]));
}

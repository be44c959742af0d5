//! Tests of compile-time values (sections 8 and 18.1 of the specification). One test compares them
//! with an evaluator on single bits.

use num_bigint::BigInt;
use proptest::prelude::*;
use slowpath_p4::ast::DeclKind;
use slowpath_p4::check::Value;

use crate::support::{accepted, rejected, run};

/// Returns the value of the last constant of a program.
fn value(text: &str) -> Value {
    let (tokens, sources) = run(text).expect("tokens");
    let program = slowpath_p4::parse(&tokens).unwrap_or_else(|fault| panic!("{text}: {fault:?}"));
    let checked = slowpath_p4::check(&program)
        .unwrap_or_else(|faults| panic!("{text}: {}", faults[0].render(&sources)));
    let last = program.declarations.last().expect("a declaration");
    let DeclKind::Const { value, .. } = &*last.kind else { panic!("{text}: no constant") };
    checked.constants.get(&value.id).unwrap_or_else(|| panic!("{text}: no value")).clone()
}

/// A number in two's complement, least significant bit first.
type Bits = Vec<bool>;

fn bits_of(number: &BigInt, width: usize) -> Bits {
    (0..width as u64).map(|at| number.bit(at)).collect()
}

fn number_of(bits: &[bool], is_signed: bool) -> BigInt {
    let mut number = BigInt::ZERO;
    for (at, bit) in bits.iter().enumerate() {
        if *bit {
            let weight = BigInt::from(2).pow(at as u32);
            number += if is_signed && at + 1 == bits.len() { -weight } else { weight };
        }
    }
    number
}

/// Adds two numbers bit by bit, and drops the last carry.
fn add(a: &[bool], b: &[bool], mut carry: bool) -> Bits {
    let mut sum = Bits::new();
    for (x, y) in a.iter().zip(b) {
        sum.push(x ^ y ^ carry);
        carry = (*x && *y) || (carry && (x ^ y));
    }
    sum
}

fn complement(a: &[bool]) -> Bits {
    a.iter().map(|bit| !bit).collect()
}

fn negate(a: &[bool]) -> Bits {
    add(&complement(a), &vec![false; a.len()], true)
}

fn multiply(a: &[bool], b: &[bool]) -> Bits {
    let mut sum = vec![false; a.len()];
    for (at, bit) in b.iter().enumerate() {
        if *bit {
            let shifted: Bits =
                std::iter::repeat_n(false, at).chain(a.iter().copied()).take(a.len()).collect();
            sum = add(&sum, &shifted, false);
        }
    }
    sum
}

fn extend(a: &[bool], width: usize, is_signed: bool) -> Bits {
    let fill = is_signed && a.last() == Some(&true);
    a.iter().copied().chain(std::iter::repeat(fill)).take(width).collect()
}

/// Returns true if `a < b`. Compares from the highest bit down; the highest bit of a signed number
/// is its sign.
fn is_less(a: &[bool], b: &[bool], is_signed: bool) -> bool {
    for at in (0..a.len()).rev() {
        if a[at] != b[at] {
            return b[at] != (is_signed && at + 1 == a.len());
        }
    }
    false
}

/// Adds (if `is_sum` is true) or subtracts with one more bit, then saturates the result to the
/// range of the type.
fn saturate(a: &[bool], b: &[bool], is_signed: bool, is_sum: bool) -> Bits {
    let wide = a.len() + 2;
    let (x, y) = (extend(a, wide, is_signed), extend(b, wide, is_signed));
    let exact = add(&x, &if is_sum { y } else { negate(&y) }, false);
    let fits = extend(&exact[..a.len()], wide, is_signed) == exact;
    let is_negative = exact[wide - 1];
    match (fits, is_signed) {
        (true, _) => exact[..a.len()].to_vec(),
        (false, false) => vec![!is_negative; a.len()],
        (false, true) => {
            let mut limit = vec![!is_negative; a.len()];
            limit[a.len() - 1] = is_negative;
            limit
        }
    }
}

fn shift(a: &[bool], by: usize, is_signed: bool, is_left: bool) -> Bits {
    let fill = !is_left && is_signed && a.last() == Some(&true);
    (0..a.len())
        .map(|at| {
            let from = if is_left { at.checked_sub(by) } else { Some(at + by) };
            from.and_then(|from| a.get(from).copied()).unwrap_or(fill)
        })
        .collect()
}

/// Divides unsigned numbers by long division. Returns quotient and remainder.
fn divide(a: &[bool], b: &[bool]) -> (Bits, Bits) {
    let mut quotient = vec![false; a.len()];
    let mut rest = vec![false; a.len() + 1];
    let divisor = extend(b, a.len() + 1, false);
    for at in (0..a.len()).rev() {
        rest.insert(0, a[at]);
        rest.pop();
        if !is_less(&rest, &divisor, false) {
            rest = add(&rest, &complement(&divisor), true);
            quotient[at] = true;
        }
    }
    rest.pop();
    (quotient, rest)
}

/// Returns the P4 source text of a number's type, and of a literal with its value.
fn written(bits: &[bool], is_signed: bool) -> (String, String) {
    let (width, number) = (bits.len(), number_of(bits, false));
    match is_signed {
        true => (format!("int<{width}>"), format!("(int<{width}>){width}w{number}")),
        false => (format!("bit<{width}>"), format!("{width}w0x{number:x}")),
    }
}

/// Generates integers of any size; corner cases are frequent.
fn number() -> impl Strategy<Value = BigInt> {
    let bytes = prop::collection::vec(any::<u8>(), 0..26);
    prop_oneof![
        3 => bytes.prop_map(|bytes| BigInt::from_bytes_le(num_bigint::Sign::Plus, &bytes)),
        1 => (0u32..201).prop_map(|at| BigInt::from(2).pow(at)),
        1 => (0u32..201).prop_map(|at| BigInt::from(2).pow(at) - 1),
        1 => (0u32..3).prop_map(BigInt::from),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(300))]

    #[test]
    fn operators_of_fixed_width_agree_with_bits(
        width in 1usize..201,
        other_width in 1usize..201,
        is_signed in any::<bool>(),
        other_signed in any::<bool>(),
        x in number(),
        y in number(),
        amount in prop_oneof![0usize..210, 0usize..10],
        ends in (0usize..200, 0usize..200),
    ) {
        let (a, b) = (bits_of(&x, width), bits_of(&y, width));
        let ((ty, left), (_, right)) = (written(&a, is_signed), written(&b, is_signed));
        let numbers = [
            ("+", add(&a, &b, false)),
            ("-", add(&a, &complement(&b), true)),
            ("*", multiply(&a, &b)),
            ("&", a.iter().zip(&b).map(|(x, y)| *x && *y).collect()),
            ("|", a.iter().zip(&b).map(|(x, y)| *x || *y).collect()),
            ("^", a.iter().zip(&b).map(|(x, y)| x != y).collect()),
            ("|+|", saturate(&a, &b, is_signed, true)),
            ("|-|", saturate(&a, &b, is_signed, false)),
        ];
        for (operator, bits) in numbers {
            let found = value(&format!("const {ty} r = {left} {operator} {right};"));
            prop_assert_eq!(found, Value::Number(number_of(&bits, is_signed)), "{} {} {}", left, operator, right);
        }
        let (less, equal) = (is_less(&a, &b, is_signed), a == b);
        let truths = [
            ("<", less), ("<=", less || equal), (">", !less && !equal), (">=", !less),
            ("==", equal), ("!=", !equal),
        ];
        for (operator, truth) in truths {
            let found = value(&format!("const bool r = {left} {operator} {right};"));
            prop_assert_eq!(found, Value::Bool(truth), "{} {} {}", left, operator, right);
        }
        for (operator, bits) in [("-", negate(&a)), ("~", complement(&a)), ("+", a.clone())] {
            let found = value(&format!("const {ty} r = {operator}({left});"));
            prop_assert_eq!(found, Value::Number(number_of(&bits, is_signed)), "{} {}", operator, left);
        }
        for (operator, is_left) in [("<<", true), (">>", false)] {
            let bits = shift(&a, amount, is_signed, is_left);
            for amount in [format!("{amount}"), format!("8w{amount}")] {
                let found = value(&format!("const {ty} r = {left} {operator} {amount};"));
                prop_assert_eq!(found, Value::Number(number_of(&bits, is_signed)), "{} {} {}", left, operator, amount);
            }
        }
        // Concatenation has the sign of the left operand.
        let c = bits_of(&y, other_width);
        let (_, second) = written(&c, other_signed);
        let joined: Bits = c.iter().chain(&a).copied().collect();
        let (ty, _) = written(&joined, is_signed);
        let found = value(&format!("const {ty} r = {left} ++ {second};"));
        prop_assert_eq!(found, Value::Number(number_of(&joined, is_signed)), "{} ++ {}", left, second);
        // Slices are unsigned.
        let (high, low) = (ends.0.max(ends.1) % width, ends.0.min(ends.1) % width);
        let (high, low) = (high.max(low), high.min(low));
        let found = value(&format!("const bit<{}> r = ({left})[{high}:{low}];", high - low + 1));
        prop_assert_eq!(found, Value::Number(number_of(&a[low..=high], false)), "{}[{}:{}]", left, high, low);
        // Casts change the width or the sign; int has both as they are.
        let (ty, _) = written(&c, is_signed);
        let found = value(&format!("const {ty} r = ({ty}){left};"));
        prop_assert_eq!(found, Value::Number(number_of(&extend(&a, other_width, is_signed), is_signed)), "({}){}", ty, left);
        let (ty, _) = written(&a, !is_signed);
        let found = value(&format!("const {ty} r = ({ty}){left};"));
        prop_assert_eq!(found, Value::Number(number_of(&a, !is_signed)), "({}){}", ty, left);
        let found = value(&format!("const int r = (int){left};"));
        prop_assert_eq!(found, Value::Number(number_of(&a, is_signed)), "(int){}", left);
    }

    #[test]
    fn operators_of_int_agree_with_bits(
        x in number(),
        y in number(),
        signs in (any::<bool>(), any::<bool>()),
        width in 1usize..201,
        amount in 0usize..210,
    ) {
        // Enough bits for products.
        const WIDE: usize = 420;
        let signed = |number: &BigInt, minus: bool| if minus { -number } else { number.clone() };
        let (left, right) = (signed(&x, signs.0), signed(&y, signs.1));
        let (a, b) = (bits_of(&left, WIDE), bits_of(&right, WIDE));
        let numbers = [
            ("+", add(&a, &b, false)),
            ("-", add(&a, &complement(&b), true)),
            ("*", multiply(&a, &b)),
        ];
        for (operator, bits) in numbers {
            let found = value(&format!("const int r = ({left}) {operator} ({right});"));
            prop_assert_eq!(found, Value::Number(number_of(&bits, true)), "{} {} {}", left, operator, right);
        }
        let found = value(&format!("const bool r = ({left}) < ({right});"));
        prop_assert_eq!(found, Value::Bool(is_less(&a, &b, true)), "{} < {}", left, right);
        if y != BigInt::ZERO {
            let (quotient, rest) = divide(&bits_of(&x, WIDE), &bits_of(&y, WIDE));
            let found = value(&format!("const int r = {x} / {y};"));
            prop_assert_eq!(found, Value::Number(number_of(&quotient, false)), "{} / {}", x, y);
            let found = value(&format!("const int r = {x} % {y};"));
            prop_assert_eq!(found, Value::Number(number_of(&rest, false)), "{} % {}", x, y);
        }
        for (operator, is_left) in [("<<", true), (">>", false)] {
            let found = value(&format!("const int r = ({left}) {operator} {amount};"));
            let bits = shift(&a, amount, true, is_left);
            prop_assert_eq!(found, Value::Number(number_of(&bits, true)), "{} {} {}", left, operator, amount);
        }
        for is_signed in [false, true] {
            let (ty, _) = written(&a[..width], is_signed);
            for operand in [format!("({ty})({left})"), format!("{left}")] {
                let found = value(&format!("const {ty} r = {operand};"));
                prop_assert_eq!(found, Value::Number(number_of(&a[..width], is_signed)), "{} {}", ty, operand);
            }
        }
        let found = value(&format!("const bit<{width}> r = ({left})[{}:0];", width - 1));
        prop_assert_eq!(found, Value::Number(number_of(&a[..width], false)), "({})[{}:0]", left, width - 1);
    }
}

#[test]
fn constants_are_made_of_constants() {
    // Section 11.1.
    assert_eq!(
        value("const bit<8> a = 3;\nconst int b = 4;\nconst bit<8> r = a * b + 1;"),
        Value::Number(13.into())
    );
    assert_eq!(
        value("const tuple<bit<8>, bool> t = {1, true};\nconst bool r = t[1] && t[0] == 1;"),
        Value::Bool(true)
    );
    assert_eq!(
        value(
            "struct S { bit<8> a; int<4> b; }\nconst S s = {b = -1, a = 2};\nconst int<4> r = s.b >> 1;"
        ),
        Value::Number((-1).into())
    );
    assert_eq!(
        value("enum bit<4> E { A = 3, B = 5 }\nconst bit<4> r = E.A | E.B;"),
        Value::Number(7.into())
    );
    assert_eq!(value("const string r = \"a\" ++ \"b\";"), Value::Text("ab".into()));
    assert_eq!(value("const bit<8> r = true ? 1 : 8w2;"), Value::Number(1.into()));
    assert_eq!(value("error { A, B }\nconst bool r = error.A == error.B;"), Value::Bool(false));
    assert_eq!(
        value("match_kind { exact, fuzzy }\nconst bool r = exact != fuzzy;"),
        Value::Bool(true)
    );
    assert_eq!(
        value(
            "header H { bit<12> a; varbit<9> b; }\nconst int r = H.maxSizeInBytes() * 100 + H.minSizeInBits();"
        ),
        Value::Number(312.into())
    );
    rejected(
        "extern bit<8> f();\nconst bit<8> a = f() + 1;",
        "2:18: the value must be known when the program is compiled",
    );
    rejected(
        "control c(in bit<8> x) { const bit<8> a = x; apply { } }",
        "1:43: the value must be known when the program is compiled",
    );
}

#[test]
fn operators_reject_other_types() {
    // Sections 8.6 to 8.9.
    for (expression, expected) in [
        ("8w1 + 9w1", "1:15: operands of + have the types bit<8> and bit<9>; write a cast"),
        ("8w1 + 8s1", "1:15: operands of + have the types bit<8> and int<8>; write a cast"),
        ("1 |+| 3", "1:15: operator |+| needs numbers with a width"),
        ("~1", "1:15: operator ~ is not defined for int"),
        ("-1 / 2", "1:15: operator / is not defined for negative numbers"),
        ("1 / 0", "1:15: division by zero"),
        ("8s4 % 8s2", "1:15: operator % is not defined for int<8>, which can be negative"),
        ("1 << -1", "1:20: a shift cannot be negative"),
        ("1 << 8s1 << true", "1:27: a shift cannot be of type bool; use bit"),
        ("1 ++ 8w1", "1:15: operator ++ needs numbers with a width, not int"),
        ("8w1[8:0]", "1:15: bit<8> has no bit 8"),
        ("8w1[0:1]", "1:15: the lowest bit, 1, is above the highest, 0; write [high:low]"),
        ("true + 1", "1:15: operator + is not defined for bool"),
        ("8w1 == true", "1:15: bit<8> and bool cannot be compared with =="),
        ("!8w1", "1:15: operator ! is not defined for bit<8>"),
        ("(bit<8>)8s1 + (bit<9>)8s1", "1:29: int<8> cannot be cast to bit<9>"),
        ("(bool)2", "1:15: int cannot be cast to bool"),
        ("... + 1", "1:15: '...' cannot be an operand"),
        ("true ? 8w1 : 9w1", "1:15: the two values have the types bit<8> and bit<9>; write a cast"),
    ] {
        rejected(&format!("const int a = {expression};"), expected);
    }
}

#[test]
fn static_assertions_hold() {
    // Section 19.
    let assertion = "#include <core.p4>\n";
    accepted(&format!(
        "{assertion}const bool a = static_assert(1 < 2, \"text\");\nconst bool b = a && static_assert(a);"
    ));
    rejected(
        &format!("{assertion}const bool a = static_assert(1 > 2, \"text\");"),
        "2:16: static_assert: text",
    );
    rejected(
        &format!("{assertion}control c() {{ apply {{ static_assert(8w255 + 1 == 1); }} }}"),
        "2:23: static_assert: the condition is false",
    );
    rejected(
        &format!("{assertion}control c(in bool x) {{ apply {{ static_assert(x); }} }}"),
        "2:46: argument 'check' must be known when the program is compiled",
    );
}

/// Returns the warnings for a program, as `line:column: message`.
fn warnings(text: &str) -> Vec<String> {
    let (tokens, _) = crate::support::run(text).expect("tokens");
    let program = slowpath_p4::parse(&tokens).expect("a program");
    let found = slowpath_p4::check(&program).expect("types").warnings;
    let place = |one: &slowpath_p4::P4Error| format!("{}:{}", one.span.line, one.span.column);
    found.iter().map(|one| format!("{}: {}", place(one), one.message)).collect()
}

#[test]
fn numbers_that_do_not_fit_have_warnings() {
    let text = "const bit<8> a = 256;
const int<8> b = 128;
const bit<4> c = 4w17;
const bit<8> d = 255;
const bit<8> e = (bit<8>)256;
struct S { bit<4> f; bit<8> g; }
const S s = { 16, 300 };";
    assert_eq!(
        warnings(text),
        [
            "1:18: 256 does not fit bit<8>; the value is 0",
            "2:18: 128 does not fit int<8>; the value is -128",
            "3:18: 17 does not fit bit<4>; the value is 1",
            "7:15: 16 does not fit bit<4>; the value is 0",
            "7:19: 300 does not fit bit<8>; the value is 44",
        ]
    );
}

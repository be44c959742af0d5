//! Tests of statements and calls (sections 8.14 to 8.26, 9, 12, 13 and appendix F).

use crate::support::{accepted, rejected};

/// Returns a P4 program whose last control has the body `body`. The body starts in line 9.
fn control(body: &str) -> String {
    format!(
        "#include <core.p4>
header H {{ bit<8> a; bit<16> b; }}
struct S {{ bit<8> a; bool b; }}
enum E {{ A, B }}
extern void f(in bit<8> a, in bool b = true);
extern X {{ X(); void put(in bit<8> a); void put(in bit<8> a, in bit<8> b); bit<8> get<T>(in T t); }}
bit<8> g(inout bit<8> x, in bit<8> y) {{ x = y; return x; }}
control c(inout bit<8> x, in bit<8> y, inout H h, inout S s, X e, in E n) {{ H[3] k; action act(inout bit<8> v, bit<8> d) {{ v = d; }} apply {{
{body}
}} }}"
    )
}

#[test]
fn calls_match_arguments() {
    // Sections 6.7 and 8.20.
    accepted(&control(
        "f(1); f(x, false); f(b = x == 1, a = y); x = g(x, 1) + g(y = 2, x = h.a); e.put(1); e.put(b = 1, a = 2); act(x, 3); x = e.get<bit<8>>(1) + e.get(y);",
    ));
    for (call, expected) in [
        ("f();", "9:1: 'f': argument 'a' is missing"),
        ("f(1, true, 2);", "9:1: 'f': 3 arguments are given, and 2 are needed"),
        ("f(1, b = true);", "9:1: 'f': either all arguments have names, or none"),
        ("f(a = 1, a = 2);", "9:14: 'f': argument 'a' is given twice"),
        ("f(c = 1);", "9:3: 'f': there is no parameter 'c'"),
        ("f(true);", "9:3: argument 'a' has type bool, and bit<8> is needed"),
        ("f(9w1);", "9:3: argument 'a' has type bit<9>, and bit<8> is needed"),
        ("x = g(1, 2);", "9:7: argument 'x' must be a variable or field that can be written"),
        (
            "x = g(y, 2);",
            "9:7: argument 'x' must be a variable or field that can be written; 'y' is an in parameter, declare it with inout or out",
        ),
        ("e.put();", "9:1: 'put': argument 'a' is missing"),
        ("e.pull();", "9:3: X has no method 'pull'"),
        ("f<bit<8>>(1);", "9:1: 1 type arguments are given, and 0 are needed"),
        ("x();", "9:1: 'x' cannot be called"),
        ("z();", "9:1: 'z' is not declared"),
        ("x = f(1);", "9:5: void is not a value"),
        ("x = e.get(1);", "9:11: argument 't' needs a width; write a cast"),
        ("x = e.get(\"a\");", "9:11: argument 't' cannot be a string"),
        ("f(_);", "9:3: argument 'a' needs a value"),
        ("c.apply(x, y, h, s, e, n);", "9:1: 'c' is not declared"),
        ("NoAction;", "9:9: '=' or '(' expected, found ';'"),
        ("X();", "9:1: X is made and never used; declare an instance"),
    ] {
        rejected(&control(call), expected);
    }
}

#[test]
fn overloads_differ_in_names_or_numbers() {
    // Section 7.2.9.2.
    accepted(
        "extern void f(in bit<8> a);\nextern void f(in bit<8> b);\ncontrol c() { apply { f(a = 1); f(b = 1); } }",
    );
    rejected(
        "extern void f(in bit<8> a);\nextern void f(in bool b);\ncontrol c() { apply { f(1); } }",
        "3:23: several declarations of 'f' fit; name the arguments",
    );
    rejected(
        "extern void f(in bit<8> a);\nextern void f(in bit<9> a);",
        "2:13: 'f' is declared twice with the same parameters",
    );
    rejected(
        "action a(in bit<8> x) { }\naction a(in bit<8> x, in bit<8> y) { }",
        "2:8: 'a' is declared twice in this scope; rename one",
    );
    rejected(
        "parser p(in bit<8> a) { state start { } }\nparser p() { state start { } }",
        "2:8: 'p' is declared twice in this scope; rename one",
    );
}

#[test]
fn callers_may_call() {
    // Appendix F.
    let program = "#include <core.p4>\naction a() { }\ncontrol c() { apply { } }\nparser p(packet_in b) { state start { transition accept; } }\n";
    accepted(&format!(
        "{program}parser q(packet_in b) {{ p() x; state start {{ x.apply(b); p.apply(b); transition accept; }} }}\ncontrol d() {{ c() x; action e() {{ a(); }} apply {{ x.apply(); c.apply(); e(); }} }}"
    ));
    for (rest, expected) in [
        (
            "parser q(packet_in b) { state start { a(); } }",
            "5:39: action 'a' cannot be called here; only controls and actions can call it",
        ),
        (
            "void f() { a(); }",
            "5:12: action 'a' cannot be called here; only controls and actions can call it",
        ),
        (
            "control d(packet_in b) { apply { p.apply(b); } }",
            "5:34: a parser can be applied in states of parsers only",
        ),
        (
            "parser q(packet_in b) { state start { c.apply(); } }",
            "5:39: a control can be applied in the body of a control only",
        ),
        (
            "control d() { action e() { c.apply(); } apply { } }",
            "5:28: a control can be applied in the body of a control only",
        ),
        (
            "control d() { apply { verify(true, error.NoError); } }",
            "5:23: verify can be called in parsers only",
        ),
        (
            "control d() { table t { actions = { a; } } action e() { t.apply(); } apply { } }",
            "5:57: a table can be applied in the body of a control only",
        ),
        ("control T();\ncontrol d() { apply { T.apply(); } }", "6:23: 'T' has no body"),
        (
            "control k()(bit<8> n) { apply { } }\ncontrol d() { apply { k.apply(); } }",
            "6:23: 'k' has constructor parameters; declare an instance",
        ),
        (
            "extern void f<T>(T t);\ncontrol d() { c() x; apply { f(x); } }",
            "6:32: argument 't' cannot be the control c",
        ),
    ] {
        rejected(&format!("{program}{rest}"), expected);
    }
}

#[test]
fn headers_and_stacks_have_methods() {
    // Sections 8.17 and 8.18.
    accepted(&control(
        "if (h.isValid() && !k[1].isValid()) { h.setInvalid(); k[0].setValid(); k.push_front(1); k.pop_front(2); k[x] = h; x = k[2].a; h = (H){#}; bit<32> z = k.size; }",
    ));
    for (body, expected) in [
        ("k[3].setValid();", "9:3: the stack has 3 elements, numbered from 0"),
        ("k[-1].setValid();", "9:3: the stack has 3 elements, numbered from 0"),
        ("k[true].setValid();", "9:3: bool cannot be an index; use a number"),
        ("k.next = h;", "9:3: 'next' is defined in parsers only; use an index"),
        ("x = k.lastIndex;", "9:7: 'lastIndex' is defined in parsers only"),
        (
            "k.push_front(x);",
            "9:14: the number of elements must be known when the program is compiled",
        ),
        ("k.push_front(-1);", "9:14: the number of elements cannot be negative"),
        ("s.setValid();", "9:3: S has no method 'setValid'"),
        ("x = h.c;", "9:7: H has no field 'c'"),
        ("bool b = h.isValid(1);", "9:20: isValid has no arguments"),
        ("x = s;", "9:5: S does not fit bit<8>; use a value of the other type"),
        ("bool b = h == s;", "9:10: H and S cannot be compared with =="),
        ("x[8:1] = 1;", "9:1: bit<8> has no bit 8"),
        (
            "y[3:0] = 1;",
            "9:1: this cannot be assigned to; only variables, fields, and out and inout parameters can; 'y' is an in parameter, declare it with inout or out",
        ),
    ] {
        rejected(&control(body), expected);
    }
    let program = "header H { bit<8> a; }\nheader_union U { H h; H g; }\n";
    accepted(&format!(
        "{program}control c(inout U u) {{ apply {{ if (u.isValid()) {{ u.h.setValid(); }} }} }}"
    ));
    rejected(
        &format!("{program}control c(inout U u) {{ apply {{ u.setValid(); }} }}"),
        "3:34: a header_union has no method 'setValid'; use a header in it",
    );
    rejected(
        &format!("{program}control c(in H h) {{ apply {{ h.setValid(); }} }}"),
        "3:29: this header cannot be changed here",
    );
}

#[test]
fn lists_fit_structs_in_order_and_records_by_name() {
    // Sections 8.12, 8.13 and 8.26.
    accepted(&control(
        "s = {1, true}; s = {b = false, a = 2}; s = (S){a = 1, b = true}; s = {a = 3, ...}; s = ...; h = {1, 2}; tuple<bit<8>, bool> t = {1, true}; x = t[0]; bool b = s == {1, true}; s = {5, ...};",
    ));
    for (body, expected) in [
        ("s = {1};", "9:5: {int} does not fit S; use a value of the other type"),
        ("s = {1, 2};", "9:5: {int, int} does not fit S; use a value of the other type"),
        (
            "s = {a = 1, c = true};",
            "9:5: {a = int, c = bool} does not fit S; use a value of the other type",
        ),
        ("s = {a = 1};", "9:5: {a = int} does not fit S; use a value of the other type"),
        ("s = {a = 1, a = 2};", "9:13: field 'a' is given twice"),
        ("tuple<bit<8>> t = {1}; x = t[1];", "9:30: the tuple has 1 elements, numbered from 0"),
        (
            "tuple<bit<8>> t = {1}; x = t[y];",
            "9:30: the index of a tuple must be a number that is known when the program is compiled",
        ),
        (
            "bool b = {a = 1} == {a = 1};",
            "9:10: {a = int} and {a = int} cannot be compared with ==",
        ),
        ("s = {..., a = 1};", "9:11: '}' expected, found 'a'"),
        ("x = {#};", "9:5: {#} does not fit bit<8>; use a value of the other type"),
    ] {
        rejected(&control(body), expected);
    }
}

#[test]
fn statements_need_fitting_types() {
    // Section 12.
    accepted(&control(
        "if (x == 1) ; else if (s.b) x = 2; else { return; } switch (x) { 1: 2: { x = 3; } default: { } } switch (n) { E.A: { exit; } } x += 1; x <<= 2; x |+|= 3; const bit<8> z = 1; bit<8> v = z;",
    ));
    for (body, expected) in [
        ("if (x) { }", "9:5: bit<8> does not fit bool; use a value of the other type"),
        ("switch (x) { 1: { } 1: { } }", "9:21: the label stands twice"),
        ("switch (x) { default: { } 1: { } }", "9:27: no label can stand after default"),
        ("switch (x) { y: { } }", "9:14: the value must be known when the program is compiled"),
        ("switch (h) { default: { } }", "9:9: switch is not defined for H"),
        ("switch (n) { 1: { } }", "9:14: int does not fit E; use a value of the other type"),
        ("break;", "9:1: break and continue stand in loops only"),
        ("x = 9w1;", "9:5: bit<9> does not fit bit<8>; write a cast, (bit<8>)"),
        ("x += true;", "9:6: bool does not fit bit<8>; write a cast, (bit<8>)"),
        ("bit<8> v = 1; bit<8> v = 2;", "9:22: 'v' is declared twice in this scope; rename one"),
        ("{ bit<8> v = 1; } x = v;", "9:23: 'v' is not declared"),
        ("x = 1", "10:1: ';' expected, found '}'"),
        ("transition accept;", "9:1: an expression expected, found 'transition'"),
    ] {
        rejected(&control(body), expected);
    }
}

#[test]
fn states_select_by_fitting_sets() {
    // Sections 13.4 to 13.6 and 8.15.
    let parser = |state: &str| {
        format!(
            "#include <core.p4>\nheader H {{ bit<8> a; int<8> i; bool b; bit<8> c; }}\nheader V {{ bit<8> a; varbit<32> v; }}\nstruct S {{ bit<8> a; }}\nparser p(packet_in k, out H h, out V v, inout S s, inout H[2] l) {{ value_set<bit<8>>(4) set; state start {{\n{state}\n}} state next {{ }} }}"
        )
    };
    accepted(&parser(
        "k.extract(h); transition select(h.a, h.b) { (1, true): accept; (2 .. 5, _): next; (8 &&& 0xf8, false): reject; default: start; }",
    ));
    accepted(&parser(
        "k.extract(v, 16); k.extract(l.next); k.advance(8); H m = k.lookahead<H>(); transition select(l.last.a) { set: accept; 3: next; }",
    ));
    accepted(&parser(
        "verify(h.a == 1, error.NoMatch); transition select(h.a ++ h.c) { 0x0102: accept; _: next; }",
    ));
    for (state, expected) in [
        (
            "transition select(h.a) { true: accept; }",
            "6:26: bool does not fit bit<8>; write a cast, (bit<8>)",
        ),
        (
            "transition select(h.a) { (1, 2): accept; }",
            "6:26: 2 sets are given, and 1 are needed, one for each key",
        ),
        ("transition select(h.a, h.b) { 1: accept; }", "6:31: 2 sets are needed, one for each key"),
        (
            "transition select(h.a, h.b) { (1 .. true, _): accept; }",
            "6:32: operands of .. must be numbers of one type, not bool",
        ),
        ("transition select(s) { _: accept; }", "6:19: select is not defined for S"),
        ("transition select(1) { _: accept; }", "6:19: select is not defined for int"),
        ("transition select(h.a) { 1: other; }", "6:29: state 'other' is not declared"),
        ("transition select(h.a) { 1: set; }", "6:29: 'set' is not a state"),
        ("k.extract(s);", "6:11: extract needs a header, not S"),
        (
            "k.extract(v);",
            "6:11: header V has a varbit field, so extract needs its size as second argument",
        ),
        ("k.extract(h, 8);", "6:11: header H has no varbit field, so extract has one argument"),
        ("V x = k.lookahead<V>();", "6:7: lookahead needs a type of fixed width, not V"),
        ("switch (h.a) { 1: { } }", "6:1: switch stands in controls and actions only; use select"),
        ("exit;", "6:1: exit stands in controls and actions only"),
    ] {
        rejected(&parser(state), expected);
    }
    rejected(
        "#include <core.p4>\nheader V { varbit<8> a; varbit<8> b; }\nparser p(packet_in k, out V v) { state start { k.extract(v, 8); } }",
        "3:58: header V has 2 varbit fields, and extract supports one",
    );
    rejected(
        "parser p(out error e) { state start { } }",
        "1:14: no error is declared; include core.p4",
    );
}

#[test]
fn type_arguments_are_inferred() {
    // Section 8.20 and 17.1.
    let program = "control C<H, M>(inout H h, in M m);\ncontrol D<H>(inout H h);\nstruct A { }\nstruct B { }\ncontrol c(inout A a, in B b) { apply { } }\ncontrol d(inout A a) { apply { } }\ncontrol e(inout B b) { apply { } }\n";
    accepted(&format!("{program}package P<H, M>(C<H, M> c, D<H> d);\nP(c(), d()) main;"));
    accepted(&format!("{program}package P<H, M>(C<H, M> c, D<_> d);\nP<A, B>(c(), e()) main;"));
    accepted(&format!(
        "{program}control n<T>(inout T t) {{ apply {{ }} }}\npackage P<H, M>(C<H, M> c, D<H> d = n<H>());\nP(c()) main;"
    ));
    rejected(
        &format!("{program}package P<H, M>(C<H, M> c, D<H> d);\nP(c(), e()) main;"),
        "9:8: argument 'd' of 'P' has type control e, and control D<A> is needed",
    );
    rejected(
        &format!("{program}package P<H, M>(C<H, M> c);\nP<B, B>(c()) main;"),
        "9:9: argument 'c' of 'P' has type control c, and control C<B, B> is needed",
    );
    rejected(
        &format!(
            "{program}control n<T>(inout T t) {{ apply {{ }} }}\npackage P<H>(D<H> d = n<H>());\nP() main;"
        ),
        "10:1: type arguments of 'P' cannot be inferred; write them in <…>",
    );
    rejected(
        "extern T f<T>();\ncontrol c() { apply { bit<8> x = f(); } }",
        "2:34: type argument 'T' cannot be inferred; write it in <…>",
    );
}

//! Tests of the grammar, and of the places of its faults.

use crate::support::{accepted, rejected};

/// Returns a control with this body.
fn control(body: &str) -> String {
    format!("control c(inout bit<8> x, inout bit<8> y) {{ apply {{\n{body}\n}} }}")
}

#[test]
fn shifts_are_two_angles_without_space() {
    accepted(&control("x = x >> 1; x = x>>y; x >>= 2;"));
    accepted(&format!("#define RIGHT >>\n#define BY >>=\n{}", control("x = x RIGHT 1; x BY 1;")));
    accepted("struct H<T> { T t; }\nstruct S { H<H<bit<8>>> h; }\nstruct T { H<bit<8> > h; }");
    rejected(&control("x = x > > y;"), "2:9: an expression expected, found '>'");
    rejected(&control("x > >= y;"), "2:3: '=' or '(' expected, found '>'");
}

#[test]
fn a_typedef_can_declare_its_type() {
    // Section 7.4.
    accepted("typedef struct P { int<8> x; } Q;\nconst P p = {1};\nconst Q q = p;");
    accepted("typedef @a header P { } Q;\nheader_union U { P p; Q q; }\ntypedef enum E { A } F;");
    accepted(
        "typedef enum bit<8> E { A = 1 } F;\nconst bit<8> a = F.A ++ 4w0 == 12w16 ? 8w1 : E.A;",
    );
    rejected("typedef struct P { } P;", "1:22: 'P' is declared twice in this scope; rename one");
    rejected("type struct P { } Q;", "1:6: a type expected, found 'struct'");
}

#[test]
fn underscores_stand_for_type_arguments() {
    // Section 7.2.14.
    let register = "extern R<T, I> { R(T t, I i); T read(in I i); }\n";
    let program = |rest: &str| format!("{register}{rest}");
    accepted(&program(
        "extern A { A(R<_, _> r); void f(R<_, bit<8>> r); }\ncontrol c() { R(8w1, 8w2) a; R(8w1, 9w2) b; A(a) x; A(b) y; apply { x.f(a); } }",
    ));
    accepted(&program("control c() { R<_, bit<8>>(1w1, 2) r; apply { bit x = r.read(2); } }"));
    rejected(&program("extern A { A(_ r); }"), "2:14: _ can stand for a type argument only");
    rejected(&program("struct S { _ r; }"), "2:12: _ can stand for a type argument only");
    rejected(
        &program(
            "extern A { A(R<_, bit<9>> r); }\ncontrol c() { R(8w1, 8w2) a; A(a) x; apply {} }",
        ),
        "3:32: argument 'r' of 'A' has type R<bit<8>, bit<8>>, and R<_, bit<9>> is needed",
    );
}

//! Tests of types and declarations (sections 6, 7, 10, 11 and 20).

use crate::support::{accepted, rejected};

#[test]
fn containers_have_permitted_elements() {
    // Section 7.2.8.
    accepted(
        "enum E { A }\nenum bit<8> F { A = 1 }\nerror { X }\nheader H { bit<8> a; int<8> b; bool c; F d; varbit<32> e; }\nstruct T { bit<1> a; }\nheader G { T t; }\nheader_union U { H h; G g; }\nstruct S { H h; H[3] s; U u; U[2] v; T t; E e; error x; tuple<bit<8>, E> p; }",
    );
    let fields = "enum E { A }\nerror { X }\nheader H { bit<8> a; }\nstruct S { error x; }\n";
    for (field, expected) in [
        ("header G { E e; }", "5:14: header 'G' cannot have field 'e' of type E"),
        ("header G { H h; }", "5:14: header 'G' cannot have field 'h' of type H"),
        ("header G { S s; }", "5:14: header 'G' cannot have field 's' of type S"),
        ("header G { error x; }", "5:18: header 'G' cannot have field 'x' of type error"),
        (
            "header G { tuple<bit<1>> x; }",
            "5:26: header 'G' cannot have field 'x' of type tuple<bit<1>>",
        ),
        ("header_union G { S s; }", "5:20: header_union 'G' cannot have field 's' of type S"),
        (
            "header_union G { bit<8> x; }",
            "5:25: header_union 'G' cannot have field 'x' of type bit<8>",
        ),
        ("struct G { int x; }", "5:16: struct 'G' cannot have field 'x' of type int"),
        ("struct G { void x; }", "5:17: struct 'G' cannot have field 'x' of type void"),
        ("typedef tuple<match_kind> G;", "5:15: match_kind cannot be an element"),
        ("struct G { G g; }", "5:12: 'G' is not declared"),
        ("struct G { bit<1> a; bit<1> a; }", "5:29: field 'a' is declared twice"),
    ] {
        rejected(&format!("{fields}{field}"), expected);
    }
    accepted("match_kind { exact }\nconst list<match_kind> k = {exact};");
}

#[test]
fn widths_are_known_numbers() {
    // Section 7.1.6.
    accepted(
        "const int W = 4;\nconst bit<(W + 4)> a = 255;\nconst bit<0> b = 0;\nconst int<1> c = -1;",
    );
    rejected("const int<0> a = 0;", "1:11: 0 is not a number from 1 to 1048576");
    rejected("const bit<(1 - 2)> a = 0;", "1:11: -1 is negative");
    rejected(
        "control c(in bit<8> x) { bit<x> a; apply { } }",
        "1:30: a number that is known when the program is compiled is needed here",
    );
    rejected("const bit<0> a = 0w1;", "1:18: number '0w1' does not fit its width");
}

#[test]
fn new_types_differ_from_their_base() {
    // Sections 7.4, 7.5 and 8.23.
    accepted(
        "type bit<9> P;\ntypedef bit<9> Q;\nconst P p = (P)9w1;\nconst Q q = 9w1;\nconst bit<9> b = (bit<9>)p + q;\nconst bool e = p == (P)1;",
    );
    for (rest, expected) in [
        ("const P p = 9w1;", "2:13: bit<9> does not fit P; write a cast, (P)"),
        ("const bit<9> b = (P)1;", "2:18: P does not fit bit<9>; write a cast, (bit<9>)"),
        ("const P p = (P)8w1;", "2:13: bit<8> cannot be cast to P"),
        ("const bit<8> b = (bit<8>)(P)1;", "2:18: P cannot be cast to bit<8>"),
        ("const P p = (P)1 + (P)1;", "2:13: operator + is not defined for P"),
        ("typedef void V;", "2:9: void cannot have another name"),
        ("type error V;", "2:6: no error is declared; include core.p4"),
    ] {
        rejected(&format!("type bit<9> P;\n{rest}"), expected);
    }
    rejected(
        "struct S { }\ntype S T;",
        "2:6: a new type cannot be made of S; only of bit, int, bool, varbit and serializable enums",
    );
}

#[test]
fn enums_have_values_that_fit() {
    // Section 7.2.1.
    accepted(
        "enum bit<8> E { A = 255, B = 0, C = 8w3 }\nenum F { A, B }\nconst F f = F.B;\nconst bit<8> b = E.A;\nconst E e = (E)7;",
    );
    rejected("enum bit<8> E { A = 256 }", "1:21: 256 does not fit bit<8>");
    rejected("enum int<8> E { A = -129 }", "1:21: -129 does not fit int<8>");
    rejected("enum bit<8> E { A }", "1:17: member 'A' needs a value, because the enum has a type");
    rejected("enum E { A = 1 }", "1:14: member 'A' has a value, but the enum has no type");
    rejected("enum E { A, A }", "1:13: member 'A' is declared twice");
    rejected("enum bool E { A = true }", "1:6: an enum can have a bit or int type, not bool");
    rejected(
        "enum bit<8> E { A = 1 }\nconst E e = 1;",
        "2:13: int does not fit E; use a value of the other type",
    );
    rejected("enum E { A }\nconst E e = E.B;", "2:15: enum E has no member 'B'");
}

#[test]
fn generic_types_need_all_arguments() {
    // Section 7.2.10.
    accepted(
        "struct S<T> { T f; }\nstruct G<T> { S<T> s; }\nheader H<T> { T f; }\nconst G<bit<8>> g = {s = {f = 1}};\nstruct D { H<bit<8>>[2] h; }",
    );
    rejected(
        "struct S<T> { T f; }\ntypedef S X;",
        "2:9: 'S' has 1 type parameters, and 0 type arguments are given",
    );
    rejected(
        "struct S<T> { T f; }\ntypedef S<bit<8>, bit<8>> X;",
        "2:9: 'S' has 1 type parameters, and 2 type arguments are given",
    );
    rejected(
        "header H<T> { T f; }\nerror { A }\ntypedef H<error> X;",
        "3:9: field 'f' of H<error> cannot have the type error",
    );
    rejected("struct S<T> { T<bit<8>> f; }", "1:15: type parameter 'T' has no type parameters");
}

#[test]
fn names_are_declared_once_and_before_their_use() {
    // Sections 6.5.1 and 6.8.
    accepted(
        "const bit<4> x = 1;\ncontrol p() { const bit<8> x = 8; const bit<4> y = .x; const bit<8> z = x; apply { } }",
    );
    rejected(
        "const bit<4> x = 1;\nconst bit<8> x = 1;",
        "2:14: 'x' is declared twice in this scope; rename one",
    );
    rejected("const bit<4> x = y;\nconst bit<4> y = 1;", "1:18: 'y' is not declared");
    rejected("control c() { action a() { a(); } apply { } }", "1:28: 'a' is not declared");
    rejected("bit<8> f(in bit<8> x) { return f(x); }", "1:32: 'f' is not declared");
    rejected("control c() { c() x; apply { } }", "1:15: 'c' is not declared");
    rejected(
        "parser p() { state start { } state start { } }",
        "1:36: 'start' is declared twice in this scope; rename one",
    );
    rejected("parser p() { state begin { } }", "1:8: parser 'p' has no state 'start'");
    rejected(
        "parser p() { state start { transition next; } }",
        "1:39: state 'next' is not declared",
    );
    rejected(
        "parser p() { state start { } state accept { } }",
        "1:36: state 'accept' is part of the language; rename this one",
    );
    rejected("error { A }\nerror { A }", "2:9: error 'A' is declared twice");
    rejected("match_kind { a }\nmatch_kind { a }", "2:14: match_kind 'a' is declared twice");
}

#[test]
fn functions_return_values_on_all_paths() {
    // Sections 10 and 12.4.
    accepted(
        "bit<8> f(in bool c) { if (c) { return 1; } else { return 2; } }\nvoid g() { return; }\nvoid h() { }",
    );
    rejected(
        "bit<8> f(in bool c) { if (c) { return 1; } }",
        "1:8: function 'f' does not return a value on all paths",
    );
    rejected("bit<8> f() { return; }", "1:14: a value of type bit<8> must be returned");
    rejected("void f() { return 1; }", "1:19: no value can be returned here");
    rejected(
        "bit<8> f() { return true; }",
        "1:21: bool does not fit bit<8>; write a cast, (bit<8>)",
    );
    rejected("int f() { return 1; }", "1:1: a function cannot return int");
    rejected("void f() { exit; }", "1:12: exit stands in controls and actions only");
    rejected(
        "parser p() { state start { return; } }",
        "1:28: return stands in functions, actions and controls only",
    );
}

#[test]
fn directions_restrict_types() {
    // Sections 6.7 and 14.1.
    accepted(
        "extern E { E(); }\ncontrol c(E e, in bit<8> a, out bit<8> b, inout bool d)(int n, string s) { apply { b = a; } }",
    );
    rejected(
        "extern E { E(); }\ncontrol c(in E e) { apply { } }",
        "2:16: an in parameter cannot have the type E here",
    );
    rejected(
        "extern E { E(); }\ncontrol c() { action a(E e) { } apply { } }",
        "2:26: a parameter cannot have the type E here",
    );
    rejected(
        "control c(inout int x) { apply { } }",
        "1:21: an inout parameter cannot have the type int here",
    );
    rejected(
        "control c(out bit<8> x = 1) { apply { } }",
        "1:26: out and inout parameters cannot have default values",
    );
    rejected(
        "control c() { action a(bit<8> x, in bit<8> y) { } apply { } }",
        "1:44: parameter 'y' has a direction, and must stand before those without",
    );
    rejected(
        "control c(in bit<8> x) { apply { x = 1; } }",
        "1:34: this cannot be assigned to; only variables, fields, and out and inout parameters can; 'x' is an in parameter, declare it with inout or out",
    );
    rejected(
        "const bit<8> k = 1;\ncontrol c() { apply { k = 2; } }",
        "2:23: this cannot be assigned to; only variables, fields, and out and inout parameters can",
    );
}

#[test]
fn optional_parameters_stand_in_interfaces_only() {
    // Section 6.7.2.
    accepted(
        "extern void f(@optional in bit<8> x);\ncontrol C(@optional in bit<8> x);\npackage P(@optional C c);\nP() main;",
    );
    rejected(
        "void f(@optional in bit<8> x) { }",
        "1:9: a function with a body cannot have optional parameters",
    );
    rejected(
        "control c() { action a(@optional bit<8> x) { } apply { } }",
        "1:25: an action cannot have optional parameters",
    );
    rejected(
        "control c()(@optional bit<8> x) { apply { } }",
        "1:14: a constructor with a body cannot have optional parameters",
    );
    rejected(
        "extern void f(@optional in bit<8> x = 1);",
        "1:39: an optional parameter cannot have a default value",
    );
}

#[test]
fn instances_have_their_places() {
    // Section 11.3 and appendix F.
    let program = "control T();\npackage P(T t);\ncontrol c() { apply { } }\nextern E { E(); }\n";
    accepted(&format!(
        "{program}E() e;\ncontrol d() {{ c() x; E() y; apply {{ x.apply(); }} }}\nP(d()) main;"
    ));
    for (rest, expected) in [
        ("c() x;", "5:1: control c cannot have an instance outside of parsers and controls"),
        (
            "control d() { apply { c() x; } }",
            "5:23: an instance cannot stand between statements; move it before apply, or before the states",
        ),
        ("parser p() { c() x; state start { } }", "5:14: control c cannot have an instance here"),
        ("control d() { P(c()) x; apply { } }", "5:15: package P cannot have an instance here"),
        ("control d() { T() x; apply { } }", "5:15: 'T' has no body, so it has no instances"),
        (
            "control d()(c x) { apply { } }",
            "5:15: a constructor parameter cannot have the type control c here",
        ),
        (
            "parser p()(T x) { state start { } }",
            "5:14: a constructor parameter cannot have the type control T here",
        ),
        ("E() main;", "5:5: main must be an instance of a package"),
        ("extern main { }", "5:8: main must be an instance of a package"),
        ("P() main;", "5:1: argument 't' is missing"),
        ("P(E()) main;", "5:3: argument 't' of 'P' has type E, and control T is needed"),
        (
            "control d(in bool b) { apply { } }\nP(d()) main;",
            "6:3: argument 't' of 'P' has type control d, and control T is needed",
        ),
    ] {
        rejected(&format!("{program}{rest}"), expected);
    }
}

#[test]
fn instances_define_abstract_methods() {
    // Section 11.3.1.
    let program = "extern E<T> { E(T t); abstract T f(in T x); bit<8> g(); }\n";
    accepted(&format!(
        "{program}E(8w1) e = {{ bit<8> f(in bit<8> x) {{ return x + this.g(); }} }};"
    ));
    for (rest, expected) in [
        ("E(8w1) e;", "2:8: 'e' must define the abstract method 'f'"),
        (
            "E(8w1) e = { bit<8> f(in bit<9> x) { return 1; } };",
            "2:21: the parameters of 'f' differ from those of the abstract method",
        ),
        (
            "E(8w1) e = { bit<8> f(inout bit<8> x) { return 1; } };",
            "2:21: the parameters of 'f' differ from those of the abstract method",
        ),
        (
            "E(8w1) e = { bit<9> f(in bit<8> x) { return 1; } };",
            "2:21: the parameters of 'f' differ from those of the abstract method",
        ),
        ("extern F { F(); }\nF() e = { void f() { } };", "3:5: F has no abstract methods"),
    ] {
        rejected(&format!("{program}{rest}"), expected);
    }
}

#[test]
fn annotations_have_fitting_bodies() {
    // Section 20.
    accepted(
        "@my(1) @my(x + } (y)) @empty[] @list[1, \"a\", true, 1 + 2] @pairs[a=1, b=\"c\",] @name(\"a\" ++ \"b\") const bit<8> x = 1;",
    );
    for (annotations, expected) in [
        ("@a[1] @a[2]", "1:8: '@a' stands twice; only unstructured annotations can"),
        ("@a(1) @a[2]", "1:8: '@a' stands twice; only unstructured annotations can"),
        ("@a[k=1, k=2]", "1:9: key 'k' is given twice"),
        ("@a[k=1, 2]", "1:9: a name expected, found '2'"),
        (
            "@a[8w1]",
            "1:4: a value of an annotation is a number without a width, a string or a truth value, not bit<8>",
        ),
        (
            "@a[{1, 2}]",
            "1:4: a value of an annotation is a number without a width, a string or a truth value, not {int, int}",
        ),
        ("@a[y]", "1:4: 'y' is not declared"),
        ("@name(4)", "1:2: @name needs a string in parentheses"),
        ("@deprecated", "1:2: @deprecated needs a string in parentheses"),
        ("@name(\"a\") @hidden", "1:13: a second @name or @hidden; remove it"),
        ("@a(1", "1:3: '(' has no closing bracket"),
    ] {
        rejected(&format!("{annotations} const bit<8> x = 1;"), expected);
    }
    accepted("match_kind { exact }\nstruct S { @match(exact) bit<8> x; }");
    rejected(
        "struct S { @match(exact) bit<8> x; }",
        "1:13: @match needs a match_kind in parentheses",
    );
}

#[test]
fn types_and_values_have_limited_sizes() {
    let doubled = |first: &str, next: fn(usize) -> String| {
        (1..40).fold(first.to_owned(), |text, at| format!("{text}\n{}", next(at)))
    };
    let parts = "the type has more than 16384 parts or 64 levels";
    rejected(
        &doubled("struct S0 { bit<8> a; }", |at| {
            let last = at - 1;
            format!("struct S{at} {{ S{last} a; S{last} b; }}")
        }),
        &format!("14:25: {parts}"),
    );
    rejected(
        &doubled("typedef tuple<bit, bit> T0;", |at| {
            let last = at - 1;
            format!("typedef tuple<T{last}, T{last}> T{at};")
        }),
        &format!("14:9: {parts}"),
    );
    let levels = (1..100)
        .fold("type bit<8> T0;".to_owned(), |text, at| format!("{text}\ntype T{} T{at};", at - 1));
    rejected(&levels, &format!("64:6: {parts}"));
    rejected(
        &doubled("const int N0 = 3;", |at| {
            let last = at - 1;
            format!("const int N{at} = N{last} * N{last};")
        }),
        "17:17: the number has more than 65536 bits",
    );
    rejected(
        &doubled("const list<int> L0 = {1, 1};\ntypedef list<int> T0;", |at| {
            let last = at - 1;
            format!("typedef list<T{last}> T{at}; const T{at} L{at} = {{L{last}, L{last}}};")
        }),
        "15:40: the value has more than 16384 parts",
    );
}

/// Checks that a literal without a width can have a type that a `type` declaration introduces
/// (section 7.2.8 of the specification).
#[test]
fn a_number_without_a_width_takes_a_new_type() {
    accepted("type bit<10> id_t; const id_t DEFAULT = 0;");
    rejected(
        "type bit<10> id_t; const id_t DEFAULT = 10w0;",
        "1:41: bit<10> does not fit id_t; write a cast, (id_t)",
    );
}

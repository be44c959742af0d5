//! Tests of the grammar, and of the positions of syntax errors.

use proptest::prelude::*;

use crate::support::{accepted, checked, rejected, run};

/// Returns the source text of a P4 control with the body `body`.
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

#[test]
fn expressions_bind_as_in_the_grammar() {
    // Section 8 and appendix G.
    for (written, meant) in [
        ("1 + 2 * 3", "1 + (2 * 3)"),
        ("10 - 4 - 3", "(10 - 4) - 3"),
        ("1 << 2 + 1", "1 << (2 + 1)"),
        ("-1 + 2", "(-1) + 2"),
        ("8w5 & 8w3 == 8w1 ? 1 : 2", "((8w5 & 8w3) == 8w1) ? 1 : 2"),
        ("8w1 ++ 8w2 + 3", "(8w1 ++ 8w2) + 3"),
        ("8w1 | 8w2 ^ 8w3 & 8w4", "8w1 | (8w2 ^ (8w3 & 8w4))"),
        ("true || false && false ? 1 : 2", "(true || (false && false)) ? 1 : 2"),
        ("1 < 2 == true ? 1 : 2", "((1 < 2) == true) ? 1 : 2"),
        ("(bit<8>) 1 + 2", "((bit<8>) 1) + 2"),
        ("8w0xf0[7:4] + 1", "(8w0xf0[7:4]) + 1"),
    ] {
        accepted(&format!(
            "#include <core.p4>\nconst bool a = static_assert(({written}) == ({meant}));"
        ));
    }
}

#[test]
fn angles_are_comparisons_or_arguments() {
    accepted(
        "const int a = 1;\nconst int b = 2;\nconst bool c = a < b && (b > a);\nconst bool d = a < b && b > (a);",
    );
    accepted(
        "extern T f<T>(in T x);\ncontrol c(inout bit<8> x) { apply { x = f<bit<8>>(x); bool b = x < (x) && x > (x); x = f<bit<(1 + 7)>>(x); } }",
    );
    accepted(
        "struct S<T> { T f; }\ncontrol c() { apply { S<S<bit<8>>> s; S<bit<8>> t = (S<bit<8>>){1}; s.f = t; } }",
    );
}

#[test]
fn trailing_commas_and_empty_declarations_are_permitted() {
    // Section 6.3.4.
    accepted(
        "error { A, B, };\nmatch_kind { a, };\nenum E { A, B, };\nstruct S<T, > { T f; };;\nvoid f(in bit<8> x, in bit<8> y,) { }\ncontrol c() { apply { f(1, 2,); tuple<bit<8>, bool,> t = {1, true,}; } };",
    );
}

#[test]
fn faults_name_the_first_wrong_token() {
    for (program, expected) in [
        ("control c() { apply { }", "1:24: '}' expected, found the end of the program"),
        ("control c() { }", "1:15: a type expected, found '}'"),
        ("struct S { bit<8> a }", "1:21: ';' expected, found '}'"),
        ("const bit<8> = 1;", "1:14: a name expected, found '='"),
        (
            "bit<8> x;",
            "1:8: variable 'x' stands outside of controls and parsers; add const, or move it",
        ),
        ("header action { }", "1:8: a name expected, found 'action'"),
        ("\"text\"", "1:1: a declaration expected, found a string"),
        ("const bit<8> a = (1;", "1:20: ')' expected, found ';'"),
        ("const bit<8> a = 9w;", "1:18: '9w' is not a number"),
        ("const int a = .1;", "1:15: an expression expected, found '.'"),
        ("typedef list<int, int> L;", "1:13: list has one type argument"),
    ] {
        let fault = checked(program);
        assert!(
            fault.first().is_some_and(|fault| fault.starts_with(&format!("a.p4:{expected}"))),
            "{program}: {fault:?}"
        );
    }
}

#[test]
fn depth_and_length_are_limited() {
    let nested = |open: &str, close: &str, count| {
        format!("const int a = {}1{};", open.repeat(count), close.repeat(count))
    };
    accepted(&nested("(", ")", 40));
    let programs = [
        nested("(", ")", 5_000),
        nested("-", "", 5_000),
        nested("(bit<8>)", "", 5_000),
        nested("true ? ", " : 1", 5_000),
        nested("{", "}", 5_000),
        nested("1 + ", "", 5_000),
        nested("f(", ")", 5_000),
        nested("1[", "]", 5_000),
        format!("const int a = b{};", ".c".repeat(5_000)),
        format!("const int a = b{};", "[1]".repeat(5_000)),
        format!("const {}bit<8>{} a = 1;", "tuple<".repeat(5_000), ">".repeat(5_000)),
        format!("const bit<8>{} a = 1;", "[1]".repeat(5_000)),
        format!("const bit<{}1{}> a = 1;", "(".repeat(5_000), ")".repeat(5_000)),
        format!("@a[{}1{}] const bit<8> b = 1;", "(".repeat(5_000), ")".repeat(5_000)),
        format!("@a({}1{}) const bit<8> b = c;", "(".repeat(5_000), ")".repeat(5_000)),
        control(&"{".repeat(5_000)),
        control(&"if (true) ".repeat(5_000)),
        control(&format!("{}{{ }}", "if (true) { } else ".repeat(5_000))),
        control(&"switch (x) { 1: {".repeat(5_000)),
        control(&"for (;;) ".repeat(5_000)),
        control(&"@a {".repeat(5_000)),
        "typedef ".repeat(5_000),
        "extern X { ".repeat(5_000),
        "parser p() { state start { transition select(".repeat(5_000),
    ];
    for program in &programs {
        let faults = checked(program);
        assert!(!faults.is_empty(), "{}", &program[..100]);
    }
}

/// Returns the name and source text of each example program, before preprocessing.
fn examples() -> Vec<(String, String)> {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR")).join("../../examples/p4");
    let mut found: Vec<(String, String)> = std::fs::read_dir(&folder)
        .expect("a folder")
        .map(|entry| {
            let path = entry.expect("an entry").path();
            let name = path.file_name().expect("a name").to_string_lossy().into_owned();
            (name, std::fs::read_to_string(&path).expect("a program"))
        })
        .filter(|(name, _)| name.ends_with(".p4"))
        .collect();
    found.sort();
    assert!(found.len() >= 5);
    found
}

#[test]
fn examples_are_accepted() {
    for (name, text) in examples() {
        assert_eq!(checked(&text), Vec::<String>::new(), "{name}");
    }
}

/// A random change of a program's tokens. The numbers select tokens.
#[derive(Clone, Debug)]
enum Change {
    Delete(usize),
    Double(usize),
    Swap(usize, usize),
    Copy(usize, usize),
    Cut(usize),
}

fn change() -> impl Strategy<Value = Change> {
    prop_oneof![
        4 => any::<usize>().prop_map(Change::Delete),
        4 => any::<usize>().prop_map(Change::Double),
        4 => any::<(usize, usize)>().prop_map(|(a, b)| Change::Swap(a, b)),
        4 => any::<(usize, usize)>().prop_map(|(a, b)| Change::Copy(a, b)),
        1 => any::<usize>().prop_map(Change::Cut),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(600))]

    #[test]
    fn changed_programs_have_places_for_their_faults(
        example in any::<usize>(),
        changes in prop::collection::vec(change(), 1..6),
    ) {
        let examples = examples();
        let (_, text) = &examples[example % examples.len()];
        let (mut tokens, sources) = run(text).expect("an example");
        let end = tokens.pop().expect("the end");
        for change in changes {
            // The program stands after its headers.
            let own = tokens.iter().position(|token| token.span.file == 0).unwrap_or(tokens.len());
            let count = tokens.len() - own;
            if count == 0 {
                break;
            }
            let at = |number: usize| own + number % count;
            match change {
                Change::Delete(a) => drop(tokens.remove(at(a))),
                Change::Double(a) => tokens.insert(at(a), tokens[at(a)].clone()),
                Change::Swap(a, b) => tokens.swap(at(a), at(b)),
                Change::Copy(a, b) => {
                    let copy = tokens[at(b)].text.clone();
                    let kind = tokens[at(b)].kind;
                    let token = &mut tokens[at(a)];
                    (token.text, token.kind) = (copy, kind);
                }
                Change::Cut(a) => tokens.truncate(at(a)),
            }
        }
        tokens.push(end);
        let faults = match slowpath_p4::parse(&tokens) {
            Err(fault) => vec![fault],
            Ok(program) => slowpath_p4::check(&program).err().unwrap_or_default(),
        };
        for fault in faults {
            let file = &sources.files[fault.span.file as usize];
            let line = file.text.split('\n').nth(fault.span.line as usize - 1);
            let length = line.expect("a line of the file").chars().count();
            prop_assert!((1..=length as u32 + 1).contains(&fault.span.column), "{:?}", fault);
            prop_assert!(fault.span.end >= (fault.span.line, fault.span.column), "{:?}", fault);
            prop_assert!(!fault.message.is_empty() && !fault.message.contains('\n'), "{:?}", fault);
        }
    }
}

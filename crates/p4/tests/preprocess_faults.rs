//! Tests of preprocessor errors: each has a position, and no text makes the preprocessor panic,
//! hang or use unlimited memory.

use proptest::prelude::*;
use slowpath_codes as codes;
use slowpath_p4::token::TokenKind;

use crate::support::{fault, run};

#[test]
fn faults_have_places() {
    for (program, expected) in [
        ("a\n  #if 1", "a.p4:2:3: condition has no #endif"),
        ("#if 0\n#if 1\n#endif", "a.p4:1:1: condition has no #endif"),
        ("#else", "a.p4:1:1: #else has no #if"),
        ("#endif", "a.p4:1:1: #endif has no #if"),
        ("#if 1\n#else\n#elif 1\n#endif", "a.p4:3:1: #elif follows #else"),
        ("#if 0\n#else\n#else\n#endif", "a.p4:3:1: #else follows #else"),
        ("#if\n#endif", "a.p4:1:1: #if has no condition"),
        ("#if 1 +\n#endif", "a.p4:1:1: condition is incomplete"),
        ("#if (1\n#endif", "a.p4:1:1: condition is incomplete"),
        ("#if 1 2\n#endif", "a.p4:1:7: '2' does not fit"),
        ("#if 1 / 0\n#endif", "a.p4:1:7: condition divides by zero"),
        ("#if 8w1\n#endif", "a.p4:1:5: '8w1' is not a number"),
        ("#ifdef\n#endif", "a.p4:1:1: #ifdef has no name"),
        ("#ifdef 1\n#endif", "a.p4:1:1: #ifdef has no name"),
        ("#define", "a.p4:1:1: #define has no name"),
        ("#define 1 2", "a.p4:1:9: '1' cannot be the name"),
        ("#define defined", "a.p4:1:9: 'defined' cannot be the name"),
        ("#define F(1) 2", "a.p4:1:11: parameters of a macro must be different names"),
        ("#define F(x", "a.p4:1:10: parameters of a macro must be different names"),
        ("#define F(x, x) 1", "a.p4:1:14: parameters of a macro must be different names"),
        ("#define F(x,) 1", "a.p4:1:13: parameters of a macro must be different names"),
        ("#define F(x) #y", "a.p4:1:14: '#' needs a parameter"),
        ("#define F ## x", "a.p4:1:11: '##' needs a token"),
        ("#define F(x) x\nF(", "a.p4:2:1: arguments of macro F have no ')'"),
        ("#define F(x) x\n F(1, 2)", "a.p4:2:2: macro F has 2 arguments, not 1"),
        ("#define F() x\n F(1)", "a.p4:2:2: macro F has 1 arguments, not 0"),
        ("a\n#error set\t'A'  ", "a.p4:2:1: #error set\\t'A'"),
        ("#foo", "a.p4:1:1: directive #foo is unknown"),
        ("#include", "a.p4:1:1: #include has no"),
        ("#include <core.p4", "a.p4:1:1: #include has no"),
    ] {
        let message = fault(program);
        assert!(message.starts_with(expected), "{program:?}: {message}");
        let (error, _) = run(program).expect_err("a fault");
        assert_eq!(error.code, codes::P4_PREPROCESSOR, "{program:?}");
    }
}

#[test]
fn texts_without_tokens_are_faults() {
    for (program, expected) in [
        ("a é", "a.p4:1:3: P4 does not use the character 'é'"),
        ("a '", "a.p4:1:3: P4 does not use the character '\\''"),
        ("a\0", "a.p4:1:2: P4 does not use the character '\\0'"),
        ("\n\"a\nb", "a.p4:2:1: string has no closing"),
        ("a /* b\n", "a.p4:1:3: comment has no '*/'"),
        ("a /*/", "a.p4:1:3: comment has no '*/'"),
        ("a # b", "a.p4:1:3: '#' must be the first"),
        ("12abc", "a.p4:1:1: '12abc' is not a number"),
        ("0x", "a.p4:1:1: '0x' is not a number"),
        ("8w", "a.p4:1:1: '8w' is not a number"),
        ("0b12", "a.p4:1:1: '0b12' is not a number"),
        ("1_0w5", "a.p4:1:1: '1_0w5' is not a number"),
    ] {
        let message = fault(program);
        assert!(message.starts_with(expected), "{program:?}: {message}");
        assert_eq!(run(program).expect_err("a fault").0.code, codes::P4_SYNTAX, "{program:?}");
    }
}

#[test]
fn missing_files_are_faults() {
    for program in ["#include \"missing.p4\"", "#include <missing.p4>", "#include <pna.p4>"] {
        let (error, sources) = run(program).expect_err("a fault");
        assert_eq!(error.code, codes::P4_INCLUDE_NOT_FOUND);
        assert!(error.render(&sources).ends_with(".p4 not found; name its folder with -I"));
    }
    assert!(fault("#include \"a.p4\"").contains("a.p4:1:10: "), "the test names no file");
}

#[test]
fn growth_ends_with_a_fault() {
    let doubling = |last: &str, body: fn(usize) -> String| {
        let lines: Vec<_> =
            (0..64).map(|i| format!("#define {} {}", name(i, "x"), body(i + 1))).collect();
        format!("{}\n#define {} {last}\n{}", lines.join("\n"), name(64, "x"), name(0, "y"))
    };
    fn name(i: usize, param: &str) -> String {
        format!("F{i}({param})")
    }
    let programs = [
        doubling("x", |i| format!("{} {}", name(i, "x"), name(i, "x"))),
        doubling("", |i| format!("{} {}", name(i, "x"), name(i, "x"))),
        doubling("x", |i| name(i, "x x")),
        doubling("x", |i| format!("F{i}(x##x)")),
        doubling("#x", |i| format!("F{i}(x \"\\\" \")")),
        "#define S(x) #x\n#define T(x) S(x)\n".to_string()
            + &"T(".repeat(150)
            + "\"\\\""
            + "\""
            + &")".repeat(150),
    ];
    for program in &programs {
        match run(program) {
            Ok((tokens, _)) => assert!(tokens.len() < 100, "{program}"),
            Err((error, _)) => assert!(error.message.contains("more than 4000000"), "{error:?}"),
        }
    }
    assert!(run(&programs[0]).is_err() && run(&programs[1]).is_err());
}

#[test]
fn depth_ends_with_a_fault() {
    let n = 100_000;
    let nested = format!("#define F(x) x\n{}1{}", "F(".repeat(n), ")".repeat(n));
    assert!(fault(&nested).contains("more than"));
    let nested = format!("#define F(x) x\n{}1{}", "F(".repeat(201), ")".repeat(201));
    assert!(fault(&nested).contains("more than 200 deep"));
    for open in ["(", "!", "-", "1 ? ", "1 + (", "F("] {
        let condition = format!("#define F(x) x\n#if {}1\n#endif", open.repeat(n));
        run(&condition).expect_err("the condition is too deep or incomplete");
    }
    let conditions = "#if 1\n".repeat(n) + &"#endif\n".repeat(n);
    run(&conditions).expect("conditions may be nested");
    let skipped = "#if 0\n".repeat(n) + &"#endif\n".repeat(n);
    run(&skipped).expect("skipped conditions may be nested");
}

/// Generates texts that resemble programs.
fn text() -> impl Strategy<Value = String> {
    let pieces = vec![
        "#",
        "##",
        "#define ",
        "#if ",
        "#ifdef ",
        "#elif ",
        "#else",
        "#endif",
        "#include ",
        "#undef ",
        "#line ",
        "#error",
        "defined",
        "F",
        "(",
        ")",
        "x",
        ",",
        "...",
        "__VA_ARGS__",
        "__LINE__",
        "1",
        "0x",
        "8w",
        "\"",
        "'",
        "\\",
        "\n",
        "\n",
        "\n",
        "\r\n",
        " ",
        "/*",
        "*/",
        "//",
        "@pragma",
        "@",
        "<",
        ">",
        "<core.p4>",
        "?",
        ":",
        "/",
        "%",
        "é",
        "\u{feff}",
        "\0",
        "!",
        "&&",
        "F(x) x",
        "F(F(",
    ];
    let pieces = prop::collection::vec(prop::sample::select(pieces), 0..60);
    prop_oneof![pieces.prop_map(|pieces| pieces.concat()), any::<String>()]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(3000))]

    #[test]
    fn any_text_is_tokens_or_a_fault_with_a_place(text in text()) {
        match run(&text) {
            Ok((tokens, sources)) => {
                prop_assert_eq!(tokens.last().map(|token| token.kind), Some(TokenKind::End));
                for token in &tokens {
                    prop_assert!((token.span.file as usize) < sources.files.len());
                    prop_assert!(token.span.end >= (token.span.line, token.span.column));
                    prop_assert!(token.kind == TokenKind::Text || !token.text.contains([' ', '\n', '\\']));
                }
            }
            Err((error, sources)) => {
                let message = error.render(&sources);
                prop_assert!(message.contains(".p4:") && !message.contains('\n'), "{}", message);
            }
        }
    }
}

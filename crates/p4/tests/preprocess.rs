//! Tests of conditions and macros, and a comparison with the C preprocessor of the host's compiler.

use std::cell::Cell;
use std::io::Write;
use std::process::{Command, Stdio};

use proptest::prelude::*;
use proptest::test_runner::TestRunner;
use slowpath_oracle::{Oracle, random_cases};

use crate::support::{run, show, shown};

/// Python script that prints the command of the host's C compiler.
const FINDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/slowpath/core/programs/compilers.py");

#[test]
fn macros_without_parameters_are_replaced() {
    assert_eq!(shown("#define W 32\n#define T bit<W>\nT x;"), "bit < 32 > x ;");
    assert_eq!(shown("#define A B\n#define B A\nA B"), "A B");
    assert_eq!(shown("#define E\nE a E"), "a");
    assert_eq!(shown("#define A 1\nA\n#undef A\nA\n#define A 2\nA"), "1 A 2");
    assert_eq!(shown("#define A \\\n 1 + \\\n 2\nA"), "1 + 2");
}

#[test]
fn macros_with_parameters_are_replaced() {
    assert_eq!(shown("#define F(x, y) y x\nF(1, (2, 3)) F"), "( 2 , 3 ) 1 F");
    assert_eq!(shown("#define F(x) [x]\n#define A 1\nF(A) F(F(A)) F()"), "[ 1 ] [ [ 1 ] ] [ ]");
    assert_eq!(shown("#define F() 7\nF() F ( )"), "7 7");
    assert_eq!(shown("#define F(x) x\nF\n(\n1\n)"), "1");
    assert_eq!(shown("#define F (x)\nF"), "( x )");
    assert_eq!(shown("#define F(x, ...) x: __VA_ARGS__\nF(1, 2, 3) F(4)"), "1 : 2 , 3 4 :");
    assert_eq!(shown("#define F(x...) [x]\nF(1, 2) F()"), "[ 1 , 2 ] [ ]");
}

#[test]
fn hashes_quote_and_join() {
    assert_eq!(shown("#define S(x) #x\nS(a  +b \"c\\n\")"), r#""a +b \"c\\n\"""#);
    assert_eq!(shown("#define J(a, b) a ## b\nJ(x, 1) J(8w, 0xF) J(, y) J(z, )"), "x1 8w0xF y z");
    assert_eq!(shown("#define J(a, b, c) a##b##c\nJ(x,,y) J(,,) J(<,<,=)"), "xy <<=");
    assert_eq!(shown("#define A 1\n#define J(a, b) a##b a\nJ(A, A)"), "AA 1");
}

#[test]
fn conditions_choose_lines() {
    let program = "#if A\na\n#elif B\nb\n#elif C\nc\n#else\nd\n#endif\ne";
    assert_eq!(shown(program), "d e");
    assert_eq!(shown(&format!("#define A 1\n{program}")), "a e");
    assert_eq!(shown(&format!("#define B 1\n#define C 1\n{program}")), "b e");
    assert_eq!(shown("#ifdef A\na\n#ifdef A\nb\n#else\nc\n#endif\nd\n#else\ne\n#endif"), "e");
    assert_eq!(
        shown("#define A\n#ifdef A\na\n#ifndef A\nb\n#else\nc\n#endif\nd\n#else\ne\n#endif"),
        "a c d"
    );
    assert_eq!(shown("#if 0\n' \" /* #endif\n*/ // #else\n$ #endif\n  # endif\na"), "a");
    assert_eq!(shown("#if 0\n#elifdef A\na\n#elifndef A\nb\n#endif"), "b");
}

#[test]
fn conditions_compute_as_in_c() {
    for (condition, expected) in [
        ("1 + 2 * 3 == 7", true),
        ("10 - 4 - 3 == 3", true),
        ("1 << 4 >> 2 == 4", true),
        ("(1 || 1 / 0) && !(0 && 1 / 0)", true),
        ("0x10 == 16 && 010 == 8 && 0b11 == 3 && 20200408L >= 1", true),
        ("-7 / 2 == -3 && -7 % 2 == -1", true),
        ("~0 == -1 && !5 == 0 && - - 1 == 1", true),
        ("1 ? 0 ? 2 : 0 : 1", false),
        ("defined A || defined(B)", false),
        ("defined C && defined(C)", true),
        ("C > 2 & F(1)", true),
        ("unknown", false),
        ("1 << 64", false),
        ("5 & 3 ^ 1 | 8", true),
        ("__LINE__ == 3", true),
    ] {
        let program = format!("#define C 3\n#define F(x) x\n#if {condition}\nyes\n#endif");
        assert_eq!(shown(&program), if expected { "yes" } else { "" }, "{condition}");
    }
}

#[test]
fn other_directives_have_no_tokens() {
    let program = "#pragma x '\n#warning it's\n#\n#ident \"1\"\n# 7\n#line 7 \"b.p4\"\na";
    assert_eq!(shown(program), "a");
    assert_eq!(shown("/* a\n */ # /* b */ define A 1\nA"), "1");
    assert_eq!(shown("A /* \n */ // #define \\\n B\nC"), "A C");
}

#[test]
fn old_annotations_end_with_their_line() {
    assert_eq!(shown("@pragma name \"a\nb\" '\n@ x @pragma\ny"), "@ x y");
    assert_eq!(shown("@pragma a /* \n */ b @pragmatic c\n@pragma d"), "b @ pragmatic c");
    assert_eq!(shown("@pragma a \\\n b\n#define A 1\nA"), "1");
}

#[test]
fn symbols_are_as_long_as_possible_except_for_closing_angles() {
    let symbols = "&&& ... .. && || == != <= >= << ++ |+| |-| += -= *= /= %= &= |= ^= <<= |+|= \
        |-|= +: {# + - * / % | & ^ ~ ( ) [ ] { } < > ! : , ? . = ; @";
    assert_eq!(shown(symbols), symbols);
    assert_eq!(shown("a>>b>>=c>>>d"), "a > > b > >= c > > > d");
    assert_eq!(shown("x&&&&y{#}1..2...3"), "x &&& & y {# } 1 .. 2 ... 3");
}

#[test]
fn places_name_the_use_of_a_macro() {
    let (tokens, _) = run("#define A x y\n\n  A\n\"é\" z").expect("a program");
    let places: Vec<_> = tokens.iter().map(|t| (t.span.line, t.span.column, t.span.end)).collect();
    assert_eq!(
        places,
        [(3, 3, (3, 4)), (3, 3, (3, 4)), (4, 1, (4, 4)), (4, 5, (4, 6)), (4, 6, (4, 6)),]
    );
}

#[test]
fn line_markers_set_the_shown_place() {
    let (tokens, sources) =
        run("# 1 \"b.p4\" 1 3\na\n#line 9\nb\n# 2 \"a.p4\"\n__LINE__ __FILE__").expect("a program");
    let places: Vec<_> = tokens
        .iter()
        .map(|t| (sources.files[t.span.file as usize].path.to_str().unwrap_or(""), t.span.line))
        .collect();
    assert_eq!(places, [("b.p4", 1), ("b.p4", 9), ("a.p4", 2), ("a.p4", 2), ("a.p4", 2)]);
    assert_eq!(show(&tokens), "a b 2 \"a.p4\"");
}

/// Generates lines of random programs.
fn line() -> impl Strategy<Value = String> {
    let word = || prop::sample::select(vec!["A", "B", "F", "G", "x", "1", "23"]);
    let piece = || {
        prop::sample::select(vec![
            "A",
            "B",
            "F(A)",
            "G(B, F(x))",
            "F",
            "G",
            "(",
            ")",
            "x",
            "1",
            "+",
            ",",
            "F(",
            "G(1,",
        ])
    };
    let pieces = || prop::collection::vec(piece(), 0..6).prop_map(|pieces| pieces.join(" "));
    prop_oneof![
        3 => pieces(),
        1 => (word(), pieces()).prop_map(|(name, body)| format!("#define {name} {body}")),
        2 => pieces().prop_map(|body| format!("#define F(x) x {body}")),
        1 => pieces().prop_map(|body| format!("#define G(x, y) y {body} x##y #x")),
        1 => word().prop_map(|name| format!("#undef {name}")),
        1 => word().prop_map(|name| format!("#if {name}")),
        1 => word().prop_map(|name| format!("#ifdef {name}")),
        1 => Just("#else".into()),
        2 => Just("#endif".into()),
    ]
}

/// Returns the command that runs the compiler, word by word, or the reason why none is available.
fn compiler() -> Result<Vec<String>, String> {
    let run = Command::new("python3").arg(FINDER).output().map_err(|e| format!("python3: {e}"))?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).trim().to_owned());
    }
    let words: Vec<_> =
        String::from_utf8_lossy(&run.stdout).split_whitespace().map(str::to_owned).collect();
    match reference(&words, "x")?.as_deref() {
        Some("x") => Ok(words),
        _ => Err(format!("{words:?} does not preprocess")),
    }
}

/// Returns the output of the C preprocessor without spaces, or `None` if the preprocessor reports
/// an error.
fn reference(compiler: &[String], program: &str) -> Result<Option<String>, String> {
    let mut child = Command::new(&compiler[0])
        .args(&compiler[1..])
        .args(["-E", "-P", "-undef", "-nostdinc", "-w", "-x", "c", "-"])
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .stderr(Stdio::null())
        .spawn()
        .map_err(|e| format!("{compiler:?}: {e}"))?;
    if let Some(mut input) = child.stdin.take() {
        input.write_all(program.as_bytes()).map_err(|e| e.to_string())?;
    }
    let output = child.wait_with_output().map_err(|e| e.to_string())?;
    let text = String::from_utf8_lossy(&output.stdout);
    Ok(output.status.success().then(|| text.split_whitespace().collect()))
}

#[test]
fn random_programs_are_as_from_the_c_preprocessor() {
    let compiler = match compiler() {
        Ok(compiler) => compiler,
        Err(reason) => return Oracle::Clang.missing(reason),
    };
    let compared = Cell::new(0);
    let config = ProptestConfig::with_cases(random_cases(150u32));
    let programs = prop::collection::vec(line(), 1..25);
    TestRunner::new(config)
        .run(&programs, |lines| {
            let program = lines.join("\n") + "\n";
            // A fault in one is not a fault in the other: only the results must agree.
            let expected = reference(&compiler, &program).expect("the compiler runs");
            if let (Some(expected), Ok((tokens, _))) = (expected, run(&program)) {
                let text: String = show(&tokens).split_whitespace().collect();
                prop_assert_eq!(text, expected, "{}", program);
                compared.set(compared.get() + 1);
            }
            Ok(())
        })
        .unwrap_or_else(|fault| panic!("{fault}"));
    Oracle::Clang.compared(compared.get(), "programs with macros");
}

//! Tests of the lexer.

use std::rc::Rc;

use super::{Kind, Lexeme, Lexer, Names, is_number};

fn lexemes(text: &str) -> Vec<Lexeme> {
    let mut names = Names::default();
    let mut lexer = Lexer::new(0, text.into());
    let mut lexemes = Vec::new();
    loop {
        let lexeme = lexer.next(&mut names, false);
        if lexeme.kind == Kind::End {
            return lexemes;
        }
        lexemes.push(lexeme);
    }
}

#[test]
fn numbers_have_an_optional_width_and_base() {
    for number in [
        "0", "007", "1_000", "0xFf_0", "0X1", "0b_1", "0B01", "0o17", "0O7", "0d19", "8w0xff",
        "4s7", "1w0b1", "32w1_0",
    ] {
        assert!(is_number(number), "{number}");
        let lexeme = &lexemes(number)[0];
        assert_eq!((lexeme.kind, &*lexeme.text), (Kind::Number, number));
    }
    for text in
        ["0x", "0b2", "0o8", "0b_", "8w", "8w_", "8W1", "8x1", "1a", "0xw1", "0x8w1", "8w8w8"]
    {
        assert!(!is_number(text), "{text}");
    }
}

#[test]
fn escapes_of_strings_are_resolved() {
    let texts = |text| lexemes(text).iter().map(|l| (l.kind, l.text.clone())).collect::<Vec<_>>();
    let text = |text: &str| (Kind::Text, Rc::<str>::from(text));
    assert_eq!(texts(r#""a\"b\\c\nd\te" "" "é⟶""#), [text("a\"b\\c\nd\\te"), text(""), text("é⟶")]);
    assert_eq!(texts("\"a\\\nb\nc\""), [text("ab\nc")]);
}

#[test]
fn backslashes_join_lines() {
    let words: Vec<_> =
        lexemes("ab\\\ncd e\\\n f \\  \r\n g").iter().map(|l| l.text.to_string()).collect();
    assert_eq!(words, ["abcd", "e", "f", "g"]);
    assert_eq!(
        lexemes("a \\\n b\nc").iter().map(|l| l.first).collect::<Vec<_>>(),
        [true, false, true]
    );
}

#[test]
fn white_space_before_lexemes_is_kept() {
    let flags: Vec<_> = lexemes("a b/**/c+d\n/* */e/*\n*/f")
        .iter()
        .map(|l| (l.spaced, l.first, l.broken))
        .collect();
    assert_eq!(
        flags,
        [
            (false, true, false),
            (true, false, false),
            (true, false, false),
            (false, false, false),
            (false, false, false),
            (true, true, true),
            (true, false, true),
        ]
    );
}

#[test]
fn columns_count_characters() {
    let places: Vec<_> = lexemes("\u{feff}a\t\"é\" b\r\n  c")
        .iter()
        .map(|l| (l.span.line, l.span.column, l.span.end))
        .collect();
    assert_eq!(places, [(1, 1, (1, 2)), (1, 3, (1, 6)), (1, 7, (1, 8)), (2, 3, (2, 4))]);
}

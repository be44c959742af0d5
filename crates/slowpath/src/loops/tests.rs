use super::{Limit, Location, names_file, parse};

#[test]
fn limits_are_read() {
    let line = |file: &str, line| Location::Line(file.into(), line);
    for (text, location, count) in [
        ("160", Location::Everywhere, 160),
        ("10@.44", Location::Instruction(44), 10),
        (" 10 @ 44", Location::Instruction(44), 10),
        ("10@filter.c:44", line("filter.c", 44), 10),
        ("0@:44", line("", 44), 0),
    ] {
        assert_eq!(parse(text).expect("valid"), Limit { location, count }, "{text}");
    }
    for text in ["", "x", "-1", "10@", "10@.", "10@x", "10@filter.c:", "10@filter.c:x"] {
        let error = parse(text).expect_err("refused").to_string();
        assert!(error.contains("N@FILE:LINE"), "{error}");
    }
}

#[test]
fn files_are_named_by_the_end_of_their_path() {
    assert!(names_file("src/net/filter.c", "filter.c"));
    assert!(names_file("src/net/filter.c", "net/filter.c"));
    assert!(names_file("filter.c", "filter.c"));
    assert!(names_file("filter.c", ""));
    assert!(!names_file("src/myfilter.c", "filter.c"));
    assert!(!names_file("filter.c", "src/filter.c"));
}

//! Tests of included files.

use std::fs;
use std::path::{Path, PathBuf};

use slowpath_p4::preprocess::{Options, preprocess};

use crate::support::{show, shown};

/// A folder for the files of one test.
struct Folder(PathBuf);

impl Folder {
    fn new(test: &str, files: &[(&str, &str)]) -> Folder {
        let folder =
            std::env::temp_dir().join(format!("slowpath-p4-{test}-{}", std::process::id()));
        for (name, text) in files {
            let path = folder.join(name);
            fs::create_dir_all(path.parent().expect("a folder")).expect("a folder");
            fs::write(path, text).expect("a file");
        }
        Folder(folder)
    }

    /// Preprocesses `main.p4` of the folder. Returns its tokens as text, or the error.
    fn run(&self, options: &Options) -> String {
        let path = self.0.join("main.p4");
        let text = fs::read_to_string(&path).expect("main.p4");
        match preprocess(&path, &text, options) {
            Ok((tokens, _)) => show(&tokens),
            Err((error, sources)) => {
                error.render(&sources).replace(self.0.to_str().unwrap_or(""), "")
            }
        }
    }
}

impl Drop for Folder {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

#[test]
fn files_are_found_beside_the_including_file_and_then_in_folders() {
    let folder = Folder::new(
        "order",
        &[
            (
                "main.p4",
                "#include \"a.p4\"\n#include <a.p4>\n#include \"sub/b.p4\"\n#include \"c.p4\"",
            ),
            ("a.p4", "beside"),
            ("one/a.p4", "first"),
            ("two/a.p4", "second"),
            ("two/c.p4", "third"),
            ("sub/b.p4", "#include \"d.p4\"\n#include \"../a.p4\""),
            ("sub/d.p4", "inner"),
        ],
    );
    let folders = vec![folder.0.join("one"), folder.0.join("two")];
    let options = Options { include_folders: folders, defines: Vec::new() };
    assert_eq!(folder.run(&options), "beside first inner beside third");
    assert_eq!(
        folder.run(&Options::default()),
        "/main.p4:2:10: a.p4 not found; name its folder with -I"
    );
}

#[test]
fn files_precede_standard_headers() {
    let files = [("main.p4", "#include <core.p4>\n#include \"core.p4\""), ("core.p4", "own")];
    let folder = Folder::new("standard", &files);
    let options = Options { include_folders: vec![folder.0.clone()], defines: Vec::new() };
    assert_eq!(folder.run(&options), "own own");
    assert!(folder.run(&Options::default()).ends_with("static_assert ( bool check ) ; own"));
}

#[test]
fn guards_stop_the_second_reading() {
    let folder = Folder::new(
        "guards",
        &[
            (
                "main.p4",
                "#include \"a.p4\"\n#include \"a.p4\"\n#include \"b.p4\"\n#include \"./b.p4\"",
            ),
            ("a.p4", "#ifndef A\n#define A\n#include \"a.p4\"\na\n#endif"),
            ("b.p4", "#pragma once\nb"),
        ],
    );
    assert_eq!(folder.run(&Options::default()), "a b");
}

#[test]
fn inclusion_without_an_end_is_a_fault() {
    let folder = Folder::new("endless", &[("main.p4", "#include \"main.p4\"\n")]);
    let message = folder.run(&Options::default());
    assert!(
        message.starts_with("/main.p4:1:10: files include each other more than 200 deep"),
        "{message}"
    );
    let folder =
        Folder::new("doubling", &[("main.p4", "#include \"./main.p4\"\n#include \"main.p4\"\n")]);
    assert!(folder.run(&Options::default()).contains("more than"));
}

#[test]
fn conditions_end_with_their_file() {
    let folder =
        Folder::new("ends", &[("main.p4", "#include \"a.p4\"\n#endif"), ("a.p4", "\n#if 1\n")]);
    assert!(folder.run(&Options::default()).starts_with("/a.p4:2:1: condition has no #endif"));
}

#[test]
fn names_of_files_may_come_from_macros() {
    let program =
        "#define A \"a.p4\"\n#define B <B_NAME.p4>\n#define B_NAME b\n#include A\n#include B";
    let folder =
        Folder::new("names", &[("main.p4", program), ("a.p4", "a __FILE__"), ("b.p4", "b")]);
    let options = Options { include_folders: vec![folder.0.clone()], defines: Vec::new() };
    let path = folder.0.join("a.p4");
    assert_eq!(folder.run(&options), format!("a {path:?} b"));
}

#[test]
fn folders_and_other_encodings_are_no_programs() {
    let folder = Folder::new("folders", &[("main.p4", "#include \"x\""), ("x/a.p4", "")]);
    assert!(folder.run(&Options::default()).ends_with("x not found; name its folder with -I"));
    let folder = Folder::new("latin", &[("main.p4", "#include \"a.p4\""), ("a.p4", "")]);
    fs::write(folder.0.join("a.p4"), b"// \xe9\na").expect("a file");
    assert_eq!(folder.run(&Options::default()), "a");
    fs::write(folder.0.join("a.p4"), b"\xe9").expect("a file");
    assert!(folder.run(&Options::default()).starts_with("/a.p4:1:1: P4 does not use"));
}

#[test]
fn options_define_macros() {
    let define = |name: &str, value: &str| Options {
        defines: vec![(name.into(), value.into())],
        include_folders: Vec::new(),
    };
    let run = |options: &Options| match preprocess(Path::new("a.p4"), "F(2) A", options) {
        Ok((tokens, _)) => show(&tokens),
        Err((error, sources)) => error.render(&sources),
    };
    assert_eq!(run(&define("A", "8w1 + 2")), "F ( 2 ) 8w1 + 2");
    assert_eq!(run(&define("A", "")), "F ( 2 )");
    assert_eq!(run(&define("F(x)", "x x")), "2 2 A");
    assert_eq!(run(&define("1", "")), "-D 1: '1' cannot be the name of a macro");
    assert_eq!(run(&define("", "B")), "-D : #define has no name; add it");
}

#[test]
fn standard_headers_are_marked() {
    let (tokens, sources) =
        preprocess(Path::new("a.p4"), "#include <core.p4>\na", &Options::default())
            .expect("a program");
    let standard: Vec<_> =
        sources.files.iter().map(|file| (file.path.to_str(), file.is_standard)).collect();
    assert_eq!(standard, [(Some("a.p4"), false), (Some("core.p4"), true)]);
    assert_eq!(tokens[0].span.file, 1);
    assert_eq!(shown("#include <core.p4>\n#include <core.p4>"), shown("#include <core.p4>"));
}

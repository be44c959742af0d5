//! Tests that a printed pipeline is parsed as the same pipeline, and that faulty files are
//! rejected.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;

use slowpath_oracle::Oracle;
use slowpath_swx::spec::{Origin, SourceLine};
use slowpath_swx::{parse, print, resolve};

use crate::driver::{compiled, in_folder};

/// Sample file with every statement and instruction, except those that call C code.
const EVERYTHING: &str = include_str!("samples/everything.spec");

/// Returns the sample file with one line replaced.
fn with_line(number: usize, line: &str) -> String {
    let lines = EVERYTHING.lines().enumerate();
    let lines = lines.map(|(index, old)| if index + 1 == number { line } else { old });
    lines.collect::<Vec<_>>().join("\n") + "\n"
}

/// Returns the number of the sample's line that contains the text.
fn line_of(text: &str) -> usize {
    1 + EVERYTHING.lines().position(|line| line.trim() == text).expect(text)
}

#[test]
fn a_printed_pipeline_is_the_same() {
    let spec = parse(EVERYTHING).expect("the sample parses");
    let printed = print(&spec);
    let again = parse(&printed).expect("a printed pipeline parses");
    assert_eq!(again, spec);
    assert_eq!(print(&again), printed, "the form is canonical");
    assert_eq!(spec.meter_arrays[0].size, 8, "numbers with a leading 0 are octal");
    let calls = "extobj hasher instanceof hash_t\nextobj other instanceof other_t pragma fast\n\
                 apply {\n\trx m.port\n\textern e.hasher.run\n\textern f.run\n\
                 \tmov m.port e.hasher.result\n\tmov f.run.seed 1\n\ttx m.port\n}\n";
    let spec = parse(calls).expect("extern functions parse");
    assert_eq!(parse(&print(&spec)).as_ref(), Ok(&spec));
}

#[test]
fn refusals_name_the_line_and_the_construct() {
    for (old, new, message) in [
        ("rx m.port", "rx h.ethernet.type", "'h.ethernet.type' is not a metadata field"),
        ("drop", "drop now", "'drop now' does not have the form 'drop'"),
        ("emit h.ipv4", "emit ipv4", "'ipv4' is not a header; write h.HEADER"),
        ("size 0x1000", "size many", "size 'many' is not a number from 0 to"),
    ] {
        let line = line_of(old);
        let fault = parse(&with_line(line, new)).expect_err(new).to_string();
        assert!(fault.starts_with(&format!("line {line}: {message}")), "{fault}");
    }
    for (text, code, message) in [
        ("", 290, "line 1: the file has no 'apply' block"),
        ("struct a {\n\tbit<8> b\n", 290, "line 2: the block 'struct' of line 1 does not end"),
        ("struct a {\n\tbit<7> b\n}\n", 290, "line 2: the width 7 is not a positive multiple"),
        (
            "struct a {\n\tvarbit<8> b\n\tbit<8> c\n}\n",
            290,
            "line 3: a varbit field is not the last",
        ),
        (
            "Name: router\nVersion: 1\n",
            290,
            "line 1: the file is not a pipeline of DPDK's software switch: unknown statement 'Name:'",
        ),
        ("regarray a size 1 initval 0\nentry a b\n", 290, "line 2: unknown statement 'entry'"),
        ("rss a\n", 291, "line 1: the statement 'rss' is newer than DPDK 22.11"),
        ("apply {\n\tmovh h.a.b m.c\n}\n", 291, "line 2: the instruction 'movh' is newer"),
        ("apply {\n\tfly\n}\n", 290, "line 2: DPDK 22.11 has no instruction 'fly'"),
        ("apply {\n\tLABEL :\n}\n", 290, "line 2: a label has no instruction"),
        ("apply {\n\tmov m.a 08\n}\n", 290, "line 2: '08' is neither a field nor a number"),
        (
            &format!("apply {{\n\t{}\n}}\n", "f".repeat(2000)),
            290,
            &format!("line 2: the word '{}…' is longer than 63 bytes", "f".repeat(40)),
        ),
        ("apply {\n}\napply {\n}\n", 290, "line 3: the file has two 'apply' blocks"),
        ("regarray a size 0 initval 0\n", 290, "line 1: the size of an array is 0"),
    ] {
        let fault = parse(text).expect_err(text);
        assert!(fault.to_string().starts_with(message), "{fault}");
        assert_eq!(fault.code.number(), code, "{fault}");
    }
}

/// Returns, for each text, true if DPDK accepts it. A crash of DPDK counts as a rejection.
fn accepted(reader: &Path, folder: &Path, texts: &[String]) -> Vec<bool> {
    let files: Vec<PathBuf> =
        (0..texts.len()).map(|index| folder.join(format!("{index}.spec"))).collect();
    for (file, text) in files.iter().zip(texts) {
        std::fs::write(file, text).expect("the folder is writable");
    }
    let mut verdicts = Vec::new();
    while verdicts.len() < texts.len() {
        let output = Command::new(reader).args(&files[verdicts.len()..]).output();
        let output = output.expect("the reader runs");
        let lines = String::from_utf8_lossy(&output.stdout);
        verdicts.extend(lines.lines().map(|line| line.ends_with(" OK")));
        if !output.status.success() {
            verdicts.push(false);
        }
    }
    assert_eq!(verdicts.len(), texts.len());
    verdicts
}

/// Returns the sample file and variants of it: with a line removed, repeated, or changed in a word.
fn variants() -> Vec<String> {
    let lines: Vec<&str> = EVERYTHING.lines().collect();
    let mut found = vec![EVERYTHING.to_owned()];
    for (index, line) in lines.iter().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
        let mut change = |replacement: &[&str]| {
            let parts = [&lines[..index], replacement, &lines[index + 1..]];
            found.push(parts.concat().join("\n") + "\n");
        };
        change(&[]);
        change(&[line, line]);
        let words: Vec<&str> = line.split_whitespace().collect();
        change(&[&words[..words.len() - 1].join(" ")]);
        change(&[&format!("{line} 0x1")]);
        for other in ["0x1F", "m.port", "h.ipv4.length", "h.ipv4", "t.next_port", "{"] {
            let last = [&words[..words.len() - 1], &[other]].concat().join(" ");
            change(&[&last]);
        }
    }
    found
}

#[test]
fn dpdk_reads_a_printed_pipeline_as_the_original() {
    in_folder("reader", |folder| {
        let Some(reader) = compiled("../../tests/calibrate/swx_parser.c", folder) else { return };
        let texts = variants();
        let verdicts = accepted(&reader, folder, &texts);
        assert!(verdicts[0], "DPDK reads the sample");
        let parsed: Vec<_> = texts.iter().map(|text| parse(text)).collect();
        let printed: Vec<String> = parsed.iter().flatten().map(print).collect();
        let mut printed_verdicts = accepted(&reader, folder, &printed).into_iter();
        for ((text, verdict), parsed) in texts.iter().zip(&verdicts).zip(&parsed) {
            match parsed {
                Ok(spec) => {
                    assert_eq!(printed_verdicts.next(), Some(*verdict), "{text}");
                    match resolve(spec).map_err(|fault| (fault.code.number(), fault)) {
                        Ok(_) => assert!(verdict, "DPDK refuses what we resolve:\n{text}"),
                        Err((292, fault)) => assert!(!verdict, "DPDK reads: {fault}\n{text}"),
                        Err(_) => {}
                    }
                }
                Err(fault) => assert!(!verdict, "DPDK reads what we refuse: {fault}\n{text}"),
            }
        }
        Oracle::Dpdk.compared(texts.len(), "pipelines");
    });
}

#[test]
fn instructions_keep_the_lines_that_they_were_translated_from() {
    let text = "apply {\n\t//line 7 \"a \\\"b\\\".p4\"   x = 1;\n\trx m.port\n\tmov m.port 1\n\t\
                //line\n\tmov m.port 2\n\t//line 9 \"a.p4\"\n\ttx m.port\n}\n";
    let spec = parse(text).expect("comments name lines");
    let origins: Vec<_> = spec.apply.iter().map(|one| one.origin.0.as_deref()).collect();
    let shown = |at: usize| origins[at].map(|one| (&*one.file, one.line, &*one.text));
    assert_eq!(shown(0), Some(("a \"b\".p4", 7, "  x = 1;")));
    assert_eq!((shown(1), shown(2), shown(3)), (shown(0), None, Some(("a.p4", 9, ""))));
    assert_eq!(format!("\n{}", slowpath_swx::print_with_origins(&spec)), format!("\n\n{text}"));
    assert!(!print(&spec).contains("//"), "the canonical form has no comments");
    let lines = [1, 3, 6, 8].map(|line| spec.origin_of(slowpath_swx::spec::Line(line)));
    assert_eq!(lines, [1, 7, 6, 9], "other lines are their own origin");
    // A block begins without an origin, and other comments have none.
    let text = "action a args none {\n\t//line 7 \"a.p4\"\n\treturn\n}\napply {\n\trx m.port\n\
                \t//line here\n\ttx m.port\n}\n";
    let spec = parse(text).expect("comments are read");
    assert!(spec.apply.iter().all(|one| one.origin.0.is_none()));
}

#[test]
fn origins_with_odd_text_never_change_the_pipeline() {
    let text = "apply {\n\trx m.port\n\tdrop\n}\n";
    let plain = parse(text).expect("a pipeline");
    let long = "x".repeat(3000);
    for (file, shown) in [
        ("a.p4", "t(); // else:\u{c}tx m.port"),
        ("a.p4", "a\0b\rtx m.port\u{85}tx m.port\u{2028}tx m.port"),
        ("a\nb.p4", "t();"),
        (&long, "t();"),
    ] {
        let mut spec = plain.clone();
        let origin = SourceLine { file: file.into(), line: 3, text: shown.into() };
        spec.apply[1].origin = Origin(Some(Arc::new(origin)));
        let printed = slowpath_swx::print_with_origins(&spec);
        // Python and other readers have further characters that end lines.
        let ends = ['\n', '\r', '\u{b}', '\u{c}', '\u{1c}', '\u{85}', '\u{2028}', '\u{2029}'];
        assert_eq!(printed.split(ends).count(), printed.split('\n').count(), "{printed:?}");
        let read = parse(&printed).expect("the comments do not matter");
        assert_eq!(print(&read), print(&plain));
    }
    for comment in ["//line 0 \"a.p4\"", "//line 5 \"\" x", "//line -1 \"a\"", "//line 1 \"a"] {
        let text = text.replace("\tdrop", &format!("\t{comment}\n\tdrop"));
        let read = parse(&text).expect("a pipeline");
        assert!(read.apply[1].origin.0.is_none(), "{comment}");
    }
}

//! Formatting of a survey's rows as Markdown.

use std::collections::{BTreeMap, BTreeSet};
use std::error::Error;
use std::path::Path;

use crate::attempt::LOADERS;
use crate::survey::Row;

/// Kinds of failures, each with a text that its errors contain. The first match counts.
const KINDS: [(&str, &str); 20] = [
    (
        "legacy map definitions",
        "maps of a section `maps`, which the library does not read any more",
    ),
    (
        "invalid program section",
        "a section of the object has a name that the library does not know",
    ),
    ("is static and not supported", "static functions in the section of a program"),
    ("no program", "symbols without a type: the library sees no program"),
    ("kernel's verifier says", VERIFIER),
    ("END PROG LOAD LOG", VERIFIER),
    ("BPF_PROG_LOAD syscall", VERIFIER),
    ("which this kernel has not", NO_FUNCTION),
    ("not found in kernel or module BTFs", NO_FUNCTION),
    ("section `.ksyms`", "calls of kernel functions are not supported"),
    ("inner map definition", "maps of maps of legacy objects"),
    ("error parsing map", "definition of a map not read"),
    ("unknown symbol", "symbols as older compilers write them"),
    ("section not found", "relocation not understood"),
    ("unexpected BTF type", "types not understood"),
    ("failed to create map", MAP),
    ("does not create it", MAP),
    ("failed to create: ", MAP),
    ("libbpf: extern", NO_FUNCTION),
    ("", "other"),
];

const VERIFIER: &str = "the verifier refuses the program";
const NO_FUNCTION: &str = "the kernel has not a function that is called";
const MAP: &str = "the kernel does not create a map";

/// Prints the tables of a survey's result file as Markdown.
pub fn print(result: &Path) -> Result<(), Box<dyn Error>> {
    let rows: Vec<Row> = csv::Reader::from_path(result)?.deserialize().collect::<Result<_, _>>()?;
    let of = |loader: &str| rows.iter().filter(|row| row.loader == loader).collect::<Vec<&Row>>();
    let columns = LOADERS.map(of);
    summary(&columns);
    failures(&columns);
    projects(&columns);
    Ok(())
}

fn heading(first: &str) {
    println!("\n| {first} | {} |\n|{}", LOADERS.join(" | "), "---|".repeat(LOADERS.len() + 1));
}

fn line(first: &str, cells: [String; 3]) {
    println!("| {first} | {} |", cells.join(" | "));
}

fn count(columns: &[Vec<&Row>; 3], counts: impl Fn(&Row, &Row) -> bool) -> [String; 3] {
    [0, 1, 2].map(|n| {
        // Rows have the same order for every loader, since objects and their programs are ordered.
        let pairs = columns[n].iter().zip(&columns[0]);
        pairs.filter(|(row, ours)| counts(row, ours)).count().to_string()
    })
}

fn summary(columns: &[Vec<&Row>; 3]) {
    heading("of all programs");
    line("programs", count(columns, |_, _| true));
    line("loaded", count(columns, |row, _| row.loaded));
    line("loaded, but not by ours", count(columns, |row, ours| row.loaded && !ours.loaded));
    line(
        "loaded, instructions as ours (the kernel's tag)",
        count(columns, |row, ours| row.loaded && row.tag == ours.tag),
    );
    line("loaded with the object's types", count(columns, |row, _| row.types));
    let all = |n: usize| columns.iter().all(|column| column[n].loaded);
    let common: Vec<usize> = (0..columns[0].len()).filter(|&n| all(n)).collect();
    heading(&format!("of the {} that all load", common.len()));
    let sum = |of: &dyn Fn(&Row) -> usize| {
        [0, 1, 2].map(|c| common.iter().map(|&n| of(columns[c][n])).sum::<usize>().to_string())
    };
    line("maps created", sum(&|row| row.maps));
    line("programs loaded", sum(&|row| row.programs));
    line(
        "milliseconds, median",
        [0, 1, 2].map(|c| {
            let mut times: Vec<f64> = common.iter().map(|&n| columns[c][n].milliseconds).collect();
            times.sort_by(f64::total_cmp);
            times.get(times.len() / 2).map_or_else(String::new, |median| format!("{median:.1}"))
        }),
    );
}

/// Returns the kind of a row's failure, as in [`KINDS`].
fn kind(row: &Row) -> &'static str {
    let text = format!("{}\n{}", row.error, row.printed);
    KINDS.iter().find(|(words, _)| text.contains(words)).map_or("other", |(_, kind)| kind)
}

fn failures(columns: &[Vec<&Row>; 3]) {
    heading("not loaded because");
    let failed = |column: &Vec<&Row>| {
        column.iter().filter(|row| !row.loaded).map(|row| kind(row)).collect::<Vec<_>>()
    };
    let kinds = columns.each_ref().map(failed);
    let names: BTreeSet<&str> = kinds.iter().flatten().copied().collect();
    for name in names {
        line(name, kinds.each_ref().map(|k| k.iter().filter(|k| **k == name).count().to_string()));
    }
}

fn projects(columns: &[Vec<&Row>; 3]) {
    println!("\n| project | programs | {} |", LOADERS.join(" | "));
    println!("|{}", "---|".repeat(LOADERS.len() + 2));
    let mut projects: BTreeMap<&str, [usize; 4]> = BTreeMap::new();
    for (number, column) in columns.iter().enumerate() {
        for row in column {
            let counts = projects.entry(&row.project).or_default();
            counts[0] += usize::from(number == 0);
            counts[number + 1] += usize::from(row.loaded);
        }
    }
    for (project, counts) in projects {
        println!("| {project} | {} |", counts.map(|count| count.to_string()).join(" | "));
    }
}

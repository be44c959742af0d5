//! Translates P4 programs to C.

use pyo3::prelude::*;
use slowpath_p4::preprocess::{Options, preprocess};
use slowpath_p4::token::Sources;
use slowpath_p4::{P4Error, check, parse, xdp};
use std::path::{Path, PathBuf};

/// A fault of a P4 program: code, file, line, column, and message.
type Fault = (String, String, u32, u32, String);

/// C source, or none; the faults; the files that were read, the program first; and the tables as
/// JSON text, a list of `TableLayout`.
type Translation = (Option<String>, Vec<Fault>, Vec<String>, String);

/// Translates a P4 program to C for XDP. `folders` are searched for included files, and `defines`
/// are macros with their values. With `scratch`, headers stand in a map instead of on the stack.
/// Faults of the program are part of the result.
#[pyfunction]
pub fn p4_to_c(
    py: Python<'_>,
    file: PathBuf,
    text: String,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    scratch: bool,
) -> Translation {
    let options = Options { include_folders: folders, defines };
    py.detach(|| {
        let (sources, translated) = translate(&file, &text, &options, scratch);
        let standard = |one: &&slowpath_p4::token::SourceFile| !one.is_standard;
        let files = sources.files.iter().filter(standard);
        let files = files.map(|one| one.path.display().to_string()).collect();
        match translated {
            Ok(output) => {
                let tables = serde_json::to_string(&output.layout.tables).unwrap_or_default();
                (Some(output.c), Vec::new(), files, tables)
            }
            Err(faults) => {
                let faults = faults.into_iter().map(|fault| described(fault, &sources, &file));
                (None, faults.collect(), files, "[]".to_owned())
            }
        }
    })
}

fn translate(
    file: &Path,
    text: &str,
    options: &Options,
    scratch: bool,
) -> (Sources, Result<xdp::Output, Vec<P4Error>>) {
    let (tokens, sources) = match preprocess(file, text, options) {
        Ok(read) => read,
        Err((fault, sources)) => return (sources, Err(vec![fault])),
    };
    let c = parse(&tokens).map_err(|fault| vec![fault]).and_then(|program| {
        let checked = check(&program)?;
        let options = xdp::Options { scratch, ..xdp::Options::default() };
        xdp::to_c(&program, &checked, &sources, options).map_err(|fault| vec![fault])
    });
    (sources, c)
}

fn described(fault: P4Error, sources: &Sources, program: &Path) -> Fault {
    let file = sources.files.get(fault.span.file as usize).map_or(program, |one| &one.path);
    let P4Error { code, span, message } = &fault;
    (code.to_string(), file.display().to_string(), span.line, span.column, message.clone())
}

/// Map content as JSON text, or a fault: code, line of the file of entries (0: of the program), and
/// message.
type Entries = (Option<String>, Option<(String, u32, String)>);

/// Returns the map content for a file with entries of a P4 program's tables, in the form that
/// `--maps` reads. Tables that the file does not name keep arbitrary content; those that it names
/// have the default action of the program, unless the file sets it. The other arguments are those
/// of `p4_to_c`.
#[pyfunction]
pub fn p4_entries(
    py: Python<'_>,
    file: PathBuf,
    text: String,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    entries: String,
) -> Entries {
    let options = Options { include_folders: folders, defines };
    py.detach(|| {
        let (sources, translated) = translate(&file, &text, &options, false);
        let layout = match translated {
            Ok(output) => output.layout,
            Err(faults) => {
                let fault = faults.into_iter().next();
                let fault = fault.map(|one| (one.code.to_string(), 0, one.render(&sources)));
                return (None, fault);
            }
        };
        let written = xdp::entries::parse(&entries)
            .and_then(|entries| xdp::entries::map_content(&layout, &entries));
        match written {
            Ok(maps) => (serde_json::to_string(&maps).ok(), None),
            Err(fault) => (None, Some((fault.code.to_string(), fault.line, fault.message))),
        }
    })
}

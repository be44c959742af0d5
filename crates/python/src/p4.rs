//! Translates P4 programs to C and to SWX pipelines. Reads and prints SWX pipelines.

use pyo3::exceptions::PyValueError;
use pyo3::prelude::*;
use serde_json::json;
use slowpath_p4::preprocess::{Options, preprocess};
use slowpath_p4::token::Sources;
use slowpath_p4::{P4Error, check, parse, swx, walk, xdp};
use slowpath_swx::spec::{ActionRef, FieldRef, Match, Spec};
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

/// A fault of a P4 program: code, file, line, column, message, and the line and column of its end.
/// Columns count characters; the end is the position after the last character.
type Fault = (String, String, u32, u32, String, (u32, u32));

/// Result of translating a P4 program to C, in six parts: C source, or `None`; the faults; the
/// files that were read, the program first; the tables as JSON text, a list of `TableLayout`;
/// warnings; and the conditions under which the C program has the same effect as the P4 program.
type Translation = (Option<String>, Vec<Fault>, Vec<String>, String, Vec<Fault>, Vec<String>);

/// Translates a P4 program to C for XDP. `text` is the content of `file`. The preprocessor searches
/// `folders` for included files, and `defines` has macros with their values. With `scratch`,
/// headers are in a map instead of on the stack. Faults of the program are part of the result.
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
        let shown = |faults: Vec<P4Error>| {
            faults.into_iter().map(|one| described(one, &sources, &file)).collect::<Vec<_>>()
        };
        match translated {
            Ok(Translated { output, warnings }) => {
                let tables = serde_json::to_string(&output.layout.tables).unwrap_or_default();
                (Some(output.c), Vec::new(), files, tables, shown(warnings), output.conditions)
            }
            Err(faults) => (None, shown(faults), files, "[]".to_owned(), Vec::new(), Vec::new()),
        }
    })
}

/// Result of translating a P4 program to an SWX pipeline: the text of the pipeline with conditions,
/// or `None`; and the faults.
type Pipeline = (Option<(String, Vec<String>)>, Vec<Fault>);

/// Translates a P4 program to an SWX pipeline, a `.spec` file of DPDK 22.11. The pipeline has the
/// same effect as the program if the conditions hold. The arguments are those of `p4_to_c`.
#[pyfunction]
pub fn p4_to_swx(
    py: Python<'_>,
    file: PathBuf,
    text: String,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
) -> Pipeline {
    let options = Options { include_folders: folders, defines };
    py.detach(|| {
        let (sources, made) = translate_to_swx(&file, &text, &options);
        match made {
            Ok(made) => {
                let text = slowpath_swx::print_with_origins(&made.spec);
                (Some((text, made.conditions)), Vec::new())
            }
            Err(faults) => {
                let faults = faults.into_iter().map(|fault| described(fault, &sources, &file));
                (None, faults.collect())
            }
        }
    })
}

/// Entries of a pipeline's tables, with the text of the pipeline; or a fault as in `Entries`. Each
/// entry has the name of its table, true for a default entry, and the text that DPDK reads.
type SwxEntries = (Option<(Vec<(String, bool, String)>, String)>, Option<(String, u32, String)>);

/// Returns table entries for the pipeline of a P4 program: those of the program, and those of the
/// file `entries`. DPDK's `rte_swx_ctl_pipeline_table_entry_read` can parse the text of each entry.
/// Also returns the pipeline; its tables have room for all entries. The arguments are those of
/// `p4_entries`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "arguments of the Python function")]
pub fn p4_swx_entries(
    py: Python<'_>,
    file: PathBuf,
    text: String,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    entries: String,
    form: &str,
    info: Option<String>,
) -> SwxEntries {
    let form = form.to_owned();
    let options = Options { include_folders: folders, defines };
    py.detach(|| {
        let (sources, made) = translate_to_swx(&file, &text, &options);
        let mut made = match made {
            Ok(made) => made,
            Err(faults) => return (None, first(faults, &sources)),
        };
        let plane = made.layout.control_plane();
        let read = read_entries(&plane, &entries, &form, info.as_deref());
        match read.and_then(|entries| made.lines(&entries)) {
            Ok(lines) => {
                let lines = lines.into_iter().map(|one| (one.table, one.is_default, one.text));
                let text = slowpath_swx::print_with_origins(&made.spec);
                (Some((lines.collect(), text)), None)
            }
            Err(fault) => (None, Some((fault.code.to_string(), fault.line, fault.message))),
        }
    })
}

fn translate_to_swx(
    file: &Path,
    text: &str,
    options: &Options,
) -> (Sources, Result<swx::Output, Vec<P4Error>>) {
    let (tokens, sources) = match preprocess(file, text, options) {
        Ok(read) => read,
        Err((fault, sources)) => return (sources, Err(vec![fault])),
    };
    let made = parse(&tokens).map_err(|fault| vec![fault]).and_then(|program| {
        let checked = check(&program)?;
        swx::to_spec(&program, &checked, &sources).map_err(|fault| vec![fault])
    });
    (sources, made)
}

/// Returns the first fault of a program, as in [`Entries`]: its code, the line 0, and its message.
fn first(faults: Vec<P4Error>, sources: &Sources) -> Option<(String, u32, String)> {
    let fault = faults.into_iter().next();
    fault.map(|one| (one.code.to_string(), 0, one.render(sources)))
}

/// Reads a file of entries. `form` is one of the forms of `p4_entries`.
fn read_entries(
    layout: &xdp::layout::Layout,
    entries: &str,
    form: &str,
    info: Option<&str>,
) -> Result<Vec<xdp::entries::Entry>, xdp::entries::EntryError> {
    match form {
        "json" => xdp::runtime::from_json(layout, entries),
        "messages" => xdp::runtime::from_messages(layout, entries, info),
        _ => xdp::entries::parse(entries),
    }
}

/// Prints a pipeline with a statement or an instruction on each line, and without comments.
///
/// # Errors
/// `ValueError` for text that is not a pipeline.
#[pyfunction]
pub fn swx_print(text: &str) -> PyResult<String> {
    let spec = slowpath_swx::parse(text);
    Ok(slowpath_swx::print(&spec.map_err(|fault| PyValueError::new_err(fault.to_string()))?))
}

/// The description of a pipeline as JSON text; or a fault: its code, its line, and its message.
type Description = (Option<String>, Option<(String, u32, String)>);

/// Describes a pipeline: its tables, actions and numbers of instructions, as JSON text.
#[pyfunction]
pub fn swx_description(text: &str) -> Description {
    match slowpath_swx::parse(text) {
        Ok(spec) => (Some(description(&spec).to_string()), None),
        Err(fault) => (None, Some((fault.code.to_string(), fault.line.0, fault.message))),
    }
}

fn description(spec: &Spec) -> serde_json::Value {
    let names = |actions: &[ActionRef]| actions.iter().map(|one| one.name.clone()).collect();
    let table = |name: &str, kind: &str, key: Vec<_>, actions: Vec<String>, default, size| {
        json!({
            "name": name, "kind": kind, "key": key, "actions": actions, "default": default,
            "size": size,
        })
    };
    let key = |field: &FieldRef, kind: &str| json!({ "field": field.to_string(), "match": kind });
    let mut tables = Vec::new();
    for one in &spec.tables {
        let fields = one.key.iter().map(|part| {
            let kind = match part.kind {
                Match::Exact => "exact",
                Match::Wildcard => "wildcard",
                Match::Lpm => "lpm",
            };
            key(&part.field, kind)
        });
        let (fields, actions) = (fields.collect(), names(&one.actions));
        let default = Some(&one.default_action.name);
        tables.push(table(&one.name, "table", fields, actions, default, one.size));
    }
    for one in &spec.learners {
        let fields = one.key.iter().map(|field| key(field, "exact")).collect();
        let default = Some(&one.default_action.name);
        tables.push(table(&one.name, "learner", fields, names(&one.actions), default, one.size));
    }
    for one in &spec.selectors {
        let fields = one.fields.iter().map(|field| key(field, "selector")).collect();
        tables.push(table(&one.name, "selector", fields, Vec::new(), None, one.groups));
    }
    let actions = spec.actions.iter().map(
        |one| json!({ "name": one.name, "data": one.data, "instructions": one.instructions.len() }),
    );
    let headers: Vec<_> = spec.headers.iter().map(|one| &one.name).collect();
    json!({
        "headers": headers,
        "tables": tables,
        "actions": actions.collect::<Vec<_>>(),
        "instructions": spec.apply.len(),
    })
}

/// A translated program, with the warnings about the program's own files.
struct Translated {
    output: xdp::Output,
    warnings: Vec<P4Error>,
}

fn translate(
    file: &Path,
    text: &str,
    options: &Options,
    scratch: bool,
) -> (Sources, Result<Translated, Vec<P4Error>>) {
    let (tokens, sources) = match preprocess(file, text, options) {
        Ok(read) => read,
        Err((fault, sources)) => return (sources, Err(vec![fault])),
    };
    let c = parse(&tokens).map_err(|fault| vec![fault]).and_then(|program| {
        let checked = check(&program)?;
        let options = xdp::Options { scratch, ..xdp::Options::default() };
        let output = xdp::to_c(&program, &checked, &sources, options).map_err(|fault| vec![fault]);
        let own = |one: &&P4Error| {
            sources.files.get(one.span.file as usize).is_some_and(|file| !file.is_standard)
        };
        let warnings = checked.warnings.iter().filter(own).cloned().collect();
        output.map(|output| Translated { output, warnings })
    });
    (sources, c)
}

fn described(fault: P4Error, sources: &Sources, program: &Path) -> Fault {
    let file = sources.files.get(fault.span.file as usize).map_or(program, |one| &one.path);
    let P4Error { code, span, message } = &fault;
    let file = file.display().to_string();
    (code.to_string(), file, span.line, span.column, message.clone(), span.end)
}

/// Map content as JSON text; or a fault: its code, its line in the file of entries (0 if the fault
/// is in the program), and its message.
type Entries = (Option<String>, Option<(String, u32, String)>);

/// Returns the map content for a file with entries of a P4 program's tables, in the form that
/// `--maps` reads. Tables that the file does not name keep arbitrary content. The other tables have
/// the default action of the program, unless the file sets another one.
///
/// `form` is `lines` (one entry on each line), `json` (the files of p4lang's tutorials) or
/// `messages` (P4Runtime in text format, with the text of a P4Info file in `info`). The other
/// arguments are those of `p4_to_c`.
#[pyfunction]
#[allow(clippy::too_many_arguments, reason = "arguments of the Python function")]
pub fn p4_entries(
    py: Python<'_>,
    file: PathBuf,
    text: String,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    entries: String,
    form: &str,
    info: Option<String>,
) -> Entries {
    let form = form.to_owned();
    let options = Options { include_folders: folders, defines };
    py.detach(|| {
        let (sources, translated) = translate(&file, &text, &options, false);
        let layout = match translated {
            Ok(made) => made.output.layout,
            Err(faults) => return (None, first(faults, &sources)),
        };
        let read = read_entries(&layout, &entries, &form, info.as_deref());
        let written = read.and_then(|entries| xdp::entries::map_content(&layout, &entries));
        match written {
            Ok(maps) => (serde_json::to_string(&maps).ok(), None),
            Err(fault) => (None, Some((fault.code.to_string(), fault.line, fault.message))),
        }
    })
}

/// Input of a P4 program: a packet, the number of its port, and the content of maps by name. Each
/// entry of a map has a key and a value; the value is `None` if the element does not exist.
type P4Input = (Vec<u8>, u32, BTreeMap<String, Vec<(Vec<u8>, Option<Vec<u8>>)>>);

/// Runs a P4 program on packets, each with a port and content of maps. Returns JSON text: for each
/// packet, the result of the run (`Walk`), or null if it is unknown. The other arguments are those
/// of `p4_to_c`.
#[pyfunction]
pub fn p4_walks(
    py: Python<'_>,
    file: PathBuf,
    text: String,
    folders: Vec<PathBuf>,
    defines: Vec<(String, String)>,
    packets: Vec<P4Input>,
) -> String {
    let options = Options { include_folders: folders, defines };
    py.detach(|| {
        let walks = walked(&file, &text, &options, &packets);
        serde_json::to_string(&walks.unwrap_or_else(|| vec![None; packets.len()]))
            .unwrap_or_default()
    })
}

fn walked(
    file: &Path,
    text: &str,
    options: &Options,
    packets: &[P4Input],
) -> Option<Vec<Option<walk::Walk>>> {
    let (tokens, sources) = preprocess(file, text, options).ok()?;
    let program = parse(&tokens).ok()?;
    let checked = check(&program).ok()?;
    let layout = xdp::to_c(&program, &checked, &sources, xdp::Options::default()).ok()?.layout;
    let run = |(packet, port, content): &P4Input| {
        walk::walk(&program, &checked, (packet, *port), &layout, content)
    };
    Some(packets.iter().map(run).collect())
}

//! JSON Schemas that `slowpath schema` prints, derived from the serialised types.
//!
//! The schemas are files of the Python package. It validates saved results with them and generates
//! the tables of `docs/reference/json.md` from them. A test keeps the files up to date, so this
//! module is not part of the product.

use crate::compile::Shown;
use crate::result::{Detail, ProgramResult};
use crate::show::ShownObject;
use crate::verify::Verification;
use schemars::JsonSchema;
use serde::Serialize;
use slowpath_oracle::{check_golden, schema};

/// Output of `slowpath bound --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath bound")]
struct BoundDocument {
    /// Version of slowpath.
    slowpath: String,
    /// Version of clang, from its own output; absent if nothing was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    compiler: Option<String>,
    /// Results in the order of the command line, one for each program, including programs that
    /// could not be analysed.
    results: Vec<ProgramResult>,
    /// Notes, which standard error has too: a file or program, a colon, and a sentence. Absent in
    /// documents of versions before 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    notes: Option<Vec<String>>,
}

/// Output of `slowpath show --format json`. Instructions are numbered and counted in 8-byte slots
/// from the start of the linked program, as in the kernel.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath show")]
struct ShowDocument {
    /// Version of slowpath.
    slowpath: String,
    /// Version of clang, from its own output; absent if nothing was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    compiler: Option<String>,
    /// Notes, which standard error has too: a file or program, a colon, and a sentence. Absent in
    /// documents of versions before 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    notes: Option<Vec<String>>,
    /// Objects in the order of the command line.
    results: Vec<ShownObject>,
}

/// Output of `slowpath compile --format json`.
#[derive(Serialize, JsonSchema)]
#[schemars(title = "slowpath compile")]
struct CompileDocument {
    /// Version of slowpath.
    slowpath: String,
    /// Version of clang, from its own output; absent if nothing was compiled.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "String")]
    compiler: Option<String>,
    /// Notes, which standard error has too: a file or program, a colon, and a sentence. Absent in
    /// documents of versions before 0.3.
    #[serde(skip_serializing_if = "Option::is_none")]
    #[schemars(with = "Vec<String>")]
    notes: Option<Vec<String>>,
    /// Name of the target.
    target: String,
    #[serde(flatten)]
    compiled: Shown,
    /// Result of the equivalence check of the compiled program and the BPF program; null without
    /// `--verify`.
    verification: Option<Verification>,
}

#[test]
fn the_schemas_are_current() {
    let document = |name: &str, expected: &str| {
        check_golden(&format!("python/slowpath/core/schema/documents/{name}.json"), expected);
    };
    document("bound", &schema::<BoundDocument>());
    document("show", &schema::<ShowDocument>());
    document("compile", &schema::<CompileDocument>());
    // Not documents: only the Python package reads them.
    check_golden("tests/golden/schema/detail.json", &schema::<Detail>());
    check_golden("tests/golden/schema/compiled.json", &schema::<Shown>());
}

//! JSON Schemas that `slowpath schema` prints, derived from the serialised types.
//!
//! The schemas are files of the Python package. It validates saved results with them and generates
//! the tables of `docs/json.md` from them. A test keeps the files up to date, so this module is not
//! part of the product.

use crate::compile::Shown;
use crate::result::{Detail, ProgramResult};
use crate::show::ShownObject;
use crate::verify::Verification;
use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, transform};
use serde::Serialize;
use serde_json::Value;
use std::path::Path;

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
    /// Objects in the order of the command line.
    objects: Vec<ShownObject>,
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
    /// Name of the target.
    target: String,
    #[serde(flatten)]
    compiled: Shown,
    /// Result of the equivalence check of the two programs; null without `--verify`.
    verification: Option<Verification>,
}

/// Returns the schema of a type as serialised, with one line per paragraph in descriptions. Removes
/// the widths of numbers in Rust, which are not a format of JSON Schema.
fn schema<T: JsonSchema>() -> String {
    let settings = SchemaSettings::draft2020_12().for_serialize();
    let mut schema = settings.into_generator().into_root_schema_for::<T>();
    let mut tidy = |schema: &mut Schema| {
        schema.remove("format");
        if let Some(Value::String(text)) = schema.get_mut("description") {
            let paragraphs: Vec<_> = text.split("\n\n").map(|p| p.replace('\n', " ")).collect();
            *text = paragraphs.join("\n\n");
        }
    };
    transform::Transform::transform(&mut transform::RecursiveTransform(&mut tidy), &mut schema);
    let text = serde_json::to_string_pretty(&schema);
    text.unwrap_or_else(|error| panic!("a schema is JSON: {error}")) + "\n"
}

#[test]
fn the_schemas_are_current() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..");
    for (file, expected) in [
        ("python/slowpath/core/schema/documents/bound.json", schema::<BoundDocument>()),
        ("python/slowpath/core/schema/documents/show.json", schema::<ShowDocument>()),
        ("python/slowpath/core/schema/documents/compile.json", schema::<CompileDocument>()),
        // Not a document: only the Python package reads it.
        ("tests/golden/schema/detail.json", schema::<Detail>()),
    ] {
        let path = root.join(file);
        if std::env::var_os("SLOWPATH_BLESS").is_some() {
            std::fs::write(&path, expected).unwrap_or_else(|e| panic!("{}: {e}", path.display()));
            continue;
        }
        let text = std::fs::read_to_string(&path).unwrap_or_default();
        assert!(text == expected, "{} is out of date: run `make bless`", path.display());
    }
}

//! Compares outputs with expected outputs in the repository, which `make bless` renews.

use schemars::generate::SchemaSettings;
use schemars::{JsonSchema, Schema, transform};
use serde_json::Value;
use std::path::Path;

/// Compares a text with the content of a file, given by its path in the repository. If the
/// environment variable `SLOWPATH_BLESS` is set, writes the text to the file instead.
///
/// # Panics
///
/// If the content of the file differs from the text, or the file cannot be written.
#[track_caller]
pub fn check_golden(file: &str, expected: &str) {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(file);
    if std::env::var_os("SLOWPATH_BLESS").is_some() {
        std::fs::write(&path, expected).unwrap_or_else(|e| panic!("{file}: {e}"));
        return;
    }
    let text = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(text == expected, "{file} is out of date: run `make bless`");
}

/// Returns the JSON Schema of a serialised type. Line breaks within a paragraph of a description
/// are removed. Formats of numbers such as `uint32` are removed, because JSON Schema does not
/// define them.
///
/// # Panics
///
/// If the schema cannot be written as JSON.
#[must_use]
pub fn schema<T: JsonSchema>() -> String {
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

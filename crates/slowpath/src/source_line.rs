//! Source lines as `show` and `compile` write them.

use serde::Serialize;
use slowpath_bpf::BpfProgram;

/// A source line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Line"))]
pub(crate) struct ShownLine {
    /// The file, as the debug information names it.
    file: String,
    /// Number of the line.
    line: u32,
    /// Text of the line; empty when the object does not have it.
    text: String,
}

impl ShownLine {
    /// The line of the instruction at a slot, as far as known.
    pub fn of(program: &BpfProgram, slot: usize) -> Option<Self> {
        let line = program.lines.get(slot)?.as_ref()?;
        let (file, text) = (line.file.to_string(), line.text.to_string());
        Some(ShownLine { file, line: line.line, text })
    }
}

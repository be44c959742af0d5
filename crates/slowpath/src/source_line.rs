//! Describes source lines in the output of `show` and `compile`.

use serde::Serialize;
use slowpath_bpf::BpfProgram;

/// A source line of a program.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Line"))]
pub(crate) struct ShownLine {
    /// File name, from the debug information.
    file: String,
    /// Line number.
    line: u32,
    /// Text of the line; empty if the object does not contain it.
    text: String,
}

impl ShownLine {
    /// Returns the source line of the instruction at the index `slot`; `None` if the line is not
    /// known.
    pub fn of(program: &BpfProgram, slot: usize) -> Option<Self> {
        let line = program.lines.get(slot)?.as_ref()?;
        let (file, text) = (line.file.to_string(), line.text.to_string());
        Some(ShownLine { file, line: line.line, text })
    }
}

//! A compiler for BPF, where there is one.

use std::io::Write;
use std::process::{Command, Stdio};

use slowpath_oracle::Oracle;

/// Names under which clang is installed.
const NAMES: [&str; 9] = [
    "clang", "clang-22", "clang-21", "clang-20", "clang-19", "clang-18", "clang-17", "clang-16",
    "clang-15",
];

/// The compiler.
pub struct Clang(&'static str);

/// The compiler; without one that has BPF, says why the test does without.
pub fn clang() -> Option<Clang> {
    let found = NAMES.into_iter().map(Clang).find(|clang| clang.compile("int x;").is_ok());
    if found.is_none() {
        Oracle::Clang.missing("there is no clang with target bpf; try apt-get install clang");
    }
    found
}

impl Clang {
    /// Compiles a program in C to an object, optimised and with types.
    ///
    /// # Errors
    /// What the compiler says.
    pub fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        const FLAGS: [&str; 11] =
            ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-x", "c", "-c", "-o", "-"];
        let child = Command::new(self.0)
            .args(FLAGS)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|e| format!("{}: {e}", self.0))?;
        if let Some(mut input) = child.stdin.take() {
            input.write_all(text.as_bytes()).map_err(|e| e.to_string())?;
        }
        let output = child.wait_with_output().map_err(|e| e.to_string())?;
        if output.status.success() {
            Ok(output.stdout)
        } else {
            Err(String::from_utf8_lossy(&output.stderr).into_owned())
        }
    }
}

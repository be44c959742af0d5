//! Runs a compiler for BPF, if there is one.

use std::io::Write;
use std::process::{Command, Stdio};

use slowpath_oracle::Oracle;

/// Script that finds the compiler. The Python package and the Makefiles use it, too.
const FINDER: &str =
    concat!(env!("CARGO_MANIFEST_DIR"), "/../../python/slowpath/core/programs/compilers.py");

/// Common C source at the start of random programs: types and macros. `WORK(n)` executes a number
/// of instructions that grows with `n`.
pub const PRELUDE: &str = r#"
typedef unsigned char u8; typedef unsigned short u16; typedef unsigned int u32;
typedef unsigned long long u64; typedef int s32; typedef long long s64;
#define SEC(name) __attribute__((section(name), used))
#define WORK(n) do { _Pragma("clang loop unroll(full)") for (int j = 0; j < n; j++) { x = x * 3 + 1; \
	asm volatile("" : "+r"(x)); } } while (0)
struct xdp_md { u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex; };
char _license[] SEC("license") = "GPL";
"#;

/// The command that runs the compiler, as a list of words.
pub struct Clang(Vec<String>);

/// Returns the compiler. If there is none, reports the reason for skipping the test.
pub fn clang() -> Option<Clang> {
    match found() {
        Ok(clang) => Some(clang),
        Err(reason) => {
            Oracle::Clang.missing(&reason);
            None
        }
    }
}

/// Returns the compiler that the script finds, or the reason why there is none.
fn found() -> Result<Clang, String> {
    let run = Command::new("python3").arg(FINDER).output().map_err(|e| format!("python3: {e}"))?;
    if !run.status.success() {
        return Err(String::from_utf8_lossy(&run.stderr).trim().to_owned());
    }
    let words = String::from_utf8_lossy(&run.stdout);
    let clang = Clang(words.split_whitespace().map(str::to_owned).collect());
    clang.compile("int x;").map(|_| clang)
}

impl Clang {
    /// Compiles a C program to an object, with optimisation and with BTF types.
    ///
    /// # Errors
    /// The messages of the compiler.
    pub fn compile(&self, text: &str) -> Result<Vec<u8>, String> {
        const FLAGS: [&str; 11] =
            ["-O2", "-g", "-target", "bpf", "-mcpu=v3", "-Wall", "-x", "c", "-c", "-o", "-"];
        let Some((program, words)) = self.0.split_first() else {
            return Err("the compiler has no name".to_owned());
        };
        let child = Command::new(program)
            .args(words)
            .args(FLAGS)
            .arg("-")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn();
        let mut child = child.map_err(|e| format!("{program}: {e}"))?;
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

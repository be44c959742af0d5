//! Parses the verifier's log: finds the instruction that was rejected and the reason, and adds
//! advice.
//!
//! The messages are those of the kernel's `kernel/bpf/verifier.c`. They have no error codes, but
//! their wording changes little between versions. Unknown messages get no advice.

#[cfg(test)]
mod tests;

/// The reason why the verifier rejected a program.
#[derive(Debug, PartialEq, Eq)]
pub struct Verdict {
    /// The verifier's message after the last instruction that it visited.
    pub reason: String,
    /// Slot of the last instruction that the verifier visited; `None` if the log names none.
    pub at: Option<usize>,
    /// Advice to the user; empty if there is none.
    pub hint: &'static str,
}

/// Finds the verifier's reason in the lines of its log. Returns `None` if the log contains no
/// reason.
pub fn verdict(log: &[&str]) -> Option<Verdict> {
    let reason = reason(log);
    if reason.is_empty() {
        return None;
    }
    let at = log.iter().rev().find_map(|line| instruction(line));
    let hint = HINTS.iter().find(|(words, _)| reason.contains(words)).map_or("", |(_, hint)| hint);
    Some(Verdict { reason, at, hint })
}

/// Returns the message that follows the last instruction which the verifier visited.
fn reason(log: &[&str]) -> String {
    let statistics = ["processed ", "verification time ", "stack depth "];
    let is_statistics = |line: &&&str| statistics.iter().any(|start| line.starts_with(start));
    // Instructions and states start with their number, source lines with a semicolon.
    let is_message = |line: &&&str| !line.starts_with(|c: char| c == ';' || c.is_ascii_digit());
    let lines = log.iter().rev().skip_while(is_statistics).take_while(is_message);
    let mut message: Vec<&str> = lines.take(3).copied().collect();
    message.reverse();
    let message = message.join("; ");
    // Some messages lack a newline at their end.
    message.split("processed ").next().unwrap_or_default().to_owned()
}

/// Parses the slot of an instruction in a line such as `7: (71) r3 = *(u8 *)(r2 +12)`.
fn instruction(line: &str) -> Option<usize> {
    let (number, rest) = line.split_once(": ")?;
    rest.starts_with('(').then(|| number.parse().ok())?
}

/// Advice for messages of the verifier, as pairs: a text that occurs in the message, and the
/// advice. The first pair whose text occurs applies.
const HINTS: [(&str, &str); 19] = [
    (
        "invalid access to packet",
        "compare the bytes with data_end on every path, with the pointer that is read",
    ),
    ("pointer arithmetic on pkt_end", "compare with data_end, and compute from data"),
    (
        "invalid bpf_context access",
        "access only fields of struct xdp_md that this kernel has, and do not write to read-only \
         fields",
    ),
    ("map_value_or_null", "compare the result of the lookup with NULL first"),
    ("_or_null", "compare the pointer with NULL first"),
    ("cannot use helper", "XDP programs cannot call this helper in this kernel"),
    ("cannot call GPL", "the helper is for programs with the license GPL: SEC(\"license\")"),
    ("invalid func unknown", "a newer kernel may have this helper"),
    ("unknown func", "a newer kernel may have this helper"),
    ("calling kernel function", "XDP programs may not call this function of the kernel here"),
    ("!read_ok", "the register has no value on some path; set it or return a value on every path"),
    ("pointer prohibited", "pointers can only be moved by numbers"),
    ("outside of the allowed memory range", "compare the index with the size first"),
    ("outside of the array range", "compare the index with the size first"),
    ("unbounded memory access", "bound the size or index first, with a comparison or a mask (&)"),
    ("infinite loop detected", "give the loop a counter that the compiler keeps, or use bpf_loop"),
    ("back-edge", "give the loop a counter with a limit, or unroll it"),
    ("program is too large", "make loops shorter, or put their bodies into global functions"),
    (
        "combined stack size",
        "all functions together may use 512 bytes: make arrays smaller, or move them to a map",
    ),
];

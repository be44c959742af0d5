//! Disassembles words with the BFD disassembler, to check our own decoder. The disassembler is
//! `objdump`, or the program that the environment variable `SLOWPATH_NFP_OBJDUMP` names. It is used
//! only if it supports this device.

use slowpath_oracle::Oracle;
use std::process::Command;

/// Returns a disassembler that supports this device. Without one, reports why the test is skipped.
pub fn find() -> Option<String> {
    let program = std::env::var("SLOWPATH_NFP_OBJDUMP").unwrap_or_else(|_| "objdump".to_owned());
    let Ok(output) = Command::new(&program).arg("-i").output() else {
        Oracle::Disassembler.missing(format_args!("there is no `{program}`"));
        return None;
    };
    if String::from_utf8_lossy(&output.stdout).contains("elf64-nfp") {
        return Some(program);
    }
    Oracle::Disassembler.missing(format_args!(
        "`{program}` does not know the Netronome flow processor; SLOWPATH_NFP_OBJDUMP can name one \
         that does (binutils configured with --target=nfp-elf)"
    ));
    None
}

/// Returns the lines that the disassembler prints for these words, with a single space between the
/// words of each line.
pub fn disassemble(objdump: &str, name: &str, words: &[u64]) -> Vec<String> {
    let path = std::env::temp_dir().join(format!("slowpath-{}-{name}.elf", std::process::id()));
    std::fs::write(&path, object(words)).expect("a temporary file can be written");
    let output = Command::new(objdump)
        .args(["-d", "-z", "-M", "ctx4", "--no-show-raw-insn"])
        .arg(&path)
        .output()
        .expect("the disassembler runs");
    std::fs::remove_file(&path).expect("the temporary file can be removed");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    let text = String::from_utf8_lossy(&output.stdout).into_owned();
    text.lines().map(blanks_reduced).filter(|line| line.contains(": .")).collect()
}

/// Returns a line with a single space between its words.
pub fn blanks_reduced(line: &str) -> String {
    line.split_whitespace().collect::<Vec<_>>().join(" ")
}

/// Section names: none, `.text`, `.shstrtab`.
const NAMES: &[u8] = b"\0.text\0.shstrtab";
const HEADER_BYTES: u64 = 64;
const SECTION_BYTES: u64 = 64;

/// Returns a minimal ELF object with these words as code. The disassembler needs the sections of an
/// object and fails on plain words.
fn object(words: &[u64]) -> Vec<u8> {
    let code_bytes = 8 * words.len() as u64;
    let names_at = HEADER_BYTES + code_bytes;
    let names_bytes = NAMES.len() as u64 + 1;
    let sections_at = (names_at + names_bytes).next_multiple_of(8);
    let mut bytes = b"\x7fELF\x02\x01\x01".to_vec();
    bytes.resize(16, 0);
    // Relocatable file for this machine, current version.
    bytes.extend([1u16, 250].into_iter().flat_map(u16::to_le_bytes));
    bytes.extend(1u32.to_le_bytes());
    bytes.extend([0, 0, sections_at].into_iter().flat_map(u64::to_le_bytes));
    // Flags: the generation of the device.
    bytes.extend((0x6000u32 << 8).to_le_bytes());
    let sizes = [HEADER_BYTES as u16, 0, 0, SECTION_BYTES as u16, 3, 2];
    bytes.extend(sizes.into_iter().flat_map(u16::to_le_bytes));
    bytes.extend(words.iter().flat_map(|word| word.to_le_bytes()));
    bytes.extend(NAMES);
    bytes.resize(sections_at as usize, 0);
    let mut section = |name: u32, kind: u32, flags: u64, offset: u64, size: u64| {
        bytes.extend([name, kind].into_iter().flat_map(u32::to_le_bytes));
        bytes.extend([flags, 0, offset, size].into_iter().flat_map(u64::to_le_bytes));
        bytes.extend([0; 8]);
        bytes.extend([8u64, 0].into_iter().flat_map(u64::to_le_bytes));
    };
    section(0, 0, 0, 0, 0);
    // Code, allocated and executable.
    section(1, 1, 2 | 4, HEADER_BYTES, code_bytes);
    section(7, 3, 0, names_at, names_bytes);
    bytes
}

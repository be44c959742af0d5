//! Tests that the running kernel's verifier accepts every example as this project parses and links
//! it, and that the kernel runs it.

use crate::support;

use slowpath_bpf::ProgramKind;
use slowpath_oracle::Oracle;
use support::{kernel, object, packets, path};

/// Largest valid XDP action (`XDP_REDIRECT`).
const LAST_ACTION: u32 = 4;

#[test]
fn examples_load_and_return_an_action() {
    let Some(kernel) = kernel() else { return };
    let directory = path("../../examples");
    let entries = std::fs::read_dir(&directory).unwrap_or_else(|e| panic!("examples: {e}"));
    let mut files: Vec<_> = entries.flatten().map(|e| e.path()).collect();
    files.retain(|f| f.file_name().is_some_and(|n| n.to_string_lossy().ends_with(".bpf.o")));
    files.sort();
    assert!(!files.is_empty(), "there are no examples");
    let (mut faults, mut loads) = (Vec::new(), 0);
    for file in &files {
        let name = file.file_name().unwrap_or_default().to_string_lossy().into_owned();
        let object = object(file);
        for (number, program) in object.programs.iter().enumerate() {
            if program.kind != ProgramKind::Xdp {
                continue;
            }
            let loaded = match kernel.load(&object, number) {
                Ok(loaded) => loaded,
                Err(fault) => {
                    faults.push(format!("{name}: {fault}"));
                    continue;
                }
            };
            loads += 1;
            for (kind, packet) in packets() {
                match loaded.run(&packet, 1) {
                    Ok(run) if run.return_value <= LAST_ACTION => {}
                    Ok(run) => faults.push(format!("{name}, {kind}: {}", run.return_value)),
                    Err(fault) => faults.push(format!("{name}, {kind}: {fault}")),
                }
            }
        }
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Kernel.compared(loads, "examples");
}

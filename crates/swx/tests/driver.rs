//! Compiles and runs test programs that use DPDK.

use std::path::{Path, PathBuf};
use std::process::Command;

use slowpath_oracle::Oracle;

/// Runs a function with a new, empty folder, and then removes the folder.
pub fn in_folder(name: &str, run: impl FnOnce(&Path)) {
    let folder = std::env::temp_dir().join(format!("slowpath-swx-{name}-{}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
    run(&folder);
    std::fs::remove_dir_all(&folder).expect("the temporary folder is ours");
}

/// Compiles a C program that uses DPDK, and returns the path of the binary. Without DPDK, records
/// that the comparison with DPDK is not possible, and returns `None`.
pub fn compiled(source: &str, folder: &Path) -> Option<PathBuf> {
    let flags = Command::new("pkg-config").args(["--cflags", "--libs", "libdpdk"]).output();
    let flags = match flags {
        Ok(output) if output.status.success() => output.stdout,
        _ => {
            Oracle::Dpdk
                .missing("pkg-config finds no libdpdk; apt install libdpdk-dev gcc pkg-config");
            return None;
        }
    };
    let source = Path::new(env!("CARGO_MANIFEST_DIR")).join(source);
    let binary = folder.join("program");
    let compiled = Command::new("cc")
        .args(["-march=native", "-o"])
        .args([&binary, &source])
        .args(String::from_utf8_lossy(&flags).split_whitespace())
        .status();
    assert!(compiled.is_ok_and(|status| status.success()), "cc compiles {}", source.display());
    Some(binary)
}

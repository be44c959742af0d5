//! Runs SWX pipelines in DPDK's interpreter. Tests of the crate `kernel` use this module, too.

use std::io::{BufRead, BufReader, Lines, Write};
use std::path::{Path, PathBuf};
use std::process::{Child, ChildStdin, ChildStdout, Command, Stdio};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicU32, Ordering};

use slowpath_oracle::Oracle;
use slowpath_swx::spec::Spec;

/// Returns the path of the compiled driver. Without DPDK, prints the reason why the test is
/// skipped, and returns `None`.
pub fn driver() -> Option<&'static Path> {
    match compiled() {
        Ok(driver) => Some(driver),
        Err(reason) => {
            Oracle::Dpdk.missing(reason);
            None
        }
    }
}

fn compiled() -> &'static Result<PathBuf, String> {
    static DRIVER: OnceLock<Result<PathBuf, String>> = OnceLock::new();
    DRIVER.get_or_init(|| {
        let flags = |option| {
            let run = Command::new("pkg-config").args([option, "libdpdk"]).output();
            let run = run.map_err(|e| format!("pkg-config: {e}; install libdpdk-dev"))?;
            if !run.status.success() {
                return Err("pkg-config finds no libdpdk; install libdpdk-dev".to_owned());
            }
            let text = String::from_utf8_lossy(&run.stdout).into_owned();
            Ok(text.split_whitespace().map(str::to_owned).collect::<Vec<_>>())
        };
        let path = std::env::temp_dir().join(format!("slowpath-swx-{}", std::process::id()));
        let run = Command::new("cc")
            .args(["-O1", "-march=native"])
            .args(flags("--cflags")?)
            .arg(Path::new(env!("CARGO_MANIFEST_DIR")).join("../p4/tests/dpdk/driver.c"))
            .arg("-o")
            .arg(&path)
            .args(flags("--libs")?)
            .output()
            .map_err(|e| format!("cc: {e}; install gcc"))?;
        match run.status.success() {
            true => Ok(path),
            false => Err(String::from_utf8_lossy(&run.stderr).into_owned()),
        }
    })
}

/// A running pipeline, in a process of its own.
pub struct Pipeline {
    process: Child,
    input: Option<ChildStdin>,
    output: Lines<BufReader<ChildStdout>>,
    folder: PathBuf,
}

impl Pipeline {
    /// Starts the driver with a pipeline.
    ///
    /// # Errors
    ///
    /// Returns the message of DPDK or of the driver, together with the text of the pipeline.
    pub fn start(spec: &Spec) -> Result<Pipeline, String> {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let driver = compiled().as_ref().map_err(String::clone)?;
        let number = NUMBER.fetch_add(1, Ordering::Relaxed);
        let folder = format!("slowpath-swx-{}-{number}.d", std::process::id());
        let folder = std::env::temp_dir().join(folder);
        std::fs::create_dir_all(&folder).expect("the temporary folder is writable");
        let file = folder.join("program.spec");
        let text = slowpath_swx::print_with_origins(spec);
        std::fs::write(&file, &text).expect("the temporary folder is writable");
        let mut process = Command::new(driver)
            .args(["--no-huge", "--no-pci", "--no-telemetry", "--no-shconf"])
            .args(["--log-level=lib.eal:1", "-m", "128", "-l", "0", "--"])
            .arg(&file)
            .env("RUNTIME_DIRECTORY", &folder)
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .spawn()
            .map_err(|e| format!("{}: {e}", driver.display()))?;
        let input = process.stdin.take();
        let output = BufReader::new(process.stdout.take().expect("a pipe")).lines();
        let mut pipeline = Pipeline { process, input, output, folder };
        match pipeline.answer() {
            answer if answer == "ready" => Ok(pipeline),
            answer => Err(format!("{answer}\n{text}")),
        }
    }

    /// Sends a command to the driver, and returns the reply (`driver.c` lists the commands).
    pub fn ask(&mut self, command: &str) -> String {
        // A process that ended has no answer.
        let _: std::io::Result<()> = match &mut self.input {
            Some(input) => writeln!(input, "{command}"),
            None => Ok(()),
        };
        self.answer()
    }

    fn answer(&mut self) -> String {
        match self.output.next() {
            Some(Ok(line)) => line,
            _ => "error the driver ended".to_owned(),
        }
    }
}

impl Drop for Pipeline {
    fn drop(&mut self) {
        self.input = None;
        let _: std::io::Result<_> = self.process.wait();
        let _: std::io::Result<_> = std::fs::remove_dir_all(&self.folder);
    }
}

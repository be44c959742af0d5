//! Translates, compiles and loads P4 programs, and runs packets through them in the running kernel.

use std::path::{Path, PathBuf};

use slowpath_bpf::Object;
use slowpath_kernel::{Kernel, LoadedProgram};
use slowpath_p4::ast::Program;
use slowpath_p4::check::Checked;
use slowpath_p4::token::Sources;
use slowpath_p4::xdp::entries::{Entry, parse, updates};
use slowpath_p4::xdp::layout::Layout;
use slowpath_p4::xdp::{Options, Output, to_c};
use slowpath_p4::{P4Error, preprocess, swx};

use super::clang::Clang;

/// A packet that a program sends: its output port and its bytes.
pub type Sent = (u32, Vec<u8>);

/// A loaded P4 program.
pub struct P4 {
    loaded: LoadedProgram,
    /// Layout of the program's maps.
    pub layout: Layout,
}

/// A P4 program after parsing and type checking.
pub struct Source {
    program: Program,
    checked: Checked,
    sources: Sources,
}

impl Source {
    /// Parses and checks a program. `folders` are searched for included files.
    ///
    /// # Errors
    ///
    /// The first error, with its source position.
    pub fn read(path: &Path, text: &str, folders: &[PathBuf]) -> Result<Source, String> {
        let options =
            preprocess::Options { include_folders: folders.to_vec(), ..Default::default() };
        let read = preprocess::preprocess(path, text, &options);
        let (tokens, sources) = read.map_err(|(error, sources)| error.render(&sources))?;
        let shown = |error: P4Error| error.render(&sources);
        let program = slowpath_p4::parse(&tokens).map_err(shown)?;
        let checked = slowpath_p4::check(&program);
        let checked = checked.map_err(|errors| errors.into_iter().map(shown).next());
        let checked = checked.map_err(|error| error.unwrap_or_default())?;
        Ok(Source { program, checked, sources })
    }

    /// Translates the program to C that stores its output port in a map. With `scratch`, variables
    /// are in a map and not on the stack.
    ///
    /// # Errors
    ///
    /// A message about the construct that cannot be translated.
    pub fn to_c(&self, scratch: bool) -> Result<Output, String> {
        let options = Options { scratch, record: true };
        let made = to_c(&self.program, &self.checked, &self.sources, options);
        made.map_err(|error| error.render(&self.sources))
    }

    /// Translates the program to a DPDK pipeline.
    ///
    /// # Errors
    ///
    /// A message about the construct that cannot be translated.
    pub fn to_spec(&self) -> Result<swx::Output, String> {
        let made = swx::to_spec(&self.program, &self.checked, &self.sources);
        made.map_err(|error| error.render(&self.sources))
    }
}

/// Translates a program to C that stores its output port in a map. With `scratch`, variables are in
/// a map and not on the stack.
///
/// # Panics
///
/// If the program cannot be parsed, checked or translated.
pub fn translate(text: &str, scratch: bool) -> Output {
    let made = Source::read(Path::new("test.p4"), text, &[]);
    let made = made.and_then(|source| source.to_c(scratch));
    made.unwrap_or_else(|fault| panic!("{fault}\n{text}"))
}

impl P4 {
    /// Translates, compiles and loads a program.
    ///
    /// # Panics
    ///
    /// If the program cannot be translated, compiled or loaded.
    pub fn load(kernel: &Kernel, clang: &Clang, text: &str, scratch: bool) -> P4 {
        let program = P4::load_if_it_fits(kernel, clang, text, scratch);
        program.expect("the program needs at most 512 bytes of stack")
    }

    /// Like [`P4::load`], but returns `None` if the program needs more stack than the kernel
    /// allows.
    ///
    /// # Panics
    ///
    /// As [`P4::load`].
    pub fn load_if_it_fits(
        kernel: &Kernel,
        clang: &Clang,
        text: &str,
        scratch: bool,
    ) -> Option<P4> {
        P4::made(kernel, clang, translate(text, scratch)).unwrap_or_else(|fault| panic!("{fault}"))
    }

    /// Compiles and loads a translated program, and writes the table entries that the program
    /// declares to its maps. Returns `None` if the program needs more stack than the kernel allows.
    ///
    /// # Errors
    ///
    /// The messages of the compiler or of the kernel.
    pub fn made(kernel: &Kernel, clang: &Clang, output: Output) -> Result<Option<P4>, String> {
        let data = match clang.compile(&output.c) {
            Ok(data) => data,
            Err(fault) if fault.contains("BPF stack limit") => return Ok(None),
            Err(fault) => return Err(format!("{fault}\n{}", output.c)),
        };
        let object = Object::parse(&data).map_err(|e| format!("{e}\n{}", output.c))?;
        let loaded = kernel.load(&object, 0).map_err(|e| format!("{e}\n{}", output.c))?;
        let program = P4 { loaded, layout: output.layout };
        if let Some(ports) = program.loaded.map("ports") {
            // Test runs need a device for each port; all have the loopback device.
            let keys: Vec<u8> = (0u32..512).flat_map(u32::to_ne_bytes).collect();
            ports.update_each(&keys, &1u32.to_ne_bytes()).map_err(|e| e.to_string())?;
        }
        program.try_write(&[])?;
        Ok(Some(program))
    }

    /// Writes table entries to the maps: `entries`, and those that the program declares.
    ///
    /// # Errors
    ///
    /// A message about the entry that does not fit.
    pub fn try_write(&self, entries: &[Entry]) -> Result<(), String> {
        for update in updates(&self.layout, entries).map_err(|e| e.to_string())? {
            // The compiler removes tables that no packet reaches.
            if let Some(map) = self.loaded.map(&update.map) {
                map.update(&update.key, &update.value).map_err(|e| e.to_string())?;
            }
        }
        Ok(())
    }

    /// Writes table entries to the maps: those in the text `entries`, and those that the program
    /// declares.
    ///
    /// # Panics
    ///
    /// If an entry does not fit.
    pub fn write(&self, entries: &str) {
        self.write_changed(entries, "", |_| ());
    }

    /// Like [`P4::write`], but first applies `change` to each value that is written to the map
    /// `changed`.
    ///
    /// # Panics
    ///
    /// If an entry does not fit.
    pub fn write_changed(&self, entries: &str, changed: &str, change: impl Fn(&mut [u8])) {
        let entries = parse(entries).unwrap_or_else(|e| panic!("{e}"));
        for mut update in updates(&self.layout, &entries).unwrap_or_else(|e| panic!("{e}")) {
            if update.map == changed {
                change(&mut update.value);
            }
            let map = self.loaded.map(&update.map);
            let map = map.unwrap_or_else(|| panic!("there is no map {}", update.map));
            map.update(&update.key, &update.value).unwrap_or_else(|e| panic!("{e}"));
        }
    }

    /// Sets the element at index `at` of an array.
    ///
    /// # Panics
    ///
    /// If the map does not exist or the kernel refuses the value.
    pub fn set(&self, map: &str, at: u32, value: &[u8]) {
        let map = self.loaded.map(map).unwrap_or_else(|| panic!("there is no map {map}"));
        map.update(&at.to_ne_bytes(), value).unwrap_or_else(|e| panic!("{e}"));
    }

    /// Runs a packet, and returns the packet that the program sends. Returns `None` if the program
    /// drops the packet.
    ///
    /// # Panics
    ///
    /// If the kernel does not run the packet.
    pub fn run(&self, packet: &[u8]) -> Option<Sent> {
        let run = self.loaded.run(packet, 1).unwrap_or_else(|e| panic!("{e}"));
        // Aborted, or dropped.
        if run.return_value < 2 {
            return None;
        }
        let port = self.loaded.map("record").map_or(0, |record| number(&element(record, 0)[0]));
        Some((port as u32, run.packet))
    }

    /// Returns the messages in the ring buffer `map`.
    ///
    /// # Panics
    ///
    /// If the map does not exist or cannot be read.
    pub fn messages(&self, map: &str) -> Vec<Vec<u8>> {
        let map = self.loaded.map(map).unwrap_or_else(|| panic!("there is no map {map}"));
        map.unread().unwrap_or_else(|e| panic!("{e}"))
    }

    /// Returns the values of the array element at index `at`: one for each CPU in per-CPU maps,
    /// else one.
    pub fn element(&self, map: &str, at: u32) -> Vec<Vec<u8>> {
        element(self.loaded.map(map).unwrap_or_else(|| panic!("there is no map {map}")), at)
    }
}

fn element(map: &slowpath_kernel::Map, at: u32) -> Vec<Vec<u8>> {
    let values = map.lookup_all(&at.to_ne_bytes()).unwrap_or_else(|e| panic!("{e}"));
    values.expect("an element of an array")
}

/// Decodes an unsigned number in little-endian byte order.
pub fn number(bytes: &[u8]) -> u64 {
    bytes.iter().rev().fold(0, |sum, byte| sum << 8 | u64::from(*byte))
}

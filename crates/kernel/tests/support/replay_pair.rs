//! Runs a program in the kernel and in slowpath's interpreter ([`Replay`]). Describes differences
//! of the results as text, and remembers the elements that were installed in maps.

use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_bpf::lift::{Lifted, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_kernel::witness::{bytes, context};
use slowpath_kernel::{Context, Kernel, LoadedProgram};
use slowpath_replay::{Entry, PathRecord, Replay, ReplayError, Step};

/// A program that is loaded into the kernel and into the interpreter.
pub struct ReplayPair {
    pub replay: Replay,
    pub lifted: Arc<Lifted>,
    /// Elements that were put into maps so far, each with the name of its map.
    pub installed: Vec<(String, Entry)>,
    /// True if the last comparison was inconclusive. In the interpreter, helpers may have several
    /// results. No tried combination led to the kernel's result, but not all combinations were
    /// tried.
    pub undecided: bool,
}

fn text(fault: ReplayError) -> String {
    fault.to_string()
}

impl ReplayPair {
    /// Loads and lifts the program at index `number` of an object. Its maps are new.
    pub fn new(kernel: &Kernel, object: &Object, number: usize) -> Result<ReplayPair, String> {
        ReplayPair::of(kernel, object, number, ReplayPair::lifted(kernel, object, number)?)
    }

    /// Lifts the program at index `number` of an object to the intermediate representation, without
    /// loading it.
    pub fn lifted(kernel: &Kernel, object: &Object, number: usize) -> Result<Lifted, String> {
        Replay::lift(kernel, object, number).map_err(text)
    }

    /// Loads a program that is already lifted. Its maps are new.
    pub fn of(
        kernel: &Kernel,
        object: &Object,
        number: usize,
        lifted: Lifted,
    ) -> Result<ReplayPair, String> {
        let mut replay = Replay::of(kernel, object, number, lifted).map_err(text)?;
        replay.use_path_record(PathRecord { map: "out".to_owned(), path_bytes: 0 });
        let lifted = replay.lifted().clone();
        Ok(ReplayPair { replay, lifted, installed: Vec::new(), undecided: false })
    }

    /// Declares that the program writes its path to the first `path_bytes` bytes of the map `out`.
    /// From then on, the interpreter chooses unknown results of helpers such that it takes the
    /// kernel's path.
    pub fn report_path(&mut self, path_bytes: u64) {
        self.replay.use_path_record(PathRecord { map: "out".to_owned(), path_bytes });
    }

    pub fn loaded(&self) -> &LoadedProgram {
        self.replay.loaded()
    }

    /// Puts an element into a map, in kernel and interpreter.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry) -> Result<(), String> {
        if self.loaded().map(&layout.name).is_none() {
            return Ok(());
        }
        self.replay.put(&layout.name, entry).map_err(text)?;
        self.installed.push((layout.name.clone(), entry.clone()));
        Ok(())
    }

    /// Puts an element into an inner map, in kernel and interpreter. `name` is the name of the
    /// inner map.
    pub fn install_inner(
        &mut self,
        layout: &MapLayout,
        name: &str,
        entry: &Entry,
    ) -> Result<(), String> {
        let outer = layout.name.strip_suffix(".inner").unwrap_or_default();
        match self.replay.put_inner(outer, name, entry) {
            Err(ReplayError::NoMap { .. }) => return Ok(()),
            done => done.map_err(text)?,
        }
        self.installed.push((name.to_owned(), entry.clone()));
        Ok(())
    }

    /// Puts an element into a queue or stack, in kernel and interpreter.
    pub fn enqueue(&mut self, layout: &MapLayout, value: &[u8]) -> Result<(), String> {
        if self.loaded().map(&layout.name).is_none() {
            return Ok(());
        }
        let entry = Entry { key: Vec::new(), value: value.to_vec() };
        self.replay.put(&layout.name, &entry).map_err(text)
    }

    /// Returns the keys that a packet makes the program look up in a map. The list is empty for
    /// types of maps whose keys the interpreter does not track.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.replay.keys(layout, packet)
    }

    /// Runs a packet in kernel and interpreter, and compares the results.
    pub fn compare(&mut self, packet: &[u8]) -> Result<Run, String> {
        let step = self.replay.run(packet, &Context::default());
        self.undecided = matches!(step, Err(ReplayError::Undecided(_)));
        step.map(|step| step.run).map_err(text)
    }

    /// Describes the differences between the maps of kernel and interpreter, in one sentence each.
    pub fn differing_maps(&self) -> Vec<String> {
        self.replay.differing_maps()
    }

    /// Installs the map content of a witness, and runs its packet in kernel and interpreter.
    pub fn replay(&mut self, witness: &Value) -> Result<Step, String> {
        self.replay.install(witness).map_err(text)?;
        self.replay.run(&bytes(&witness["packet"]), &context(witness)).map_err(text)
    }
}

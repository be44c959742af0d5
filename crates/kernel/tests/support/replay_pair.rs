//! A program in the kernel and in the concrete interpreter ([`Replay`]), with faults as text and a
//! record of the installed elements.

use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_bpf::lift::{Lifted, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_kernel::witness::{bytes, context};
use slowpath_kernel::{Context, Kernel, LoadedProgram};
use slowpath_replay::{Entry, PathRecord, Replay, ReplayError, Step};

/// The two programs.
pub struct ReplayPair {
    pub replay: Replay,
    pub lifted: Arc<Lifted>,
    /// Elements put into maps, by the map's name.
    pub installed: Vec<(String, Entry)>,
    /// True if the last comparison found no choice of open values with the kernel's results, but
    /// has not tried all.
    pub undecided: bool,
}

fn text(fault: ReplayError) -> String {
    fault.to_string()
}

impl ReplayPair {
    /// Loads and lifts the program with this number, with fresh maps.
    pub fn new(kernel: &Kernel, object: &Object, number: usize) -> Result<ReplayPair, String> {
        ReplayPair::of(kernel, object, number, ReplayPair::lifted(kernel, object, number)?)
    }

    /// Lifts the program with this number.
    pub fn lifted(kernel: &Kernel, object: &Object, number: usize) -> Result<Lifted, String> {
        Replay::lift(kernel, object, number).map_err(text)
    }

    /// Loads the program with fresh maps, and uses an earlier result of lifting.
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

    /// States that the first `path_bytes` bytes of the map `out` identify the path. The interpreter
    /// then has to take the kernel's path, whatever values it assumes for open ones.
    pub fn report_path(&mut self, path_bytes: u64) {
        self.replay.use_path_record(PathRecord { map: "out".to_owned(), path_bytes });
    }

    pub fn loaded(&self) -> &LoadedProgram {
        self.replay.loaded()
    }

    /// Puts an element into a map of both.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry) -> Result<(), String> {
        if self.loaded().map(&layout.name).is_none() {
            return Ok(());
        }
        self.replay.put(&layout.name, entry).map_err(text)?;
        self.installed.push((layout.name.clone(), entry.clone()));
        Ok(())
    }

    /// Puts an element into an inner map of both; `name` is the inner map's name.
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

    /// Puts an element into a queue or stack of both.
    pub fn enqueue(&mut self, layout: &MapLayout, value: &[u8]) -> Result<(), String> {
        if self.loaded().map(&layout.name).is_none() {
            return Ok(());
        }
        let entry = Entry { key: Vec::new(), value: value.to_vec() };
        self.replay.put(&layout.name, &entry).map_err(text)
    }

    /// Returns the keys that the program looks up in a map for a packet, of those to which the
    /// interpreter assigns numbers.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.replay.keys(layout, packet)
    }

    /// Runs a packet in both, and compares the results.
    pub fn compare(&mut self, packet: &[u8]) -> Result<Run, String> {
        let step = self.replay.run(packet, &Context::default());
        self.undecided = matches!(step, Err(ReplayError::Undecided(_)));
        step.map(|step| step.run).map_err(text)
    }

    /// Returns the differences between the maps of both, one sentence for each.
    pub fn differing_maps(&self) -> Vec<String> {
        self.replay.differing_maps()
    }

    /// Installs a witness's map content and runs its packet in both.
    pub fn replay(&mut self, witness: &Value) -> Result<Step, String> {
        self.replay.install(witness).map_err(text)?;
        self.replay.run(&bytes(&witness["packet"]), &context(witness)).map_err(text)
    }
}

//! A program twice, as tests use it ([`Replay`]): faults are texts, and what was put into maps is
//! remembered.

use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_bpf::lift::{Lifted, MapLayout};
use slowpath_exec::concrete::Run;
use slowpath_kernel::witness::{bytes, context};
use slowpath_kernel::{Context, Kernel, Loaded};
use slowpath_replay::{Entry, Replay, ReplayError, Step, Telling};

/// The two.
pub struct Twin {
    pub replay: Replay,
    pub lifted: Arc<Lifted>,
    /// What was put into maps, by the map's name.
    pub installed: Vec<(String, Entry)>,
    /// Whether the last comparison found no choice that does what the kernel did, but has not tried
    /// all.
    pub undecided: bool,
}

fn text(fault: ReplayError) -> String {
    fault.to_string()
}

impl Twin {
    /// Loads and lifts the program with this number. All maps are as the kernel makes them.
    pub fn new(kernel: &Kernel, object: &Object, number: usize) -> Result<Twin, String> {
        Twin::of(kernel, object, number, Twin::lifted(kernel, object, number)?)
    }

    /// Lifts the program with this number.
    pub fn lifted(kernel: &Kernel, object: &Object, number: usize) -> Result<Lifted, String> {
        Replay::lift(kernel, object, number).map_err(text)
    }

    /// Loads the program and starts with all maps as the kernel makes them.
    pub fn of(
        kernel: &Kernel,
        object: &Object,
        number: usize,
        lifted: Lifted,
    ) -> Result<Twin, String> {
        let mut replay = Replay::of(kernel, object, number, lifted).map_err(text)?;
        replay.listen(Telling { map: "out".to_owned(), path_bytes: 0 });
        let lifted = replay.lifted().clone();
        Ok(Twin { replay, lifted, installed: Vec::new(), undecided: false })
    }

    /// So many bytes at the start of the map `out` tell paths apart: the interpreter has to find the
    /// kernel's path, whatever it takes for open values.
    pub fn tells_its_path(&mut self, path_bytes: u64) {
        self.replay.listen(Telling { map: "out".to_owned(), path_bytes });
    }

    pub fn loaded(&self) -> &Loaded {
        self.replay.loaded()
    }

    /// Puts an element into a map, in both.
    pub fn install(&mut self, layout: &MapLayout, entry: &Entry) -> Result<(), String> {
        if self.loaded().map(&layout.name).is_none() {
            return Ok(());
        }
        self.replay.put(&layout.name, entry).map_err(text)?;
        self.installed.push((layout.name.clone(), entry.clone()));
        Ok(())
    }

    /// Puts an element into a map that a map of maps holds, in both; `name` is its own.
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

    /// Puts an element into a queue or stack, in both.
    pub fn enqueue(&mut self, layout: &MapLayout, value: &[u8]) -> Result<(), String> {
        if self.loaded().map(&layout.name).is_none() {
            return Ok(());
        }
        let entry = Entry { key: Vec::new(), value: value.to_vec() };
        self.replay.put(&layout.name, &entry).map_err(text)
    }

    /// Keys that a packet makes the program look for in a map, as far as numbers stand for them.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.replay.keys(layout, packet)
    }

    /// Runs a packet through both.
    pub fn compare(&mut self, packet: &[u8]) -> Result<Run, String> {
        let step = self.replay.run(packet, &Context::default());
        self.undecided = matches!(step, Err(ReplayError::Undecided(_)));
        step.map(|step| step.run).map_err(text)
    }

    /// Where the maps of the two differ, one sentence each.
    pub fn differing_maps(&self) -> Vec<String> {
        self.replay.differing_maps()
    }

    /// Installs what a witness says about maps and runs its packet through both.
    pub fn replay(&mut self, witness: &Value) -> Result<Step, String> {
        self.replay.install(witness).map_err(text)?;
        self.replay.run(&bytes(&witness["packet"]), &context(witness)).map_err(text)
    }
}

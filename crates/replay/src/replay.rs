//! Replay of packets through a program in kernel and interpreter.

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Lifted, MapLayout, Receive, lift};
use slowpath_exec::concrete::ConcreteError;
use slowpath_kernel::{Context, Kernel, LoadedProgram, Map};

use crate::choices::Search;
use crate::cpu::Pinned;
use crate::disagreement::Disagreement;
use crate::effects::MapChange;
use crate::entry::Entry;
use crate::error::ReplayError;
use crate::lookup;
use crate::outcome::Outcome;
use crate::pair::{Pair, PathRecord, is_queue};
use crate::path::PathId;
use crate::step::Step;

/// Decides by path and number of instructions whether a run needs a snapshot.
type Worth<'a> = &'a mut dyn FnMut(PathId, u64) -> bool;

/// A program in the kernel and in the interpreter, on the same maps. Each packet finds the maps as
/// the one before left them.
///
/// Packets run on the CPU on which the value was created, if the thread's affinity allows it.
#[derive(Debug)]
pub struct Replay {
    pair: Pair,
    /// Name of a map whose content is unknown since a failed run.
    lost: Option<String>,
}

impl Replay {
    /// Loads and lifts the program with this number in [`Object::programs`]. All maps are as the
    /// kernel creates them.
    ///
    /// # Errors
    /// [`ReplayError`] if the program cannot be linked, lifted or loaded.
    pub fn new(kernel: &Kernel, object: &Object, program: usize) -> Result<Replay, ReplayError> {
        Replay::of(kernel, object, program, Replay::lift(kernel, object, program)?)
    }

    /// Lifts the program with this number, for [`Replay::of`].
    ///
    /// # Errors
    /// [`ReplayError`] if the program cannot be linked or lifted.
    pub fn lift(kernel: &Kernel, object: &Object, program: usize) -> Result<Lifted, ReplayError> {
        let linked = object.link(program, kernel.types())?;
        let mut options = LiftOptions {
            receive: Receive::TEST_RUN,
            kernel_types: kernel.shared_types(),
            ..LiftOptions::default()
        };
        let lifted = lift(object, &linked, &options)?;
        if !lifted.layout.maps.iter().any(is_queue) {
            return Ok(lifted);
        }
        // Registers hold the content of a queue at the end of a run, so their operations must be
        // kept.
        options.keeps_dead_operations = true;
        Ok(lift(object, &linked, &options)?)
    }

    /// Loads a program that is already lifted, with its own maps.
    ///
    /// # Errors
    /// [`ReplayError`] if the kernel does not load the program.
    pub fn of(
        kernel: &Kernel,
        object: &Object,
        program: usize,
        lifted: impl Into<Arc<Lifted>>,
    ) -> Result<Replay, ReplayError> {
        let loaded = kernel.load(object, program)?;
        let pair = Pair::new(loaded, object, lifted.into(), kernel.cpus());
        Ok(Replay { pair, lost: None })
    }

    /// Returns the program in the kernel. After changing its maps, call [`Replay::reread`].
    pub fn loaded(&self) -> &LoadedProgram {
        &self.pair.loaded
    }

    /// Returns the lifted program.
    pub fn lifted(&self) -> &Arc<Lifted> {
        &self.pair.lifted
    }

    /// Uses the path record of an instrumented program.
    pub fn use_path_record(&mut self, path_record: PathRecord) {
        self.pair.path_record = Some(path_record);
    }

    /// Fills the maps of kernel and interpreter from a witness; see [`slowpath_kernel::witness`].
    ///
    /// # Errors
    /// [`ReplayError`] if the kernel rejects the content.
    pub fn install(&mut self, witness: &Value) -> Result<(), ReplayError> {
        self.pair.install_witness(witness)
    }

    /// Puts an element into a map, in kernel and interpreter. The key is ignored for queues and
    /// stacks.
    ///
    /// # Errors
    /// [`ReplayError`] if the map does not exist or the kernel rejects the element.
    pub fn put(&mut self, map: &str, entry: &Entry) -> Result<(), ReplayError> {
        self.pair.put(map, entry)
    }

    /// Puts an element into an inner map that belongs to the object, in kernel and interpreter.
    ///
    /// # Errors
    /// [`ReplayError`] if the map does not exist or the kernel rejects the element.
    pub fn put_inner(&mut self, outer: &str, map: &str, entry: &Entry) -> Result<(), ReplayError> {
        self.pair.put_inner(outer, map, entry)
    }

    /// Copies the content of the kernel's maps into the interpreter; takes time in proportion to
    /// their size. Queues and other maps that cannot be read back are assumed to be unchanged.
    ///
    /// # Errors
    /// [`ReplayError`] if a map cannot be read.
    pub fn reread(&mut self) -> Result<(), ReplayError> {
        Ok(self.pair.sync_maps()?)
    }

    /// Returns the interned keys that a packet makes the program look up in a map.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.pair.keys(layout, packet, &Context::default())
    }

    /// Returns the elements that the interpreter looks up for a packet, with the smallest open
    /// values. Changes no state. `None` if the interpreter does not complete the run.
    ///
    /// # Errors
    /// [`ReplayError`] if the fill levels of maps cannot be read.
    pub fn lookup(
        &mut self,
        packet: &[u8],
        context: &Context,
    ) -> Result<Option<lookup::Lookups>, ReplayError> {
        Ok(self.pair.lookup(packet, context)?)
    }

    /// Returns the map that a change belongs to.
    pub fn changed_map(&self, change: &MapChange) -> Option<&Map> {
        match change.inner {
            Some(number) => self.pair.numbered(number),
            None => self.pair.loaded.map(&change.map),
        }
    }

    /// Describes all differences between the maps of kernel and interpreter, one sentence each.
    /// Compares all elements, whereas [`Replay::run`] compares only those that the program writes.
    pub fn differing_maps(&self) -> Vec<String> {
        let _pinned = Pinned::to(self.pair.cpu);
        self.pair.differing_maps()
    }

    /// Runs a packet in kernel and interpreter and compares the results.
    ///
    /// # Errors
    /// [`ReplayError::Disagreement`] if they differ. [`ReplayError::Undecided`] if the interpreter
    /// did not reproduce the kernel's run but has not tried all open values. After both errors, the
    /// interpreter has the kernel's maps, and further packets can be run.
    pub fn run(&mut self, packet: &[u8], context: &Context) -> Result<Step, ReplayError> {
        Ok(self.step(packet, context, &mut |_, _| false)?.0)
    }

    /// Runs a packet as [`Replay::run`] does. If `worth` accepts the path and number of
    /// instructions, also returns packet, context and maps before the run as a witness for
    /// [`Replay::install`]. This takes time in proportion to the content of the maps.
    ///
    /// # Errors
    /// As [`Replay::run`].
    pub fn run_noting(
        &mut self,
        packet: &[u8],
        context: &Context,
        mut worth: impl FnMut(PathId, u64) -> bool,
    ) -> Result<(Step, Option<Value>), ReplayError> {
        self.step(packet, context, &mut worth)
    }

    /// Returns the lengths of packets that the lifted program supports, in bytes.
    pub fn lengths() -> RangeInclusive<usize> {
        let (shortest, longest) = Receive::TEST_RUN.length;
        usize::from(shortest)..=usize::from(longest)
    }

    fn step(
        &mut self,
        packet: &[u8],
        context: &Context,
        worth: Worth<'_>,
    ) -> Result<(Step, Option<Value>), ReplayError> {
        let program = || self.pair.lifted.program.name.clone();
        if let Some(map) = &self.lost {
            return Err(ReplayError::Lost { program: program(), map: map.clone() });
        }
        if !context.metadata.is_empty() {
            return Err(ReplayError::Metadata { program: program(), len: context.metadata.len() });
        }
        let _pinned = Pinned::to(self.pair.cpu);
        self.pair.set_packet(packet, context);
        self.pair.prepare()?;
        // If the interpreter cannot complete the run, the search below reports it again.
        let _: Result<(), ConcreteError> = self.pair.forget_evicted();
        let theirs: Outcome = self.pair.loaded.run_in(packet, 1, context)?.into();
        let fault = match self.pair.search(&theirs) {
            Ok(Search::Agreed(agreed)) => {
                let effects = self.pair.effects(packet, &theirs, &agreed);
                let instructions = agreed.run.costs.len() as u64;
                let path = PathId::of(&agreed.run.path);
                // The maps of the interpreter are still as before the run.
                let before =
                    worth(path, instructions).then(|| self.pair.reproducer(packet, context));
                self.pair.commit(&agreed);
                let step = Step {
                    outcome: theirs,
                    instructions,
                    path,
                    run: agreed.run,
                    choices: agreed.choices,
                    open_path: agreed.open_path,
                    effects,
                };
                return Ok((step, before));
            }
            Ok(Search::Differs { difference, ours, undecided }) => (difference, ours, undecided),
            Err(cause @ ConcreteError::TooLong(_)) => {
                let program = self.pair.lifted.program.name.clone();
                self.recover()?;
                return Err(ReplayError::GivenUp { program, cause });
            }
            Err(cause) => (cause.to_string(), None, None),
        };
        let (difference, interpreter, undecided) = fault;
        let disagreement = Box::new(Disagreement {
            program: self.pair.lifted.program.name.clone(),
            difference,
            reproducer: self.pair.reproducer(packet, context),
            kernel: theirs,
            interpreter,
            undecided,
        });
        self.recover()?;
        Err(match undecided {
            Some(_) => ReplayError::Undecided(disagreement),
            None => ReplayError::Disagreement(disagreement),
        })
    }

    /// Reads all readable maps back after a run that the interpreter did not reproduce.
    fn recover(&mut self) -> Result<(), ReplayError> {
        let queue = self.pair.lifted.layout.maps.iter().find(|layout| is_queue(layout));
        self.lost = queue.map(|layout| layout.name.clone());
        self.reread()
    }
}

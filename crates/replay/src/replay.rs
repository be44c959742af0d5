//! Replay of packets through a program in kernel and interpreter.

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Lifted, MapLayout, Receive, lift};
use slowpath_exec::concrete::{ConcreteError, Run};
use slowpath_kernel::{Context, Kernel, LoadedProgram, Map};

use crate::choices::Search;
use crate::cpu::Pinned;
use crate::disagreement::Disagreement;
use crate::draws::Choice;
use crate::effects::{Effects, MapChange};
use crate::entry::Entry;
use crate::error::ReplayError;
use crate::lookup;
use crate::outcome::Outcome;
use crate::pair::{Pair, PathRecord, is_queue};
use crate::path::PathId;

/// Result of a packet on which kernel and interpreter agree.
#[derive(Clone, Debug)]
pub struct Step {
    /// Effect on the packet in the kernel.
    pub outcome: Outcome,
    /// Number of executed instructions; a 64-bit immediate load counts as one.
    pub instructions: u64,
    /// Identity of the path.
    pub path: PathId,
    /// Run of the interpreter: blocks and costs in order, with their instructions.
    pub run: Run,
    /// Open values in order, and for each the value that reproduces the kernel's run.
    pub choices: Vec<Choice>,
    /// True if the path is uncertain: it depends on a time or random number of the kernel, which
    /// cannot be observed.
    pub open_path: bool,
    /// Changes of the run.
    pub effects: Effects,
}

/// A function of path and number of instructions that returns true for runs that need a snapshot.
type SnapshotFilter<'a> = &'a mut dyn FnMut(PathId, u64) -> bool;

/// A program in the kernel and in the interpreter, with equal map content. Each packet finds the
/// map content that the previous packet left.
///
/// All packets run on the CPU that created the `Replay`, if the thread's affinity allows it.
#[derive(Debug)]
pub struct Replay {
    pair: Pair,
    /// Name of a map whose content is unknown because of a failed run, if any.
    lost: Option<String>,
}

impl Replay {
    /// Loads and lifts the program with this number in [`Object::programs`]. Its maps have the
    /// object's initial content.
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

    /// From now on, searches for the path in the path record of the program, which is instrumented.
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

    /// Copies the content of the kernel's maps into the interpreter, in time proportional to their
    /// size. Assumes that queues and other maps that cannot be read back are unchanged.
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

    /// Returns the elements that the interpreter looks up for a packet, with all open values at
    /// their minimum. `None` if the interpreter does not complete the run. Map content is
    /// unchanged.
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
            Some(number) => self.pair.map_by_number(number),
            None => self.pair.loaded.map(&change.map),
        }
    }

    /// Describes all differences between the maps of kernel and interpreter, one sentence each.
    /// Compares all elements; [`Replay::run`] only compares elements that the program writes.
    pub fn differing_maps(&self) -> Vec<String> {
        let _pinned = Pinned::to(self.pair.cpu);
        self.pair.differing_maps()
    }

    /// Runs a packet in kernel and interpreter and compares the results.
    ///
    /// # Errors
    /// [`ReplayError::Disagreement`] if they differ. [`ReplayError::Undecided`] if no tried choice
    /// of open values reproduces the kernel's run, but not all were tried. After both errors, the
    /// interpreter's maps equal the kernel's, and further packets can be run.
    pub fn run(&mut self, packet: &[u8], context: &Context) -> Result<Step, ReplayError> {
        Ok(self.step(packet, context, &mut |_, _| false)?.0)
    }

    /// Like [`Replay::run`], but if `needs_snapshot` returns true for the path and number of
    /// instructions, also returns packet, context and maps before the run: a witness for
    /// [`Replay::install`]. The snapshot takes time proportional to the size of the maps.
    ///
    /// # Errors
    /// As [`Replay::run`].
    pub fn run_noting(
        &mut self,
        packet: &[u8],
        context: &Context,
        mut needs_snapshot: impl FnMut(PathId, u64) -> bool,
    ) -> Result<(Step, Option<Value>), ReplayError> {
        self.step(packet, context, &mut needs_snapshot)
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
        needs_snapshot: SnapshotFilter<'_>,
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
        // An interpreter that cannot complete the run fails again in the search below.
        let _: Result<(), ConcreteError> = self.pair.forget_evicted();
        let kernel: Outcome = self.pair.loaded.run_in(packet, 1, context)?.into();
        let (difference, interpreter, undecided) = match self.pair.search(&kernel) {
            Ok(Search::Agreed(agreed)) => {
                let effects = self.pair.effects(packet, &kernel, &agreed);
                let instructions = agreed.run.costs.len() as u64;
                let path = PathId::of(&agreed.run.path);
                // The run is not committed yet, so the interpreter's maps are those before the run.
                let before = needs_snapshot(path, instructions)
                    .then(|| self.pair.reproducer(packet, context));
                self.pair.commit(&agreed);
                let step = Step {
                    outcome: kernel,
                    instructions,
                    path,
                    run: agreed.run,
                    choices: agreed.choices,
                    open_path: agreed.open_path,
                    effects,
                };
                return Ok((step, before));
            }
            Ok(Search::Differs { difference, interpreter, undecided }) => {
                (difference, interpreter, undecided)
            }
            Err(cause @ ConcreteError::TooLong(_)) => {
                let program = self.pair.lifted.program.name.clone();
                self.recover()?;
                return Err(ReplayError::GivenUp { program, cause });
            }
            Err(cause) => (cause.to_string(), None, None),
        };
        let disagreement = Box::new(Disagreement {
            program: self.pair.lifted.program.name.clone(),
            difference,
            reproducer: self.pair.reproducer(packet, context),
            kernel,
            interpreter,
            undecided,
        });
        self.recover()?;
        Err(match undecided {
            Some(_) => ReplayError::Undecided(disagreement),
            None => ReplayError::Disagreement(disagreement),
        })
    }

    /// Copies the kernel's maps into the interpreter after a run that it did not reproduce. A queue
    /// cannot be read, so its content is lost.
    fn recover(&mut self) -> Result<(), ReplayError> {
        let queue = self.pair.lifted.layout.maps.iter().find(|layout| is_queue(layout));
        self.lost = queue.map(|layout| layout.name.clone());
        self.reread()
    }
}

//! Runs packets in the kernel and in the interpreter, and compares the results. This is the public
//! interface of the crate.

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

/// Result of running a packet on which kernel and interpreter agree.
#[derive(Clone, Debug)]
pub struct Step {
    /// Return value of the kernel's run, and the packet after it.
    pub outcome: Outcome,
    /// Number of instructions that the program executed. A 64-bit immediate load counts as one.
    pub instructions: u64,
    /// Number that identifies the path that the packet took through the program.
    pub path: PathId,
    /// The interpreter's run, which lists the executed blocks and costs in order.
    pub run: Run,
    /// Values that the interpreter cannot compute, such as times, in the order of their use. Each
    /// comes with the number that reproduces the kernel's run.
    pub choices: Vec<Choice>,
    /// True if the kernel may have taken another path, because the path depends on a time or random
    /// number that cannot be observed.
    pub open_path: bool,
    /// Changes that the run made to the packet and to maps.
    pub effects: Effects,
}

/// A callback that gets the path of a run and its number of instructions. It returns true if a
/// snapshot of the state before the run is needed.
type SnapshotFilter<'a> = &'a mut dyn FnMut(PathId, u64) -> bool;

/// A program in the kernel and in the interpreter, with equal map content. Each packet starts with
/// the map content that the previous packet left.
///
/// All packets run on the CPU that created the `Replay`, if the thread's affinity allows it.
#[derive(Debug)]
pub struct Replay {
    pair: Pair,
    /// Name of a map whose content is unknown because a run failed; `None` if all contents are
    /// known.
    lost: Option<String>,
}

impl Replay {
    /// Loads the program into the kernel and lifts it for the interpreter. `program` is its index
    /// in [`Object::programs`]. The program's maps start with the object's initial content.
    ///
    /// # Errors
    /// [`ReplayError`] if the program cannot be linked, lifted or loaded.
    pub fn new(kernel: &Kernel, object: &Object, program: usize) -> Result<Replay, ReplayError> {
        Replay::of(kernel, object, program, Replay::lift(kernel, object, program)?)
    }

    /// Lifts the program at index `program` of [`Object::programs`], without loading it. The result
    /// can be passed to [`Replay::of`].
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

    /// Loads a program that is already lifted. The program gets its own maps.
    ///
    /// # Errors
    /// [`ReplayError`] if the kernel does not load the program.
    pub fn of(
        kernel: &Kernel,
        object: &Object,
        program: usize,
        lifted: impl Into<Arc<Lifted>>,
    ) -> Result<Replay, ReplayError> {
        let loaded = kernel.load_any(object, program)?;
        let pair = Pair::new(loaded, object, lifted.into(), kernel.cpus());
        Ok(Replay { pair, lost: None })
    }

    /// Returns the program that is loaded into the kernel. After changing its maps, call
    /// [`Replay::reread`].
    pub fn loaded(&self) -> &LoadedProgram {
        &self.pair.loaded
    }

    /// Returns the lifted program, which the interpreter runs.
    pub fn lifted(&self) -> &Arc<Lifted> {
        &self.pair.lifted
    }

    /// Declares that the program records its path in a map. From then on, the search for values
    /// that the interpreter cannot compute uses this record.
    pub fn use_path_record(&mut self, path_record: PathRecord) {
        self.pair.path_record = Some(path_record);
    }

    /// Fills the maps of kernel and interpreter with the content of a witness (see
    /// [`slowpath_kernel::witness`]).
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

    /// Puts an element into the inner map `map` of the object, in kernel and interpreter. `outer`
    /// is the map of maps that contains the inner map.
    ///
    /// # Errors
    /// [`ReplayError`] if the map does not exist or the kernel rejects the element.
    pub fn put_inner(&mut self, outer: &str, map: &str, entry: &Entry) -> Result<(), ReplayError> {
        self.pair.put_inner(outer, map, entry)
    }

    /// Copies the content of the kernel's maps into the interpreter, in time proportional to their
    /// size. Queues and other maps that cannot be read back must be unchanged.
    ///
    /// # Errors
    /// [`ReplayError`] if a map cannot be read.
    pub fn reread(&mut self) -> Result<(), ReplayError> {
        Ok(self.pair.sync_maps()?)
    }

    /// Returns the keys that the program looks up in a map when it processes a packet. Works for
    /// maps whose keys are interned, which means that the interpreter represents them by numbers.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.pair.keys(layout, packet, &Context::default())
    }

    /// Returns the elements that the interpreter looks up for a packet, with all unknown values,
    /// such as times, at their minimum. Does not change maps. Returns `None` if the interpreter
    /// does not complete the run.
    ///
    /// # Errors
    /// [`ReplayError`] if the number of elements of a map cannot be read.
    pub fn lookup(
        &mut self,
        packet: &[u8],
        context: &Context,
    ) -> Result<Option<lookup::Lookups>, ReplayError> {
        Ok(self.pair.lookup(packet, context)?)
    }

    /// Returns the path that the interpreter takes for a packet, with all unknown values, such as
    /// times, at their minimum. The kernel need not accept the context. Does not change maps.
    /// Returns `None` if the interpreter does not complete the run.
    pub fn interpreted_path(&mut self, packet: &[u8], context: &Context) -> Option<PathId> {
        self.pair.set_packet(packet, context);
        self.pair.prepare().ok()?;
        Some(PathId::of(&self.pair.interpret(&[], None).ok()?.path))
    }

    /// Returns the kernel's map that contains a changed element.
    pub fn changed_map(&self, change: &MapChange) -> Option<&Map> {
        match change.inner {
            Some(number) => self.pair.map_by_number(number),
            None => self.pair.loaded.map(&change.map),
        }
    }

    /// Describes all differences between the maps of kernel and interpreter, in one sentence each.
    /// Compares all elements, whereas [`Replay::run`] compares only elements that the program
    /// writes.
    pub fn differing_maps(&self) -> Vec<String> {
        let _pinned = Pinned::to(self.pair.cpu);
        self.pair.differing_maps()
    }

    /// Runs a packet in kernel and interpreter and compares the results.
    ///
    /// # Errors
    /// [`ReplayError::Disagreement`] if the results differ. [`ReplayError::Undecided`] if no tried
    /// choice of unknown values, such as times, reproduces the kernel's run, but not all were
    /// tried. After both errors, the interpreter's maps equal the kernel's, and further packets can
    /// be run.
    pub fn run(&mut self, packet: &[u8], context: &Context) -> Result<Step, ReplayError> {
        Ok(self.step(packet, context, &mut |_, _| false)?.0)
    }

    /// Like [`Replay::run`], but can also return the state before the run. It does so if
    /// `needs_snapshot` returns true for the path and the number of instructions. This snapshot
    /// contains packet, context and maps, in the format of a witness for [`Replay::install`].
    /// Taking it needs time proportional to the size of the maps.
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

    /// Returns the range of packet lengths in bytes that a replay supports.
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

    /// Copies the kernel's maps into the interpreter after a run that the interpreter did not
    /// reproduce. A queue cannot be read, so its content becomes unknown.
    fn recover(&mut self) -> Result<(), ReplayError> {
        let queue = self.pair.lifted.layout.maps.iter().find(|layout| is_queue(layout));
        self.lost = queue.map(|layout| layout.name.clone());
        self.reread()
    }
}

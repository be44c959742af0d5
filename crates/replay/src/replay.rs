//! Packets through a program in the kernel and in the interpreter.

use std::ops::RangeInclusive;
use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::Object;
use slowpath_bpf::lift::{LiftOptions, Lifted, MapLayout, Receive, lift};
use slowpath_exec::concrete::ConcreteError;
use slowpath_kernel::{Context, Kernel, Loaded, Map};

use crate::choices::Search;
use crate::cpu::Pinned;
use crate::disagreement::Disagreement;
use crate::effects::MapChange;
use crate::entry::Entry;
use crate::error::ReplayError;
use crate::outcome::Outcome;
use crate::pair::{Pair, Telling, is_queue};
use crate::path::PathId;
use crate::sought;
use crate::step::Step;

/// What of a run is worth a snapshot, by path and number of instructions.
type Worth<'a> = &'a mut dyn FnMut(PathId, u64) -> bool;

/// A program in the kernel and in the interpreter, on the same maps. Each packet meets the maps as the
/// one before left them.
///
/// Packets run on the CPU on which the value was made, as long as the thread may run there.
#[derive(Debug)]
pub struct Replay {
    pair: Pair,
    /// A map whose content is not known any more.
    lost: Option<String>,
}

impl Replay {
    /// Loads and lifts the program with this number in [`Object::programs`]. All maps are as the
    /// kernel makes them.
    ///
    /// # Errors
    /// [`ReplayError`], if it is not read, lifted or loaded.
    pub fn new(kernel: &Kernel, object: &Object, program: usize) -> Result<Replay, ReplayError> {
        Replay::of(kernel, object, program, Replay::lift(kernel, object, program)?)
    }

    /// Lifts the program with this number, for [`Replay::of`].
    ///
    /// # Errors
    /// [`ReplayError`], if it is not read or lifted.
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
        // What is left in a queue, registers say at the end.
        options.keeps_dead_operations = true;
        Ok(lift(object, &linked, &options)?)
    }

    /// Loads a program that is lifted already, with maps of its own.
    ///
    /// # Errors
    /// [`ReplayError`], if the kernel does not load it.
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

    /// The program in the kernel. Who changes its maps has to say so ([`Replay::reread`]).
    pub fn loaded(&self) -> &Loaded {
        &self.pair.loaded
    }

    /// The lifted program.
    pub fn lifted(&self) -> &Arc<Lifted> {
        &self.pair.lifted
    }

    /// The program itself says which way it goes.
    pub fn listen(&mut self, telling: Telling) {
        self.pair.telling = Some(telling);
    }

    /// Installs what a witness says about maps, in both; see [`slowpath_kernel::witness`].
    ///
    /// # Errors
    /// [`ReplayError`], if the kernel does not take it.
    pub fn install(&mut self, witness: &Value) -> Result<(), ReplayError> {
        self.pair.install_witness(witness)
    }

    /// Puts an element into a map, in both; into queues and stacks without a key.
    ///
    /// # Errors
    /// [`ReplayError`], if there is no such map or the kernel does not take the element.
    pub fn put(&mut self, map: &str, entry: &Entry) -> Result<(), ReplayError> {
        self.pair.put(map, entry)
    }

    /// Puts an element into a map of the object that a map of maps holds, in both.
    ///
    /// # Errors
    /// [`ReplayError`], if there is no such map or the kernel does not take the element.
    pub fn put_inner(&mut self, outer: &str, map: &str, entry: &Entry) -> Result<(), ReplayError> {
        self.pair.put_inner(outer, map, entry)
    }

    /// The interpreter takes over what the kernel's maps contain now, which takes as long as they are
    /// large. Queues and what else cannot be read back it takes to be as before.
    ///
    /// # Errors
    /// [`ReplayError`], if a map is not read.
    pub fn reread(&mut self) -> Result<(), ReplayError> {
        Ok(self.pair.adopt()?)
    }

    /// Keys that a packet makes the program look for in a map, as far as numbers stand for them.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8]) -> Vec<Vec<u8>> {
        self.pair.keys(layout, packet, &Context::default())
    }

    /// What the interpreter looks for in maps with a packet, where the least of what is open is taken;
    /// nothing is changed. `None` if it does not get to the end.
    ///
    /// # Errors
    /// [`ReplayError`], if it cannot be read how full maps are.
    pub fn sought(
        &mut self,
        packet: &[u8],
        context: &Context,
    ) -> Result<Option<sought::Search>, ReplayError> {
        Ok(self.pair.sought(packet, context)?)
    }

    /// The map with a change.
    pub fn changed_map(&self, change: &MapChange) -> Option<&Map> {
        match change.inner {
            Some(number) => self.pair.numbered(number),
            None => self.pair.loaded.map(&change.map),
        }
    }

    /// Where the maps of the two differ, one sentence each: all elements are compared, which
    /// [`Replay::run`] does with those only that the program touches.
    pub fn differing_maps(&self) -> Vec<String> {
        let _pinned = Pinned::to(self.pair.cpu);
        self.pair.differing_maps()
    }

    /// Runs a packet in both and compares what they do.
    ///
    /// # Errors
    /// [`ReplayError::Disagreement`] if they differ. [`ReplayError::Undecided`] if the interpreter
    /// did not find what the kernel did, but has not tried everything that is open. After both, the
    /// interpreter has the kernel's maps, and further packets can be run.
    pub fn run(&mut self, packet: &[u8], context: &Context) -> Result<Step, ReplayError> {
        Ok(self.step(packet, context, &mut |_, _| false)?.0)
    }

    /// Runs a packet as [`Replay::run`] does. Of runs that `worth` says yes to, by path and number of
    /// instructions: packet, context and maps as they were before, in the form of a witness
    /// ([`Replay::install`] takes it). That takes as long as maps are full.
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

    /// Lengths of packets that the lifted program takes, in bytes.
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
        // What the interpreter has against the run, it says again below.
        let _: Result<(), ConcreteError> = self.pair.forget_evicted();
        let theirs: Outcome = self.pair.loaded.run_in(packet, 1, context)?.into();
        let fault = match self.pair.search(&theirs) {
            Ok(Search::Agreed(agreed)) => {
                let effects = self.pair.effects(packet, &theirs, &agreed);
                let instructions = agreed.run.costs.len() as u64;
                let path = PathId::of(&agreed.run.path);
                // The maps are still as before.
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

    /// After a run that the interpreter did not follow: what can be read back, is.
    fn recover(&mut self) -> Result<(), ReplayError> {
        let queue = self.pair.lifted.layout.maps.iter().find(|layout| is_queue(layout));
        self.lost = queue.map(|layout| layout.name.clone());
        self.reread()
    }
}

//! Prepares a path for timing from its witness. The path runs once in kernel and interpreter. Then
//! it runs many times in the kernel, where the executed blocks are counted.

use std::collections::BTreeMap;
use std::sync::Arc;

use serde_json::Value;
use slowpath_bpf::lift::Lifted;
use slowpath_bpf::{MapDef, MapKind, Object, ProgramKind};
use slowpath_estimate::{Code, Path};
use slowpath_ir::CostEvent;
use slowpath_kernel::timing::{Attachments, ElementUndo, SkbUndo, TimingThread, Undo};
use slowpath_kernel::witness::{self, Installed};
use slowpath_kernel::{CountingProgram, Kernel, LoadError};
use slowpath_replay::{Effects, Replay, ReplayError};

use crate::case::{Arrangement, Case};
use crate::drain::Draining;
use crate::error::MeasureError;
use crate::full_maps;
use crate::reason;
use crate::skb::{self, SkbRun};
use crate::subsequent_packets::{Second, subsequent_packets};
use crate::trial::{COUNTING_TIME, ExpectedRun, Trial};

/// Results of running the packet of a path in kernel and interpreter.
struct Followed {
    /// The program in kernel and interpreter. Its maps are as the run of the packet left them.
    replay: Replay,
    /// Changes that the packet's run made to packet and maps.
    effects: Effects,
    /// Instruction counts and return value of a second run of the packet, on the maps that the
    /// first run left.
    second: Second,
}

impl Case {
    /// Finds a way to repeat runs such that each of them takes the path of a witness. The work is
    /// done on the timing thread.
    ///
    /// `instructions` is the number of instructions of the path. If it is `None`, the path has as
    /// many instructions as the interpreter executes. If the interpreter cannot follow the kernel,
    /// the kernel's number is used.
    ///
    /// # Errors
    /// If kernel and interpreter disagree, the kernel takes another path, or the path cannot be
    /// repeated.
    pub fn prepare(
        timing_thread: &TimingThread,
        kernel: &Arc<Kernel>,
        object: &Arc<Object>,
        program: usize,
        witness: Value,
        instructions: Option<u64>,
    ) -> Result<Case, MeasureError> {
        let (kernel, object) = (Arc::clone(kernel), Arc::clone(object));
        let attachments = timing_thread.attachments().clone();
        timing_thread.run_job(move |_| {
            Case::prepare_on_thread((&kernel, &attachments), object, program, witness, instructions)
        })?
    }

    fn prepare_on_thread(
        (kernel, attachments): (&Kernel, &Attachments),
        object: Arc<Object>,
        program: usize,
        mut witness: Value,
        instructions: Option<u64>,
    ) -> Result<Case, MeasureError> {
        let full = full_maps::fill(&object, &mut witness);
        let mut packet = witness::bytes(&witness["packet"]);
        let kind = object.programs.get(program).map(|program| program.kind);
        let is_tc = kind == Some(ProgramKind::SchedCls);
        if let Some(kind) = kind.filter(|kind| !is_tc && !kind.is_xdp()) {
            return Err(MeasureError::NotMeasured(kind));
        }
        let (context, unset) = if is_tc {
            let context = witness::skb_context(&witness, &mut packet);
            skb::lengthen(&mut packet);
            context
        } else {
            (witness::context(&witness), BTreeMap::new())
        };
        let mut case = Case {
            skb: is_tc.then(SkbRun::default),
            packet,
            context,
            object,
            program,
            witness,
            answers: Vec::new(),
            full,
            arrangement: Arrangement::Repeated,
            draining: None,
            action: 0,
            instructions: 0,
            warmed: false,
            subsequent_packets: None,
            repetitions: 0,
            path: None,
            places: Arc::default(),
            trace: None,
            flow: None,
            cut: None,
        };
        let mut followed = case.follow(kernel, instructions, &unset)?;
        case.draining = case.draining(kernel)?;
        case.arrange((kernel, attachments), &followed.effects)?;
        case.subsequent_packets = subsequent_packets(
            (kernel, attachments),
            &case,
            &mut followed.replay,
            followed.second,
        )?;
        Ok(case)
    }

    /// Runs the packet in kernel and interpreter, and then a second time in the kernel. `expected`
    /// is the number of instructions of the path, if it is known. `unset` contains the fields of
    /// the witness that a test run cannot set, with their values. Fails if the path depends on one
    /// of these fields.
    fn follow(
        &mut self,
        kernel: &Kernel,
        expected: Option<u64>,
        unset: &BTreeMap<&'static str, u64>,
    ) -> Result<Followed, MeasureError> {
        let mut replay = Replay::new(kernel, &self.object, self.program)?;
        replay.install(&self.witness)?;
        let mut wanted = self.context.clone();
        wanted.fields.extend(unset.iter().map(|(&name, &value)| (name.to_owned(), value)));
        let first_unset = unset.first_key_value();
        let wanted = first_unset.and_then(|_| replay.interpreted_path(&self.packet, &wanted));
        let mut open = false;
        let effects = match replay.run(&self.packet, &self.context) {
            Ok(step) => {
                self.action = step.outcome.action;
                self.instructions = step.instructions;
                // With another time or random number, the kernel may take another path, perhaps of
                // the same length.
                open = step.open_path;
                self.path = Some(step.path);
                self.trace = Some(step.run.costs.iter().map(|cost| cost.insn.index()).collect());
                if let Some(skb) = &mut self.skb {
                    skb.calls = SkbRun::calls(replay.lifted(), &step.run.costs);
                } else {
                    let flow = flow(&self.object, replay.lifted(), &step.run.costs);
                    self.flow = Some(Arc::new(flow));
                }
                step.effects
            }
            // The result may depend on inputs that the witness does not determine. The counts below
            // show the kernel's path.
            Err(ReplayError::Undecided(_)) => Effects::default(),
            Err(error) => return Err(error.into()),
        };
        if let Some((&field, &value)) =
            first_unset.filter(|_| wanted.is_none() || wanted != self.path)
        {
            return Err(MeasureError::NotInTestRun { field, value });
        }
        let interpreted = (self.path.is_some() && !open).then_some(self.instructions);
        let known = expected.or(interpreted);
        if open || known != Some(self.instructions) {
            if expected.is_some() {
                // The kernel's clocks, random numbers and the like lead to another path, so their
                // results are replaced.
                let program = self.object.link(self.program, None).map_err(LoadError::from)?;
                self.answers = full_maps::answers(&program, &self.witness, &self.full);
            }
            // The interpreter had other results of calls, so it does not tell if fields matter.
            if let Some((&field, &value)) = first_unset.filter(|_| !self.answers.is_empty()) {
                return Err(MeasureError::NotInTestRun { field, value });
            }
            self.path = None;
            self.trace = None;
            self.flow = None;
        }
        let (counted, _installed) = self.counted(kernel)?;
        let (run, tally) = counted.run_repeated(&self.packet, &self.context, 1)?;
        // If the number of instructions is unknown, the kernel's path is the expected one.
        let expected = known.unwrap_or(tally.instructions);
        if tally.instructions != expected {
            let depends = witness::open_dependencies(&self.witness).into_iter().collect();
            let taken = tally.instructions;
            return Err(MeasureError::OtherPath { expected, taken, depends });
        }
        self.action = run.return_value;
        self.instructions = expected;
        if let Some(skb) = &mut self.skb {
            skb.lengths = (self.packet.len(), run.packet.len());
            if self.trace.is_none() {
                skb.calls = SkbRun::all_calls(&self.object, self.program);
            }
        }
        // A new call has a new packet, like the second packet that arrives.
        let (run, tally) = counted.run_repeated(&self.packet, &self.context, 1)?;
        Ok(Followed { replay, effects, second: (tally, run) })
    }

    /// Loads a version of the program that counts the executed blocks. Fills its maps from the
    /// witness.
    pub(crate) fn counted(
        &self,
        kernel: &Kernel,
    ) -> Result<(CountingProgram, Installed), MeasureError> {
        let counted = kernel.load_fingerprinted(&self.object, self.program, &self.answers)?;
        let installed = self.install(counted.loaded())?;
        Ok((counted, installed))
    }

    /// Returns the ring buffers that the path writes to. Returns `None` if it writes to none.
    pub(crate) fn draining(&self, kernel: &Kernel) -> Result<Option<Draining>, MeasureError> {
        let ring = |map: &MapDef| map.kind == MapKind::RINGBUF;
        let mut maps = self.object.maps.iter();
        if let Some(map) = maps.clone().find(|map| map.inner.as_deref().is_some_and(ring)) {
            let reason = format!("ring buffers in {} are not emptied", map.name);
            return Err(MeasureError::NotRepeatable { reason });
        }
        if !maps.any(ring) {
            return Ok(None);
        }
        let (counted, _installed) = self.counted(kernel)?;
        Draining::find(counted.loaded(), || {
            counted.run_repeated(&self.packet, &self.context, 1)?;
            Ok(())
        })
    }

    /// Finds the simplest preparation with which repeated runs take the path. Tries no preparation,
    /// then undoing changes to the packet, and then undoing changes to packet and maps. Stores it
    /// in `self.arrangement`.
    fn arrange(
        &mut self,
        (kernel, attachments): (&Kernel, &Attachments),
        effects: &Effects,
    ) -> Result<(), MeasureError> {
        let leaves_state = self.skb.as_ref().is_some_and(SkbRun::leaves_state);
        if !leaves_state && self.repeats((kernel, attachments), None)? {
            return Ok(());
        }
        let undo = self.undo(kernel, effects)?;
        for undo in [undo.without_elements(), undo] {
            if !undo.is_empty() && self.repeats((kernel, attachments), Some(&undo))? {
                self.arrangement = Arrangement::Restored(undo);
                return Ok(());
            }
        }
        Err(MeasureError::NotRepeatable { reason: self.reason(effects) })
    }

    /// Returns true if repeated runs take the path of the first run. If `undo` is given, a wrapper
    /// undoes these changes before each run. Stores the number of counted runs in
    /// `self.repetitions`.
    fn repeats(
        &mut self,
        (kernel, attachments): (&Kernel, &Attachments),
        undo: Option<&Undo>,
    ) -> Result<bool, MeasureError> {
        let (counted, installed) = self.counted(kernel)?;
        let drains = self.drains(counted.loaded())?;
        let trial = Trial::new((kernel, attachments), (counted, installed), undo, drains)?;
        let expected = ExpectedRun { value: self.action, instructions: self.instructions };
        let repeats = trial.repeats(&self.packet, &self.context, &expected, COUNTING_TIME)?;
        self.repetitions = repeats.unwrap_or(0);
        Ok(repeats.is_some())
    }

    /// Returns the changes to packet and maps that must be undone between two runs.
    fn undo(&self, kernel: &Kernel, effects: &Effects) -> Result<Undo, MeasureError> {
        let loaded = self.load(kernel)?;
        let element = |change: &slowpath_replay::MapChange| {
            let number = self.object.maps.iter().position(|map| map.name == change.map)?;
            loaded.program.map_by_number(number)?;
            Some(ElementUndo { map: number, key: change.key.clone(), value: change.before.clone() })
        };
        let mut elements: Vec<ElementUndo> = effects.maps.iter().filter_map(element).collect();
        elements.extend(self.queue_undo(effects));
        let packet = self.packet_undo(effects);
        let packet = packet.map_err(|reason| MeasureError::NotRepeatable { reason })?;
        Ok(Undo { elements, ..packet })
    }

    /// Returns the changes to the packet that must be undone between two runs. Changes to maps are
    /// left out.
    ///
    /// # Errors
    /// The reason, if a change to the packet of a tc program cannot be undone.
    pub(crate) fn packet_undo(&self, effects: &Effects) -> Result<Undo, String> {
        let moved = &effects.moved;
        let skb = self.skb.as_ref().map(|skb| skb.undo(effects)).transpose()?;
        let shifted = match &self.skb {
            Some(skb) => skb.lengths.0 != skb.lengths.1,
            None => moved.head != 0 || moved.tail != 0,
        };
        let packet = if shifted {
            // Bytes that leave the packet and return have unknown content, so restore all bytes.
            vec![(0, self.packet.clone())]
        } else {
            let place = |change: &slowpath_replay::PacketChange| {
                Some((u32::try_from(change.offset).ok()?, change.before.clone()))
            };
            effects.packet.iter().filter_map(place).collect()
        };
        if let Some(skb) = skb {
            return Ok(Undo { packet, skb, ..Undo::default() });
        }
        Ok(Undo {
            head: i32::try_from(moved.head).unwrap_or(i32::MAX),
            tail: i32::try_from(moved.tail).unwrap_or(i32::MAX),
            metadata_after: u32::try_from(moved.head - moved.metadata).unwrap_or(u32::MAX),
            metadata: self.context.metadata.clone(),
            packet,
            elements: Vec::new(),
            skb: SkbUndo::default(),
        })
    }

    /// Returns the changes to queues and stacks that must be undone between two runs. A pushed
    /// value is popped, and a popped value is pushed. In a queue this changes the order of the
    /// values. Counting shows if the path depends on their order.
    fn queue_undo(&self, effects: &Effects) -> Vec<ElementUndo> {
        let mut undo = Vec::new();
        for change in &effects.unreadable {
            for name in &change.maps {
                let found = self.object.maps.iter().enumerate().find(|(_, map)| map.name == *name);
                let Some((number, map)) = found else { continue };
                let queued = || witness::push_order(&self.witness, map);
                let value = match (change.call.as_str(), map.kind) {
                    ("map_push_elem", MapKind::QUEUE | MapKind::STACK) => None,
                    ("map_pop_elem", MapKind::QUEUE) => queued().into_iter().next(),
                    ("map_pop_elem", MapKind::STACK) => queued().pop(),
                    _ => continue,
                };
                undo.push(ElementUndo { map: number, key: Vec::new(), value });
            }
        }
        undo
    }

    /// Explains why a path cannot be repeated, given the changes that a run makes.
    fn reason(&self, effects: &Effects) -> String {
        let inner = effects.maps.iter().find(|change| change.inner.is_some());
        let drained = |call: &str| self.is_drained() && call.starts_with("ringbuf_");
        let unreadable = effects.unreadable.iter().find(|change| !drained(&change.call));
        match (unreadable, inner) {
            (Some(change), _) => {
                let maps = change.maps.join(", ");
                format!("changes of {maps} by bpf_{} cannot be undone", change.call)
            }
            (None, Some(change)) => {
                format!("writes of the path to {} cannot be undone", change.map)
            }
            (None, None) => {
                let depends: Vec<String> =
                    witness::open_dependencies(&self.witness).into_iter().collect();
                reason::unknown(effects, &depends)
            }
        }
    }
}

/// Converts the executed instructions of a path to the input of the model of a CPU core.
fn flow(object: &Object, lifted: &Lifted, costs: &[CostEvent]) -> Path {
    let code = Code::new(lifted.code.clone(), object);
    let classes = &lifted.program.cost_classes;
    let class = |event: &CostEvent| classes.get(event.class.index()).map_or("", String::as_str);
    Path::new(&code, costs.iter().map(|event| (event.insn.0, class(event))))
}

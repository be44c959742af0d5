//! Describes the witness of a pipeline by its table entries and its output packet. The interpreter
//! of pipelines computes both. It shares no code with the translation, so it also checks the
//! witness.

use crate::Error;
use crate::frontend::Pipeline;
use crate::result::{PipelineField, PipelineLookup, PipelineWitness};
use slowpath_ir::{BlockId, Program};
use slowpath_swx::interpret::{FieldValue, Lookup, Machine};
use slowpath_swx::replay::{self, Results, Start};
use slowpath_swx::spec::Line;
use std::fmt::Write;

/// A path of a pipeline, with the values from outside and the packet length that belong to it.
pub(super) struct PipelinePath<'a> {
    pub pipeline: &'a Pipeline,
    pub program: &'a Program,
    /// Blocks in order of execution.
    pub blocks: &'a [BlockId],
    /// Values that the path receives from outside the pipeline, such as hashes and random numbers,
    /// in order.
    pub unknowns: &'a [u64],
    /// Length of the packet in bytes.
    pub length: u32,
}

impl<'a> PipelinePath<'a> {
    /// Executes the pipeline with the bytes and inputs `needed`, on which the path depends, and
    /// returns the witness that describes the run.
    ///
    /// # Errors
    /// If a run takes another path, which is a defect.
    pub fn witness(&self, needed: Start) -> Result<PipelineWitness, Error> {
        let layout = &self.pipeline.layout;
        let run = self.run(&needed)?;
        // The path must not depend on any other byte.
        let others = self.run(&Start { fill: Some(0xff), ..needed.clone() })?;
        let pairs = run.lookups().iter().zip(others.lookups());
        let arbitrary: Vec<Arbitrary> =
            pairs.map(|(lookup, other)| Arbitrary::of(lookup, other)).collect();
        // The conditions of the path may also hold for the state of a new pipeline.
        let is_entry =
            |region| region == layout.packet || layout.action_data.values().any(|&r| r == region);
        let mut fresh = Start { is_new: true, ..needed.clone() };
        fresh.bytes.retain(|&(region, _), _| is_entry(region));
        fresh.inputs.retain(|&input, _| input == layout.port);
        let (start, run, initial_state) = match self.run(&fresh) {
            Ok(run) => (fresh, run, Vec::new()),
            Err(_) => {
                let new = Machine::new(&self.pipeline.spec, Vec::new()).map_err(failed)?;
                let required = self.before(&needed)?.differences(&new);
                (needed, run, required)
            }
        };
        let packet = self.before(&start)?.packet;
        let entries = run.lookups().iter().zip(&arbitrary);
        let shown = initial_state.iter().map(|field| shown(field, false));
        Ok(PipelineWitness {
            packet: hex(&packet),
            port: run.port,
            entries: entries.map(|(lookup, arbitrary)| self.entry(lookup, arbitrary)).collect(),
            output: run.output().map(hex),
            output_port: run.output_port(),
            initial_state: shown.collect(),
        })
    }

    fn before(&self, start: &Start) -> Result<Machine<'a>, Error> {
        let Pipeline { spec, layout } = self.pipeline;
        replay::machine(spec, layout, self.length as usize, start).map_err(failed)
    }

    /// Runs the interpreter of pipelines from the state `start`.
    ///
    /// # Errors
    /// If the run takes another path.
    fn run(&self, start: &Start) -> Result<Machine<'a>, Error> {
        let Pipeline { spec, layout } = self.pipeline;
        let taken = (self.program, self.blocks.iter().copied());
        let unknowns = self.unknowns.iter().copied();
        let mut results = Results::new(spec, layout, start, taken, unknowns);
        let blocks = self.blocks.iter().flat_map(|&block| &self.program.block(block).insns);
        let expected: Vec<u32> = blocks.map(|insn| insn.0).collect();
        let mut machine = self.before(start)?;
        let ended = machine.run(&mut results, expected.len());
        let executed = replay::executed(spec, layout, &machine);
        if let Some(step) = executed.iter().zip(&expected).position(|(a, b)| a != b) {
            let at = executed[step];
            let what = format!("the interpreter leaves the path at .{at} (step {step})");
            return Err(Error::Replay(what));
        }
        ended.map_err(failed)?;
        if executed.len() != expected.len() {
            return Err(Error::Replay("the interpreter ends before the path".into()));
        }
        Ok(machine)
    }

    fn entry(&self, lookup: &Lookup, arbitrary: &Arbitrary) -> PipelineLookup {
        let fields = |fields: &[FieldValue], arbitrary: &[bool]| {
            let pairs = fields.iter().zip(arbitrary);
            pairs.map(|(field, &arbitrary)| shown(field, arbitrary)).collect()
        };
        PipelineLookup {
            table: lookup.table.clone(),
            line: self.pipeline.spec.origin_of(Line(lookup.line)),
            key: fields(&lookup.key, &arbitrary.key),
            hit: lookup.hit,
            action: lookup.action.clone(),
            data: fields(&lookup.data, &arbitrary.data),
        }
    }
}

fn failed(error: impl std::fmt::Display) -> Error {
    Error::Replay(format!("the interpreter of pipelines stops: {error}"))
}

/// Flags of a lookup's fields, each true if the field can have any value: one flag for each field
/// of the key, and one for each field of the action data.
struct Arbitrary {
    key: Vec<bool>,
    data: Vec<bool>,
}

impl Arbitrary {
    /// Compares a lookup with the same lookup in a second run. In the second run, all bytes on
    /// which the path does not depend are inverted.
    fn of(lookup: &Lookup, other: &Lookup) -> Arbitrary {
        let differ = |(field, other): (&FieldValue, &FieldValue)| {
            field.bytes.iter().zip(&other.bytes).all(|(byte, other)| byte ^ other == 0xff)
        };
        let fields = |fields: &[FieldValue], others: &[FieldValue]| {
            fields.iter().zip(others).map(differ).collect()
        };
        Arbitrary { key: fields(&lookup.key, &other.key), data: fields(&lookup.data, &other.data) }
    }
}

fn shown(field: &FieldValue, arbitrary: bool) -> PipelineField {
    PipelineField {
        field: field.name.clone(),
        bits: 8 * field.bytes.len() as u64,
        value: format!("0x{}", hex(&field.big_endian())),
        arbitrary,
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().fold(String::new(), |mut text, byte| {
        let _ = write!(text, "{byte:02x}");
        text
    })
}

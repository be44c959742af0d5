//! Replays a published witness packet on an NFP listing, with the concrete interpreter.

use crate::data::Record;
use slowpath_exec::concrete::{self, Environment};
use slowpath_ir::{Destination, Program, RegionId, RegionKind};
use slowpath_target::{CostModel, Target};
use std::path::Path;

/// Maximum number of executed basic blocks; longer runs count as endless loops.
const MAX_BLOCKS: usize = 100_000;

/// A lifted listing, with the target that determines the costs of its instructions.
pub struct Replay {
    program: Program,
    model: CostModel,
    target: Target,
}

/// Path and cost of a replayed packet.
pub struct Outcome {
    /// Executed path, in the notation of the published files ([`Record::path`]).
    pub path: String,
    /// Cycles on a core, including the overhead of each packet.
    pub cycles: u64,
    /// Cycles of the DRAM engine for this packet.
    pub dram_cycles: f64,
}

impl Replay {
    /// Reads and lifts an NFP listing, and prepares the prices of its instructions.
    pub fn new(path: &Path, cores: u32) -> Result<Self, String> {
        let located = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let data = std::fs::read(path).map_err(|e| located(&e))?;
        let listing = slowpath_nfp::parse_bytes(&data).map_err(|e| located(&e))?;
        let options = slowpath_nfp::LiftOptions::default();
        let program = slowpath_nfp::lift(&listing, "listing", &options).map_err(|e| located(&e))?;
        let target = Target::builtin("agilio-cx-2x40").ok_or("no such target")?;
        let target = target.and_then(|t| t.with_cores(cores)).map_err(|e| e.to_string())?;
        let model = target.cost_model(&program.cost_classes).map_err(|e| e.to_string())?;
        Ok(Replay { program, model, target })
    }

    /// Runs a witness packet. Bytes that may have any value are set to 0xA5.
    pub fn run(&self, record: &Record) -> Result<Outcome, String> {
        let mut environment = Environment::with_fill(&self.program, 0xa5);
        if let Some(length) = self.program.packet_length {
            environment.inputs.insert(length, (record.packet.len() / 2) as u64);
        }
        let region = |kind| {
            let found = self.program.regions.iter().position(|region| region.kind == kind);
            found.map(RegionId::from)
        };
        if let Some(packet) = region(RegionKind::Packet) {
            for offset in 0..record.packet.len() / 2 {
                let text = &record.packet[2 * offset..2 * offset + 2];
                if let Ok(byte) = u8::from_str_radix(text, 16) {
                    environment.memory.insert((packet, offset as u64), byte);
                }
            }
        }
        if let Some(map) = region(RegionKind::Map) {
            for (offset, &byte) in &record.map {
                let offset = offset.parse().map_err(|e| format!("map offset {offset}: {e}"))?;
                environment.memory.insert((map, offset), byte);
            }
        }
        let run = concrete::run(&self.program, &environment, MAX_BLOCKS);
        let run = run.map_err(|error| error.to_string())?;
        let mut path = "->0".to_owned();
        for step in &run.path {
            let block = self.program.block(step.block);
            let taken = step.edge == 0 && self.branches(step.block);
            let Some(edge) = block.terminator.edges().nth(step.edge) else { continue };
            let to = match edge.target {
                Destination::Block(next) => self.program.block(next).first.0,
                Destination::Exit(exit) => exit,
                Destination::Never => continue,
            };
            path.push_str(if taken { "->" } else { "--" });
            path.push_str(&to.to_string());
        }
        let mut cost = self.model.overhead();
        let mut context = self.model.start();
        for event in &run.costs {
            context = self.model.step(context, event.class.0, &mut cost);
        }
        let by_name = |name: &str| {
            let index = self.target.components.iter().position(|c| c.name == name);
            index.map_or(0.0, |index| self.target.cycles(index, cost[index]))
        };
        Ok(Outcome { path, cycles: by_name("processing") as u64, dram_cycles: by_name("dram") })
    }

    /// Returns true if a block ends with a branch instruction instead of falling through.
    fn branches(&self, block: slowpath_ir::BlockId) -> bool {
        let block = self.program.block(block);
        let text =
            |insn: &slowpath_ir::InsnIdx| self.program.insns[insn.index()].text.starts_with('b');
        block.insns.iter().any(text)
    }
}

//! Runs of the interpreter.

use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::{self, ConcreteError, Run};
use slowpath_ir::InputId;
use slowpath_kernel::Context;

use crate::pair::{Pair, other};

/// More blocks than programs execute whose loops the engine unrolls.
const MAX_BLOCKS: usize = 1_000_000;

impl Pair {
    /// The next runs are of this packet.
    pub fn set_packet(&mut self, packet: &[u8], context: &Context) {
        let region = self.lifted.layout.packet;
        for (offset, &byte) in (0..).zip(packet) {
            self.environment.memory.insert((region, offset), byte);
        }
        for offset in packet.len()..self.length {
            self.environment.memory.remove(&(region, offset as u64));
        }
        self.length = packet.len();
        if let Some(input) = self.lifted.program.packet_length {
            self.environment.inputs.insert(input, packet.len() as u64);
        }
        // Without a device it is the loopback device, whose number is 1.
        let device = context.ingress_ifindex.max(1);
        for (name, value) in
            [("ingress_ifindex", device), ("rx_queue_index", context.rx_queue_index)]
        {
            if let Some(input) = self.input(name) {
                self.environment.inputs.insert(input, value.into());
            }
        }
    }

    /// Interprets the program with these open values, and the least of those behind them; the open
    /// inputs have other values if a number of such is given.
    pub fn interpret(
        &mut self,
        choice: &[u64],
        others: Option<usize>,
    ) -> Result<Run, ConcreteError> {
        self.environment.unknowns.clear();
        self.environment.unknowns.extend_from_slice(choice);
        let mut first: Vec<(InputId, Option<u64>)> = Vec::new();
        if let Some(which) = others {
            for (&input, &(min, max)) in &self.others {
                let value = other(which, min, max);
                first.push((input, self.environment.inputs.insert(input, value)));
            }
        }
        let lifted = self.lifted.clone();
        let result = loop {
            let run = concrete::run(&lifted.program, &self.environment, MAX_BLOCKS);
            let Ok(run) = run else { break run };
            // The same numbers in every later run.
            let next = run.interned.values().max().map_or(0, |number| number.saturating_add(1));
            let known = self.environment.unnumbered.unwrap_or(0);
            self.environment.unnumbered = Some(known.max(next));
            self.environment.interned.extend(&run.interned);
            // A trie's answer to a new key has to be known before the run.
            if !self.tries.answer(&lifted.layout.maps, &run, &mut self.environment) {
                break Ok(run);
            }
        };
        for (input, value) in first {
            match value {
                Some(value) => self.environment.inputs.insert(input, value),
                None => self.environment.inputs.remove(&input),
            };
        }
        result
    }

    /// Keys that a packet makes the program look for in a map, as far as numbers stand for them.
    pub fn keys(&mut self, layout: &MapLayout, packet: &[u8], context: &Context) -> Vec<Vec<u8>> {
        self.set_packet(packet, context);
        let (Ok(run), Some(present)) = (self.interpret(&[], None), layout.present) else {
            return Vec::new();
        };
        let numbers = run.interned.values().map(|&number| ((present, u64::from(number)), 1));
        let bytes: Bytes = numbers.collect();
        let elements = layout.elements(&bytes, &run.interned);
        elements.into_iter().filter_map(|element| element.key).collect()
    }
}

//! Runs the lifted program in the concrete interpreter.

use slowpath_bpf::lift::{Bytes, MapLayout};
use slowpath_exec::concrete::{self, ConcreteError, Run};
use slowpath_ir::InputId;
use slowpath_kernel::Context;

use crate::entry::write;
use crate::pair::{Pair, unusual_value};
use crate::skb;

/// Maximum number of basic blocks that a run of the interpreter executes. Programs whose loops can
/// be unrolled execute fewer.
const MAX_BLOCKS: usize = 1_000_000;

impl Pair {
    /// Sets the packet and its context for the next runs of the interpreter.
    pub fn set_packet(&mut self, packet: &[u8], context: &Context) {
        let region = self.lifted.layout.packet;
        write(&mut self.environment, region, 0, packet);
        for offset in packet.len()..self.length {
            self.environment.memory.remove(&(region, offset as u64));
        }
        self.length = packet.len();
        if let Some(input) = self.lifted.program.packet_length {
            self.environment.inputs.insert(input, packet.len() as u64);
        }
        let row = self.lifted.layout.program_type;
        if row.length().is_some() {
            for (name, value) in skb::fields(row, packet, context) {
                if let Some(input) = self.input(&name) {
                    self.environment.inputs.insert(input, value);
                }
            }
            return;
        }
        // Test runs without a device use the loopback device, whose number is 1.
        let device = context.ingress_ifindex.max(1);
        for (name, value) in
            [("ingress_ifindex", device), ("rx_queue_index", context.rx_queue_index)]
        {
            if let Some(input) = self.input(name) {
                self.environment.inputs.insert(input, value.into());
            }
        }
    }

    /// Runs the program in the interpreter. Some values cannot be computed, such as times: they are
    /// taken from `choice` in the order of their use. When `choice` is used up, they get their
    /// minimum. If `value_set` is given, unknown inputs get unusual values of this set
    /// ([`unusual_value`]).
    pub fn interpret(
        &mut self,
        choice: &[u64],
        value_set: Option<usize>,
    ) -> Result<Run, ConcreteError> {
        self.environment.unknowns.clear();
        self.environment.unknowns.extend_from_slice(choice);
        let mut first: Vec<(InputId, Option<u64>)> = Vec::new();
        if let Some(set) = value_set {
            for (&input, &(min, max)) in &self.open_inputs {
                let value = unusual_value(set, min, max);
                first.push((input, self.environment.inputs.insert(input, value)));
            }
        }
        let lifted = self.lifted.clone();
        let result = loop {
            let run = concrete::run(&lifted.program, &self.environment, MAX_BLOCKS);
            let Ok(run) = run else { break run };
            // Pairs keep their numbers in all later runs.
            let next = run.interned.values().max().map_or(0, |number| number.saturating_add(1));
            let known = self.environment.unnumbered.unwrap_or(0);
            self.environment.unnumbered = Some(known.max(next));
            self.environment.interned.extend(&run.interned);
            // The result of a trie lookup must be in memory before the run, so run again.
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

    /// Returns the keys that the program looks up in a map when it processes a packet. Works for
    /// maps whose keys are interned, which means that the interpreter represents them by numbers.
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

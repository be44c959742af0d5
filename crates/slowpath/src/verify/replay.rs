//! Confirms counterexamples to the equivalence of a BPF program and its compiled version: the
//! concrete interpreter runs both programs with the values that the solver has found. The
//! interpreter shares no code with the symbolic execution.

use super::product::{CARD_ADDRESS, Product};
use serde::Serialize;
use slowpath_exec::concrete::{self, Environment, Run};
use slowpath_ir::{InputId, InputKind, RegionId};
use slowpath_nfp::firmware::{MAX_PACKET, PACKET_ADDRESS_OFFSET};
use slowpath_product::{Path, Side};
use slowpath_smt::{Evaluator, Model};
use std::collections::{BTreeMap, BTreeSet};

/// Maximum number of basic blocks that a run executes. All compared paths are shorter.
const MAX_BLOCKS: usize = 200_000;

/// A packet and map contents on which the BPF program and its compiled version differ, with the
/// final states of both.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct Counterexample {
    /// The packet that both programs receive, two hexadecimal digits per byte.
    pub packet: String,
    /// Initial content of the array map; all bytes that are not listed are 0.
    pub array: Vec<ElementByte>,
    /// Random numbers (`bpf_get_prandom_u32`) that the programs draw, in order.
    pub drawn: Vec<u64>,
    /// Final state of the BPF program.
    pub bpf: FinalState,
    /// Final state of the compiled program on the SmartNIC.
    pub card: FinalState,
}

/// A byte of an array map.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct ElementByte {
    /// Index of the array element.
    pub index: u64,
    /// Offset in the element's value, in bytes.
    pub offset: u64,
    /// Value of the byte.
    pub byte: u8,
}

/// State that a run of a program leaves behind.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema))]
pub struct FinalState {
    /// Return value of the program.
    pub result: u32,
    /// Distance by which the packet's start was moved, in bytes.
    pub start: i64,
    /// The packet after the run, two hexadecimal digits per byte.
    pub packet: String,
    /// Bytes of the array map that the run changed, with their new values.
    pub array: Vec<ElementByte>,
}

/// Runs both programs on the values of a solver's model, and compares their final states.
///
/// # Errors
/// Returns a sentence if the runs show no difference.
pub(super) fn confirm(
    product: &Product,
    path: &Path,
    other: &Path,
    model: &Model,
) -> Result<Counterexample, String> {
    let mut evaluator = Evaluator::new(&product.bpf.executor.pool, model);
    let mut values = |terms: &[slowpath_smt::TermId]| -> Vec<u64> {
        terms.iter().map(|&term| evaluator.value(term)).collect()
    };
    let bpf_inputs = values(product.bpf.executor.inputs());
    let card_inputs = values(product.card.executor.inputs());
    let (drawn, card_drawn) = (values(&path.draws), values(&other.draws));
    let mut bpf = product.bpf.environment(&bpf_inputs, drawn.clone());
    let mut card = product.card.environment(&card_inputs, card_drawn);
    for (index, input) in product.card.executor.program().inputs.iter().enumerate() {
        if input.kind == InputKind::BaseAddress(product.regions.packet) {
            card.inputs.insert(InputId::from(index), CARD_ADDRESS);
        }
    }
    memory(product, model, &mut bpf, &mut card);
    let length = product.bpf.executor.program().packet_length;
    let length = length.and_then(|input| bpf.inputs.get(&input).copied()).unwrap_or(0);
    let run = |side: &Side, environment: &Environment| {
        let program = side.executor.program();
        let run = concrete::run(program, environment, MAX_BLOCKS);
        run.map_err(|error| format!("a run cannot be completed: {error}"))
    };
    let (bpf_run, card_run) = (run(&product.bpf, &bpf)?, run(&product.card, &card)?);
    let before = MemoryAfter { run: &Run::default(), environment: &bpf, offset_mask: u64::MAX };
    let packet = before.hex(product.layout.packet, 0, length);
    let array = array(product, &bpf);
    let bpf = bpf_final_state(
        product,
        &MemoryAfter { run: &bpf_run, environment: &bpf, offset_mask: u64::MAX },
    );
    let card = card_final_state(
        product,
        &MemoryAfter { run: &card_run, environment: &card, offset_mask: u32::MAX.into() },
    );
    if bpf == card {
        return Err("the two programs do the same when they are run".into());
    }
    Ok(Counterexample { packet, array, drawn, bpf, card })
}

/// Copies the memory content of a solver's model to the environments in which both programs run.
fn memory(product: &Product, model: &Model, bpf: &mut Environment, card: &mut Environment) {
    let regions = |side: &Side| (0..side.executor.program().regions.len()).map(RegionId::from);
    for (array, index, byte) in model.bytes() {
        for region in regions(&product.bpf).filter(|&r| product.bpf.executor.array(r) == array) {
            bpf.memory.insert((region, index), byte);
            if region == product.layout.packet {
                let offset = index & u64::from(u32::MAX);
                card.memory.insert((product.regions.packet, offset), byte);
            } else if Some(region) == product.values()
                && let Some(spacing) = product.spacing
            {
                let offset = spacing.narrow_number(index);
                card.memory.insert((product.regions.array, offset), byte);
            }
        }
        for region in regions(&product.card).filter(|&r| product.card.executor.array(r) == array) {
            card.memory.insert((region, index), byte);
        }
    }
}

/// Returns the bytes of the array map at the start of a run.
fn array(product: &Product, bpf: &Environment) -> Vec<ElementByte> {
    let (Some(values), Some(spacing)) = (product.values(), product.spacing) else {
        return Vec::new();
    };
    let of_array = bpf.memory.iter().filter(|((region, _), _)| *region == values);
    let mut bytes: Vec<ElementByte> =
        of_array.map(|(&(_, at), &byte)| element(at, spacing.bpf, byte)).collect();
    bytes.sort_unstable();
    bytes
}

fn element(at: u64, bits: u8, byte: u8) -> ElementByte {
    ElementByte { index: at >> bits, offset: at & ((1 << bits) - 1), byte }
}

fn bpf_final_state(product: &Product, end: &MemoryAfter<'_>) -> FinalState {
    let layout = &product.layout;
    let data = end.word(layout.context, 0);
    let length = end.word(layout.context, 4).wrapping_sub(data);
    let base = base(&product.bpf, end.environment, layout.packet);
    let bits = product.spacing.map_or(0, |spacing| spacing.bpf);
    FinalState {
        result: end.word(layout.result, 0) as u32,
        start: moved(data.wrapping_sub(base)),
        packet: end.hex(layout.packet, data.wrapping_sub(base), length),
        array: product.values().map_or_else(Vec::new, |values| end.changed(values, bits)),
    }
}

fn card_final_state(product: &Product, end: &MemoryAfter<'_>) -> FinalState {
    let regions = &product.regions;
    let length = end.word(regions.context, 0) & u64::from(MAX_PACKET);
    let start = end.word(regions.context, PACKET_ADDRESS_OFFSET).wrapping_sub(CARD_ADDRESS);
    let bits = product.spacing.map_or(0, |spacing| spacing.card);
    let packet = end.hex(regions.packet, start, length);
    FinalState {
        result: end.word(regions.result, 0) as u32,
        start: moved(start),
        packet,
        array: end.changed(regions.array, bits),
    }
}

/// Sign-extends a 32-bit number, the distance between two addresses, to 64 bits.
fn moved(distance: u64) -> i64 {
    i64::from(distance as u32 as i32)
}

/// Returns the address of a memory region's first byte.
fn base(side: &Side, environment: &Environment, region: RegionId) -> u64 {
    let inputs = &side.executor.program().inputs;
    let input = inputs.iter().position(|input| input.kind == InputKind::BaseAddress(region));
    input.and_then(|input| environment.inputs.get(&InputId::from(input)).copied()).unwrap_or(0)
}

/// Content of memory after a concrete run of a program.
struct MemoryAfter<'a> {
    run: &'a Run,
    environment: &'a Environment,
    /// Mask for offsets in the packet, which wrap around at the width of the program's addresses.
    offset_mask: u64,
}

impl MemoryAfter<'_> {
    fn before(&self, region: RegionId, offset: u64) -> u8 {
        self.environment.memory.get(&(region, offset)).copied().unwrap_or(self.environment.fill)
    }

    fn byte(&self, region: RegionId, offset: u64) -> u8 {
        let written = self.run.written.get(&(region, offset)).copied();
        written.unwrap_or_else(|| self.before(region, offset))
    }

    /// Reads a little-endian number of four bytes from memory.
    fn word(&self, region: RegionId, offset: u64) -> u64 {
        (0..4).rev().fold(0, |word, n| word << 8 | u64::from(self.byte(region, offset + n)))
    }

    fn hex(&self, region: RegionId, from: u64, length: u64) -> String {
        let byte =
            |n| format!("{:02x}", self.byte(region, from.wrapping_add(n) & self.offset_mask));
        (0..length.min(u64::from(MAX_PACKET) + 1)).map(byte).collect()
    }

    /// Returns the bytes of an array that the run changed. The distance between two elements is
    /// 2^`bits` bytes.
    fn changed(&self, region: RegionId, bits: u8) -> Vec<ElementByte> {
        let keys = self.run.written.keys().filter(|(of, _)| *of == region);
        let places: BTreeSet<u64> = keys.map(|&(_, at)| at).collect();
        let now: BTreeMap<u64, u8> =
            places.into_iter().map(|at| (at, self.byte(region, at))).collect();
        let changed = now.into_iter().filter(|&(at, byte)| byte != self.before(region, at));
        changed.map(|(at, byte)| element(at, bits, byte)).collect()
    }
}

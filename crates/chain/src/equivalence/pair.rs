//! Holds the original and the specialised program while they are compared. Both programs use the
//! same terms for the packet, the maps, addresses and other inputs.
//!
//! Each program has its own stack frames, at other addresses and with other initial content.

use super::facts::{FactTerms, Packets};
use slowpath_bpf::lift::{Layout, Lifted, MapLayout};
use slowpath_exec::{InitialByte, Start, Written};
use slowpath_ir::{InputId, InputKind, Program, Region, RegionId, RegionKind, RelianceId};
use slowpath_product::{Path, Side, StructuralEquality};
use slowpath_smt::{ArrayId, Domain, TermId, TermPool};
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};
use std::rc::Rc;

/// Identifies a memory region in both programs. The first part is true if the region belongs to a
/// map; the second part is the name of the region.
pub(super) type RegionKey = (bool, String);

/// One of the two programs that are compared, prepared for symbolic execution.
pub(super) struct Member {
    pub side: Side,
    pub layout: Layout,
    /// Behaviours that the model does not reproduce exactly, but over-approximates: it allows all
    /// real runs, and some impossible ones. A proof for all runs of the model also holds for the
    /// real ones, so it may ignore these behaviours.
    pub wider: BTreeSet<RelianceId>,
    /// Behaviours that the model lacks, but that matter only after the program has changed the
    /// packet.
    pub of_packet: BTreeSet<RelianceId>,
    /// Memory regions that both programs share, and the region that records helper calls.
    pub regions: BTreeMap<RegionKey, RegionId>,
    /// Number of memory writes that set up the initial state, before the first instruction of the
    /// program.
    pub prologue: usize,
}

/// The original and the specialised program during a proof. Only one of them owns the pool of
/// terms: the original, except while the specialised program is executed ([`Pair::swap_terms`]).
pub(super) struct Pair {
    pub original: Member,
    pub other: Member,
    pub facts: FactTerms,
    /// For each memory region, the array (in the solver's terms) with its initial content.
    pub arrays: BTreeMap<RegionKey, ArrayId>,
    /// Terms that are known to be equal, such as results that both programs compute in different
    /// ways. `None` unless all paths are compared together.
    pub alike: Option<StructuralEquality>,
    /// Memory regions that exist only in the model: in them, runs record the initial content of the
    /// maps that they read.
    pub notes: BTreeSet<RegionKey>,
}

fn key(region: &Region) -> RegionKey {
    (region.kind == RegionKind::Map, region.name.clone())
}

/// Inputs of the programs, by name. Each has a term and a range: width in bits, minimum and
/// maximum.
type Inputs = BTreeMap<String, (TermId, (u8, u64, u64))>;

impl Pair {
    /// Creates the pair of both programs, with common terms for their memory and inputs, in their
    /// start states.
    ///
    /// # Errors
    /// Returns the reason, in words, why their memory or their inputs cannot be compared.
    pub fn new(
        [original, other]: [Lifted; 2],
        (packets, raised): (Packets<'_>, Option<&str>),
        stop: &Stop,
    ) -> Result<Pair, String> {
        matching(&original.layout, &other.layout)?;
        let mut pool = TermPool::new();
        let mut arrays = BTreeMap::new();
        let mut inputs = Inputs::new();
        for program in [&original.program, &other.program] {
            share_memory(&mut pool, program, &mut arrays)?;
            share_inputs(&mut pool, program, &mut inputs)?;
        }
        let notes = [&original, &other].into_iter().flat_map(notes).collect();
        let packet = arrays.get(&(false, "packet".to_owned())).copied();
        let packet = packet.ok_or("the programs have no packet")?;
        let length = inputs.get(LENGTH).map(|&(length, _)| length);
        let length = length.ok_or("the programs know no length of the packet")?;
        let mut facts = FactTerms::of(&mut pool, packets, packet, length);
        if let Some(map) = raised {
            let array = arrays.get(&(true, map.to_owned())).copied();
            let array = array.ok_or("neither program reads the generation of maps")?;
            facts.conditions.push(is_nonzero(&mut pool, array));
        }
        let start = |pool, lifted| member(pool, lifted, (&arrays, &inputs), &facts.initial);
        let mut original = start(pool, original)?;
        let pool = std::mem::take(&mut original.side.executor.pool);
        let mut other = start(pool, other)?;
        other.side.executor.pool.set_stop(stop.clone());
        std::mem::swap(&mut original.side.executor.pool, &mut other.side.executor.pool);
        let pair = Pair { original, other, facts, arrays, alike: None, notes };
        pair.same_start()?;
        Ok(pair)
    }

    /// Passes the pool of terms, which only one of the two programs owns at a time, to the other
    /// program.
    pub fn swap_terms(&mut self) {
        let original = &mut self.original.side.executor.pool;
        std::mem::swap(original, &mut self.other.side.executor.pool);
    }

    /// Returns the pool of terms. The original program must own it at this time.
    pub fn pool(&mut self) -> &mut TermPool {
        &mut self.original.side.executor.pool
    }

    /// Returns `a` if both terms are known to be equal, otherwise `b`. So values that both programs
    /// compute in different ways become the same term. The function looks for equal terms only
    /// while all paths are compared together.
    pub fn one_if_alike(&mut self, a: TermId, b: TermId) -> TermId {
        let pool = &mut self.original.side.executor.pool;
        let alike = self.alike.as_mut().is_some_and(|alike| alike.are_equal(pool, a, b));
        if alike { a } else { b }
    }

    /// Returns the inputs of both programs, without duplicates.
    pub fn inputs(&self) -> Vec<TermId> {
        let sides = [&self.original.side, &self.other.side];
        let mut inputs: Vec<TermId> =
            sides.iter().flat_map(|side| side.executor.inputs()).copied().collect();
        inputs.sort_unstable();
        inputs.dedup();
        inputs
    }

    /// Checks that both programs start with the same content of shared memory.
    fn same_start(&self) -> Result<(), String> {
        let of = |member: &Member| {
            let written = member.side.executor.written(&member.side.start).unwrap_or_default();
            let shared = |written: Written| {
                let location = written.location?;
                let key = member.key(location.region)?;
                let known = [&self.original, &self.other].map(|m| m.regions.contains_key(&key));
                (known == [true; 2]).then_some((key, location.offset, written.value))
            };
            let mut places: Vec<_> = written.into_iter().filter_map(shared).collect();
            // The sort is stable, so writes to one region keep their order.
            places.sort_by(|a, b| a.0.cmp(&b.0));
            places
        };
        if of(&self.original) == of(&self.other) {
            return Ok(());
        }
        Err("the content of maps at the start is not the same in both programs".into())
    }
}

impl Member {
    /// Returns the memory writes of all runs together, after the program was executed in lockstep
    /// with the other program. Writes that set up the initial memory are left out. The program must
    /// own the pool of terms.
    ///
    /// # Errors
    /// Returns the reason, in words, why the writes are not known.
    pub fn written_by_any(&mut self, path: &Path) -> Result<Vec<Written>, String> {
        let Side { executor, start, joined, .. } = &mut self.side;
        let joined = joined.as_mut().ok_or("no runs were joined")?;
        joined.written(executor, start, &path.state).map_err(|error| error.to_string())
    }

    /// Returns the key of a memory region that both programs share, or `None` if they do not share
    /// it.
    pub fn key(&self, region: RegionId) -> Option<RegionKey> {
        let region = self.side.executor.program().regions.get(region.index())?;
        let key = key(region);
        self.regions.contains_key(&key).then_some(key)
    }
}

/// Returns the condition that the generation counter is not zero, which means that a frozen map has
/// changed. The counter is in the first 8 bytes of the array.
fn is_nonzero(pool: &mut TermPool, array: ArrayId) -> TermId {
    let mut all = pool.bool(true);
    for byte in 0..8 {
        let (at, zero) = (pool.constant(64, byte), pool.constant(8, 0));
        let byte = pool.select(array, at);
        let none = pool.eq(byte, zero);
        all = pool.and(all, none);
    }
    pool.not(all)
}

const LENGTH: &str = "length of the packet";

/// Returns true if each of the two programs has its own copy of a memory region. Only stacks are
/// private.
fn private(region: &Region) -> bool {
    region.kind == RegionKind::Stack
}

fn share_memory(
    pool: &mut TermPool,
    program: &Program,
    arrays: &mut BTreeMap<RegionKey, ArrayId>,
) -> Result<(), String> {
    for region in program.regions.iter().filter(|region| !private(region)) {
        let width = program.width(region.base);
        if width != 64 {
            return Err(format!("addresses of {} have {width} bits", region.name));
        }
        arrays.entry(key(region)).or_insert_with(|| match &region.content {
            Some(bytes) => pool.constant_array(&region.name, width, bytes),
            None => pool.array(&region.name, width),
        });
    }
    Ok(())
}

fn share_inputs(pool: &mut TermPool, program: &Program, known: &mut Inputs) -> Result<(), String> {
    for input in &program.inputs {
        let Some(name) = input_name(program, input.kind, &input.name) else { continue };
        let limits = (input.width, input.min, input.max);
        let domain = Domain::range(input.width, input.min, input.max);
        let (_, first) =
            known.entry(name).or_insert_with(|| (pool.var(&input.name, domain), limits));
        if *first != limits {
            return Err(format!("{} can differ between the two programs", input.name));
        }
    }
    Ok(())
}

/// Returns a name under which an input, such as the packet length, is the same in both programs.
/// Returns `None` for an input that each program has for itself, such as the address of its stack.
fn input_name(program: &Program, kind: InputKind, name: &str) -> Option<String> {
    match kind {
        InputKind::PacketLength => Some(LENGTH.to_owned()),
        InputKind::Unknown => Some(format!("input {name}")),
        InputKind::BaseAddress(region) => {
            let region = program.regions.get(region.index()).filter(|region| !private(region))?;
            let (map, name) = key(region);
            Some(format!("address of {} {name}", if map { "map" } else { "region" }))
        }
    }
}

fn member(
    pool: TermPool,
    lifted: Lifted,
    (arrays, inputs): (&BTreeMap<RegionKey, ArrayId>, &Inputs),
    packet: &InitialByte,
) -> Result<Member, String> {
    let Lifted { program, layout, over_approximating: wider, packet_reliances: of_packet, .. } =
        lifted;
    let mut start = Start { pool, ..Start::default() };
    for (index, input) in program.inputs.iter().enumerate() {
        let name = input_name(&program, input.kind, &input.name);
        if let Some(&(term, _)) = name.and_then(|name| inputs.get(&name)) {
            start.inputs.insert(InputId::from(index), term);
        }
    }
    let mut regions = BTreeMap::new();
    for (index, region) in program.regions.iter().enumerate() {
        let id = RegionId::from(index);
        if id == layout.packet {
            start.initial.insert(id, Rc::clone(packet));
        } else if let Some(&array) = arrays.get(&key(region)).filter(|_| !private(region)) {
            let initial: InitialByte = Rc::new(move |pool, offset| pool.select(array, offset));
            start.initial.insert(id, initial);
        }
        if !private(region) || layout.calls == Some(id) {
            regions.insert(key(region), id);
        }
    }
    let side = Side::new(program, start).map_err(|error| error.to_string())?;
    let prologue = side.executor.written(&side.start).ok_or("a prologue has merges")?.len();
    Ok(Member { side, layout, wider, of_packet, regions, prologue })
}

/// Returns the memory regions in which runs record the content of maps that they read. The proof
/// does not compare these regions, because they hold initial content.
fn notes(lifted: &Lifted) -> Vec<RegionKey> {
    let regions = lifted.layout.maps.iter().filter_map(|map| map.first_access);
    regions.map(|region| key(&lifted.program.regions[region.index()])).collect()
}

/// Checks that each map has the same memory layout in both programs.
fn matching(first: &Layout, second: &Layout) -> Result<(), String> {
    for map in &first.maps {
        let Some(other) = second.maps.iter().find(|other| other.name == map.name) else { continue };
        if shape(map) != shape(other) {
            return Err(format!("map {} is kept differently in the two programs", map.name));
        }
    }
    Ok(())
}

/// Returns the memory layout of a map with placeholders for the ids of memory regions and inputs,
/// so that the layouts of two programs can be compared.
fn shape(map: &MapLayout) -> MapLayout {
    let any = RegionId(0);
    let mut shape = map.clone();
    shape.values = any;
    for region in [
        &mut shape.present,
        &mut shape.identity,
        &mut shape.moved,
        &mut shape.first_access,
        &mut shape.prefix_lengths,
        &mut shape.sizes,
    ] {
        *region = region.map(|_| any);
    }
    if let Some(room) = &mut shape.free_elements {
        room.free = InputId(0);
    }
    if let Some(fill) = &mut shape.fill {
        fill.used = any;
    }
    shape
}

//! Analyses BPF objects on a SmartNIC: compiles the program, and lifts the resulting listing. Each
//! instruction of the listing keeps the source line of the BPF instruction from which it was
//! compiled.

use super::compilation::Compilation;
use super::lifted::{Functions, Lifted, Origins, VerifierLimitScope};
use super::object;
use super::packet_facts_check::restrict_to_facts;
use crate::Error;
use crate::arrivals::{Arrivals, ArrivingProgram};
use crate::kernel_types::KernelTypes;
use crate::options::ProgramRequest;
use crate::stages;
use slowpath_bpf::insn::{Imm64, Insn};
use slowpath_bpf::lift::{Interference, Keying, Layout, MapContent, MapLayout, Receive};
use slowpath_bpf::{BpfProgram, LineInfo, MapDef, Object};
use slowpath_codes as codes;
use slowpath_ir::{PacketFacts, Program, RegionId, RegionKind, SourceLocation};
use slowpath_nfp::MapAbi;
use slowpath_stop::Stop;
use std::collections::{BTreeMap, BTreeSet};

/// Compiles, for the SmartNIC, the program that a request names, and lifts the resulting listing.
pub(super) fn lift(
    request: &ProgramRequest,
    packets: (u16, u16),
    stop: &Stop,
) -> Result<Lifted, Error> {
    let object = request.object.bpf()?;
    let Compilation { linked, compiled, abi } = Compilation::of(request, object, stop)?;
    let arriving = request.object.as_arriving();
    let arrivals = arriving.map(|program| arrivals(program, request, packets, stop)).transpose()?;
    let facts = arrivals.as_ref().and_then(|arrivals| arrivals.facts.as_ref());
    stop.enter(stages::LIFTING);
    let lengths = facts.map_or(packets, |facts| (facts.min_length, facts.max_length));
    let options = slowpath_nfp::LiftOptions {
        min_packet: lengths.0,
        max_packet: lengths.1,
        ..Default::default()
    };
    let name = arriving.map_or(&linked.name, |program| &program.name);
    let mut program = slowpath_nfp::lift(&compiled.listing, name, &options)?;
    let line = |slot: &Option<usize>| linked.lines.get((*slot)?).cloned().flatten();
    let lines: Vec<Option<LineInfo>> = compiled.origins.iter().map(line).collect();
    for (insn, line) in program.insns.iter_mut().zip(&lines) {
        insn.source = line
            .as_ref()
            .map(|line| SourceLocation { file: line.file.to_string(), line: line.line });
    }
    let layout = layout(object, &linked, &program, abi);
    let mut contents = object::stated_contents(request, object)?;
    contents.extend(arriving.into_iter().flat_map(|program| program.contents.clone()));
    content(&contents, object, &layout, &mut program)?;
    if let Some(facts) = facts {
        restrict_to_facts(&mut program, facts);
    }
    let functions = functions(&linked, &compiled.origins);
    // Deviations are notes only: the result is about the listing, which the card runs in any case.
    let mut notes = compiled.deviations.clone();
    if let Some(arrivals) = arrivals {
        program.assumptions.extend(arrivals.assumptions);
        notes.extend(arrivals.notes);
    }
    let interference = interference(request, object, lengths, stop)?;
    let has_upstream = arriving.is_some_and(|program| !program.upstream.is_empty());
    Ok(Lifted {
        program,
        layout: Some(layout),
        pipeline: None,
        code: None,
        verifier_limit_scope: VerifierLimitScope::Nothing,
        notes,
        inexact_reason: has_upstream.then(|| "arriving packets are known by facts only".to_owned()),
        interference,
        origins: Origins::Source(lines),
        functions,
        members: Vec::new(),
    })
}

/// Returns the maps that another core of the SmartNIC may change between two accesses of one run.
/// These are all maps if the accesses of the BPF program are not known.
fn interference(
    request: &ProgramRequest,
    object: &Object,
    length: (u16, u16),
    stop: &Stop,
) -> Result<Interference, Error> {
    let receive = Receive { length, ..Receive::ANY };
    let maps: BTreeSet<String> = match object::lift(request, object, receive, stop) {
        Ok(lifted) => lifted.interference.maps,
        Err(error) if stop.reason().is_some() => return Err(error),
        // The accesses are unknown, but the card runs the program. So all maps are included.
        Err(_) => object.maps.iter().map(|map| map.name.clone()).collect(),
    };
    Ok(Interference { maps, ..Interference::default() })
}

/// Returns the facts about packets that the upstream programs send to this program. Packet lengths
/// are limited to those that the device can receive.
///
/// # Errors
/// If no packet arrives.
fn arrivals(
    program: &ArrivingProgram,
    request: &ProgramRequest,
    packets: (u16, u16),
    stop: &Stop,
) -> Result<Arrivals, Error> {
    stop.enter(stages::ARRIVING);
    let kernel = request.kernel.as_deref().map(KernelTypes::shared);
    // Half of the remaining time, so that later stages have time too.
    let within = stop.within(stop.remaining().map(|left| left / 2));
    let mut arrivals = (program.arrivals)(kernel.as_ref(), &within);
    let received = PacketFacts::lengths(packets.0, packets.1);
    arrivals.facts = arrivals.facts.and_then(|facts| facts.meet(&received));
    if arrivals.facts.is_none() {
        return Err(Error::Input(
            codes::NO_PACKETS_ARRIVE,
            "earlier programs pass no packets here".into(),
        ));
    }
    Ok(arrivals)
}

/// Returns the functions of the compiled program, each with the number of its first instruction.
/// Instructions that the SmartNIC's driver adds around the program belong to no function.
fn functions(linked: &BpfProgram, origins: &[Option<usize>]) -> Functions {
    let mut functions: Functions = vec![(0, None)];
    for (number, slot) in (0u32..).zip(origins) {
        let function = slot.and_then(|slot| linked.function_of(slot));
        let name = function.map(|function| function.name.clone());
        if functions.last().is_none_or(|(_, last)| *last != name) {
            functions.push((number, name));
        }
    }
    functions
}

/// Describes the relation between maps and memory regions of the compiled program. An array map can
/// be in the memory of the SmartNIC.
fn layout(object: &Object, linked: &BpfProgram, program: &Program, abi: MapAbi) -> Layout {
    let of_kind = |kind| {
        let found = program.regions.iter().position(|region| region.kind == kind);
        found.map_or(RegionId(0), RegionId::from)
    };
    let array = |def: &MapDef| MapLayout {
        name: def.name.clone(),
        kind: def.kind,
        key_size: def.key_size,
        value_size: def.value_size,
        keying: Keying::Index,
        values: of_kind(RegionKind::Map),
        element_bits: u64::from(def.value_size).next_power_of_two().trailing_zeros() as u8,
        present: None,
        identity: None,
        moved: None,
        first_access: None,
        prefix_lengths: None,
        free_elements: None,
        fill: None,
        sizes: None,
        max_entries: def.max_entries,
        inner: false,
    };
    let used = linked.insns.iter().find_map(|insn| match insn {
        Insn::LoadImm64 { value: Imm64::Map(map), .. } => object.maps.get(*map as usize),
        _ => None,
    });
    Layout {
        program_type: &slowpath_bpf::XDP,
        calls: None,
        // Results stay in a register.
        result: of_kind(RegionKind::Context),
        packet: of_kind(RegionKind::Packet),
        context: of_kind(RegionKind::Context),
        maps: used.filter(|_| abi == MapAbi::ArrayPointer).map(array).into_iter().collect(),
    }
}

/// Sets the initial content of the compiled program's array map in the SmartNIC's memory, as far as
/// it is known.
fn content(
    contents: &BTreeMap<String, MapContent>,
    object: &Object,
    layout: &Layout,
    program: &mut Program,
) -> Result<(), Error> {
    for map in &layout.maps {
        let Some(content) = contents.get(&map.name) else { continue };
        let Some(def) = object.maps.iter().find(|def| def.name == map.name) else { continue };
        let bytes = slowpath_bpf::lift::array_content(def, map, content)?;
        program.regions[map.values.index()].content = Some(bytes);
    }
    Ok(())
}

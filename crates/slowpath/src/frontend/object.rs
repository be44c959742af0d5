//! Finds the programs of BPF objects, and lifts them to the intermediate representation.

use super::lifted::{Functions, Lifted, Member, Members, Origins, VerifierLimitScope};
use super::packet_facts_check::restrict_to_facts;
use crate::kernel_types::KernelTypes;
use crate::options::ProgramRequest;
use crate::{ChainMember, Error, ProgramChain, assume, map_contents, settings, stages};
use slowpath_bpf::insn::helper::{FOR_EACH_MAP_ELEM, LOOP, TAIL_CALL};
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::lift::{self, LiftOptions, MapContent, PlacedProgram, Receive};
use slowpath_bpf::{BpfProgram, Object, ProgramEntry, ProgramKind, ProgramType};
use slowpath_codes as codes;
use slowpath_estimate::Code;
use slowpath_ir::{PacketFacts, Program};
use slowpath_stop::Stop;
use std::collections::BTreeMap;

pub(super) fn entry(request: &ProgramRequest) -> Result<ProgramEntry, Error> {
    let entry = request.object.bpf()?.programs.get(request.program).cloned();
    entry.ok_or_else(|| missing(request.program))
}

/// Links the program that the request names in `object`.
pub(crate) fn link(request: &ProgramRequest, object: &Object) -> Result<BpfProgram, Error> {
    let kind = object.programs.get(request.program).ok_or_else(|| missing(request.program))?.kind;
    let follows = request.object.as_chain().is_some() || request.object.as_arriving().is_some();
    let accepted = match kind {
        _ if ProgramType::of(kind).is_none() => {
            Some("only XDP, tc, cgroup_skb and socket programs are analysed")
        }
        _ if follows && !kind.is_xdp() => Some("only XDP programs form chains"),
        _ => None,
    };
    if let Some(reason) = accepted {
        let what = format!("the program is of type {kind}; {reason}");
        return Err(Error::Input(codes::UNSUPPORTED_PROGRAM_TYPE, what));
    }
    let environment = request.options.receive.as_deref().and_then(|text| text.split(',').next());
    if let Some(name) = environment
        && !kind.is_xdp()
        && !["any", "test-run"].contains(&name)
        && Receive::named(name).is_some()
    {
        let what = format!(
            "--receive {name} describes packets of XDP programs; for others, give properties such as \
              length=0..1514"
        );
        return Err(Error::Option(codes::INVALID_VALUE, what));
    }
    let kernel = request.kernel.as_deref().map(KernelTypes::btf);
    Ok(object.link(request.program, kernel)?)
}

/// Lifts the program that the request names in `object` to the intermediate representation.
pub(crate) fn lift(
    request: &ProgramRequest,
    object: &Object,
    receive: Receive,
    stop: &Stop,
) -> Result<Lifted, Error> {
    lift_interleaved(request, object, receive, false, stop)
}

/// Lifts the program that the request names in `object`, like `lift`. If `interleaved` is true, the
/// lifted program allows other CPUs to write to shared maps between its accesses.
pub(crate) fn lift_interleaved(
    request: &ProgramRequest,
    object: &Object,
    receive: Receive,
    interleaved: bool,
    stop: &Stop,
) -> Result<Lifted, Error> {
    let linked = link(request, object)?;
    stop.enter(stages::LIFTING);
    let chain = request.object.as_chain();
    let arriving = chain.and_then(|chain| chain.arriving.as_ref());
    let (least, greatest) =
        arriving.map_or(Ok(receive.length), |facts| lengths(facts, receive.length))?;
    let options = LiftOptions {
        receive: receive.with_length(least, greatest),
        receive_after_network: receive,
        interleaved,
        stop: stop.clone(),
        ..options(request, object)?
    };
    let lifted = lift::lift(object, &linked, &options).map_err(|error| match error.stopped {
        Some(reason) => Error::stopped(reason, stop),
        None => Error::from(error),
    })?;
    let conditions = settings::conditions(object, &linked, &lifted, &options);
    let mut program = lifted.program;
    program.assumptions.extend(conditions);
    if linked.kind == ProgramKind::Unknown && chain.is_none() {
        program.assumptions.push("the program is of type XDP".to_owned());
    }
    if linked.kind == ProgramKind::SchedCls && ProgramKind::of_section(&linked.section).is_none() {
        let text = "the program is of type sched_cls; its parameter is a struct __sk_buff";
        program.assumptions.push(text.to_owned());
    }
    if let Some(chain) = chain {
        program.name.clone_from(&chain.name);
        program.assumptions.extend(chain.assumptions.iter().cloned());
    }
    if let Some(facts) = arriving {
        restrict_to_facts(&mut program, facts);
    }
    let verifier_limit_scope =
        verifier_limit_scope(&linked, &lifted.code, &program, chain.is_some());
    let functions = functions(&lifted.programs, chain, lifted.code.len());
    // The prices of targets are those of XDP programs.
    let timed = linked.kind.is_xdp();
    let mut code = Code::new(lifted.code, object);
    let names = object.maps.iter().map(|map| map.name.as_str());
    request.options.apply_entries(names.zip(code.sizes()))?;
    Ok(Lifted {
        verifier_limit_scope,
        functions,
        members: chain.map_or_else(Vec::new, |chain| members(&lifted.programs, chain)),
        program,
        layout: Some(lifted.layout),
        pipeline: None,
        code: timed.then_some(code),
        notes: not_loadable(&linked),
        inexact_reason: None,
        interference: lifted.interference,
        origins: Origins::Source(lifted.lines),
    })
}

/// Returns the part of a run that the kernel verifier's limit on instructions bounds.
fn verifier_limit_scope(
    linked: &BpfProgram,
    code: &[Insn],
    program: &Program,
    chain: bool,
) -> VerifierLimitScope {
    let calls = |matches: fn(&Call) -> bool| {
        code.iter().any(|insn| matches!(insn, Insn::Call(call) if matches(call)))
    };
    let alone = !chain && !calls(|call| *call == Call::Helper(TAIL_CALL));
    // The kernel requires these names (`btf_check_iter_kfuncs` of `kernel/bpf/btf.c`).
    let iterates = |name: &String| name.starts_with("bpf_iter_") && name.ends_with("_next");
    let of_others = !alone && calls(|call| matches!(call, Call::Kfunc { .. }));
    if of_others || linked.kfuncs.iter().any(iterates) {
        return VerifierLimitScope::Nothing;
    }
    // The first function is the program itself.
    let verified_apart = linked.subprograms.iter().skip(1).any(|function| function.global);
    let limited = !program.visit_limits.is_empty()
        || code.iter().any(|insn| matches!(insn, Insn::MayGoto { .. }))
        || calls(|call| matches!(call, Call::Helper(LOOP | FOR_EACH_MAP_ELEM)));
    match alone && !verified_apart && !limited {
        true => VerifierLimitScope::Run,
        false => VerifierLimitScope::Loops,
    }
}

/// Returns the reasons why the kernel verifier of every version rejects a program, as far as they
/// follow from the object alone.
fn not_loadable(linked: &BpfProgram) -> Vec<String> {
    let stack = linked.stack_use();
    let none = stack.refused.iter().map(|reason| format!("no kernel loads this program: {reason}"));
    let some = stack.refused_by_some.iter().map(|reason| {
        format!("kernels that round the stack of functions to 32 bytes do not load it: {reason}")
    });
    none.chain(some).collect()
}

/// Returns the minimum and maximum length in bytes of packets that satisfy `facts` and that the
/// device can receive. `received` is the range of lengths that the device receives.
///
/// # Errors
/// If no packet length is in both ranges.
fn lengths(facts: &PacketFacts, received: (u16, u16)) -> Result<(u16, u16), Error> {
    let both = facts.meet(&PacketFacts::lengths(received.0, received.1)).ok_or_else(|| {
        let (least, greatest) = (facts.min_length, facts.max_length);
        let what = format!("no packet that arrives here has {least} to {greatest} bytes");
        Error::Input(codes::PACKET_LENGTHS, what)
    })?;
    Ok((both.min_length, both.max_length))
}

/// Returns the functions of all programs. If the programs form a chain, each function name starts
/// with the name of its program.
fn functions(placed: &[PlacedProgram], chain: Option<&ProgramChain>, end: usize) -> Functions {
    let named = placed.iter().flat_map(|placed| {
        let member = chain.and_then(|chain| member_of(placed, chain));
        placed.functions.iter().map(move |(first, name)| {
            let name = member.map_or_else(|| name.clone(), |of| format!("{}:{name}", of.name));
            (*first as u32, Some(name))
        })
    });
    named.chain([(end as u32, None)]).collect()
}

/// Returns the ranges of instructions of a chain's programs, one for each program that the linker
/// placed in the code. Placed programs that do not belong to the chain are left out.
fn members(placed: &[PlacedProgram], chain: &ProgramChain) -> Members {
    let place = |placed: &PlacedProgram| {
        let member = member_of(placed, chain)?;
        Some(Member {
            first: placed.first as u32,
            name: member.name.clone(),
            start: placed.program == member.program,
        })
    };
    placed.iter().filter_map(place).collect()
}

fn member_of<'a>(placed: &PlacedProgram, chain: &'a ProgramChain) -> Option<&'a ChainMember> {
    chain.members.iter().find(|member| member.programs.contains(&placed.program))
}

/// Returns the map content that the options of a request state, by map name.
pub(super) fn stated_contents(
    request: &ProgramRequest,
    object: &Object,
) -> Result<BTreeMap<String, MapContent>, Error> {
    let text = request.options.maps.as_deref();
    text.map_or_else(|| Ok(BTreeMap::new()), |text| map_contents(text, object))
}

/// Returns the options for lifting that follow from a request.
fn options(request: &ProgramRequest, object: &Object) -> Result<LiftOptions, Error> {
    let mut contents = stated_contents(request, object)?;
    let assumed_helpers = match &request.options.assume {
        Some(text) => assume::helpers(text)?,
        None => Default::default(),
    };
    let chain = request.object.as_chain();
    contents.extend(chain.into_iter().flat_map(|chain| chain.contents.clone()));
    Ok(LiftOptions {
        contents,
        assumed_helpers,
        handovers: chain.map_or_else(Vec::new, |chain| chain.handovers.clone()),
        costed_programs: chain.and_then(|chain| chain.counted.clone()),
        kernel_types: request.kernel.as_deref().map(|kernel| kernel.shared()),
        ..LiftOptions::default()
    })
}

fn missing(program: usize) -> Error {
    Error::Input(codes::NO_SUCH_PROGRAM, format!("there is no program number {program}"))
}

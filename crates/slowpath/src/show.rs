//! What a BPF object contains, as data: programs, maps, calls, loops, what is unresolved or not
//! supported, listings.
//!
//! Nothing is searched here: programs are lifted and unrolled, to see whether `bound` will work.
//! An object may be shown whose programs no front end lifts. The format is documented in
//! `docs/json.md`.

mod calls;
mod loops;

use crate::frontend::{Compilation, Lifted, lift_object};
use crate::kernel_types::KernelTypes;
use crate::object::ProgramFile;
use crate::options::ProgramRequest;
use crate::refusal::Refusal;
use crate::source_line::ShownLine;
use crate::{Error, Options};
use calls::{ShownCall, ShownMapUse};
use loops::ShownLoop;
use serde::Serialize;
use slowpath_bpf::insn::Insn;
use slowpath_bpf::{BpfProgram, MapDef, Object, ProgramKind};
use slowpath_stop::Stop;
use std::sync::Arc;
use std::time::Duration;

/// An object, or why it cannot be shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BpfObject"))]
pub(crate) struct ShownObject {
    /// The file as the user named it.
    file: String,
    /// Content of the section `license`; null when there is none.
    license: Option<String>,
    /// Programs that `--section` and `--prog-name` ask for; empty after an error.
    programs: Vec<ShownProgram>,
    /// All maps. Sections of global data are maps.
    maps: Vec<ShownMap>,
    /// Why the object cannot be shown, one line; null when it can.
    error: Option<String>,
}

/// A program of an object.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Program"))]
struct ShownProgram {
    /// Section of its entry function.
    section: String,
    /// Name of its entry function.
    name: String,
    /// `xdp`, `sched_cls`, ...; `unknown` when nothing tells.
    kind: String,
    /// How many instructions there are in all of its functions.
    instructions: usize,
    /// How many of them have a known source line.
    instructions_with_source: usize,
    /// The other functions.
    subprograms: Vec<ShownSubprogram>,
    /// Its stack; null when it cannot be linked.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    stack: Option<ShownStack>,
    /// Reasons for which no kernel loads it, as far as the object tells, one sentence each.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    not_loadable: Vec<String>,
    /// Helpers that it calls.
    helpers: Vec<ShownCall>,
    /// Kernel functions that it calls.
    kernel_functions: Vec<ShownCall>,
    /// The maps that it refers to.
    maps: Vec<ShownMapUse>,
    /// Instructions that depend on what is not known, such as the kernel's types.
    unresolved: Vec<ShownUnresolved>,
    /// Why `slowpath bound --target ebpf` cannot analyse it, one line; null when it can, given limits
    /// for the loops without a known number of iterations.
    unsupported: Option<String>,
    /// Sentences that a bound would depend on.
    assumptions: Vec<String>,
    /// Its loops.
    loops: Vec<ShownLoop>,
    /// Whether the card, `agilio-cx-2x40`, runs it, compiled with default options. Null
    /// when it is no XDP program, or cannot be linked.
    card: Option<ShownCard>,
    /// Why it cannot be linked, one line; then all counts are 0 and lists are empty. Null when it
    /// can.
    error: Option<String>,
    /// Every instruction; null without `--listing`.
    listing: Option<Vec<ShownInsn>>,
}

/// A program on the card, compiled with default options.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Card"))]
struct ShownCard {
    /// How many instructions there are for the card; null when it cannot run the program.
    instructions: Option<usize>,
    /// All reasons why not, as in a result of `slowpath bound`.
    refusals: Vec<Refusal>,
}

/// The stack of a program, as far as the addresses of accesses are constant.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Stack"))]
struct ShownStack {
    /// Bytes of the entry function.
    own: u32,
    /// The functions along which the stack is deepest, from the entry function on, by name.
    deepest: Vec<String>,
    /// Bytes along these, each function rounded up to 32 bytes, as kernels do it that do not compile
    /// programs, and older ones; others round to 16.
    bytes: u32,
}

/// A function that a program can call.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Subprogram"))]
struct ShownSubprogram {
    /// Its name.
    name: String,
    /// Its first instruction.
    first: usize,
    /// Whether it is global, and not `static`.
    global: bool,
    /// Bytes of its stack, as far as the addresses of accesses are constant.
    #[cfg_attr(test, schemars(extend("default" = 0)))]
    stack: u32,
}

/// An instruction that depends on what is not known.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Unresolved"))]
struct ShownUnresolved {
    /// Its number.
    instruction: usize,
    /// What is not known.
    reason: String,
}

/// An instruction of a listing.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Instruction"))]
struct ShownInsn {
    /// Its number.
    instruction: usize,
    /// How it is written.
    text: String,
    /// Its source line; null where that is not known.
    source: Option<ShownLine>,
}

/// A map of an object.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Map"))]
struct ShownMap {
    /// Its name.
    name: String,
    /// Its type: `hash`, `array`, ...
    kind: String,
    /// Bytes of a key.
    key_size: u32,
    /// Bytes of a value.
    value_size: u32,
    /// How many elements it has room for; 0 where the loader chooses.
    max_entries: u32,
}

/// What is to be shown, and how much work it may take.
#[derive(Clone, Debug)]
pub struct ShowRequest {
    /// The file as the user named it.
    pub file: String,
    /// What is in it.
    pub object: ProgramFile,
    /// Numbers of the programs.
    pub programs: Vec<usize>,
    /// The kernel that they are for; without it, what depends on its types is unresolved.
    pub kernel: Option<Arc<KernelTypes>>,
    /// Whether to list instructions.
    pub listing: bool,
    /// Seconds for finding the loop bounds of one program.
    pub deadline_seconds: f64,
}

impl ShowRequest {
    /// All of an object but its instructions, without a kernel, and without time for its loops.
    pub fn of(file: impl Into<String>, object: ProgramFile) -> Self {
        let number = object.programs().map_or(0, |programs| programs.len());
        ShowRequest {
            file: file.into(),
            object,
            programs: (0..number).collect(),
            kernel: None,
            listing: false,
            deadline_seconds: 0.0,
        }
    }
}

/// Shows a BPF object as JSON.
///
/// A program that cannot be linked or analysed says so in its entry and leaves the others alone.
/// When `stop` says so, programs are no longer lifted, and loop bounds no longer looked for.
///
/// # Errors
/// When the object cannot be read.
pub fn show(request: &ShowRequest, stop: &Stop) -> Result<String, Error> {
    let object = request.object.bpf()?;
    let chosen = request.programs.iter().filter(|&&index| index < object.programs.len());
    let shown = ShownObject {
        file: request.file.clone(),
        license: object.license.clone(),
        programs: chosen.map(|&index| program(object, index, request, stop)).collect(),
        maps: object.maps.iter().map(map).collect(),
        error: None,
    };
    serde_json::to_string(&shown).map_err(|error| Error::Panic(error.to_string()))
}

/// The program as an analysis with default options sees it.
fn lifted(
    request: &ShowRequest,
    program: usize,
    object: &Object,
    stop: &Stop,
) -> Result<Lifted, Error> {
    let request = default_request(request, program);
    let (receive, _) = request.options.arrivals(&request.options.target.description()?)?;
    lift_object(&request, object, receive, stop)
}

/// An analysis of a program as it is, with default options.
fn default_request(request: &ShowRequest, program: usize) -> ProgramRequest {
    ProgramRequest {
        file: request.file.clone(),
        object: request.object.clone(),
        program,
        kernel: request.kernel.clone(),
        options: Options { target: "ebpf".into(), ..Options::default() },
    }
}

/// What compiling the program for the card with default options says.
fn card(request: &ShowRequest, program: usize, object: &Object, stop: &Stop) -> ShownCard {
    let compiled = Compilation::of(&default_request(request, program), object, stop);
    match compiled {
        Ok(compilation) => ShownCard {
            instructions: Some(compilation.compiled.listing.len()),
            refusals: Vec::new(),
        },
        Err(Error::Refused { refusals, .. }) => ShownCard { instructions: None, refusals },
        Err(error) => ShownCard {
            instructions: None,
            refusals: vec![Refusal::not_understood(error.to_string())],
        },
    }
}

fn program(object: &Object, index: usize, request: &ShowRequest, stop: &Stop) -> ShownProgram {
    let entry = &object.programs[index];
    let kernel = request.kernel.as_deref().map(KernelTypes::btf);
    let shown = ShownProgram {
        section: entry.section.clone(),
        name: entry.name.clone(),
        kind: entry.kind.to_string(),
        ..ShownProgram::default()
    };
    let linked = match object.link(index, kernel) {
        Ok(linked) => linked,
        Err(error) => return ShownProgram { error: Some(error.to_string()), ..shown },
    };
    let (helpers, kernel_functions) = calls::of(&linked);
    let time = Duration::try_from_secs_f64(request.deadline_seconds.max(0.0));
    let time = time.unwrap_or(Duration::MAX);
    let (unsupported, assumptions, loops) = match entry.kind {
        ProgramKind::Xdp | ProgramKind::Unknown => match lifted(request, index, object, stop) {
            Ok(lifted) => {
                let loops = loops::of(&lifted, &stop.within(Some(time)));
                (None, lifted.program.assumptions, loops)
            }
            Err(error) => (Some(error.to_string()), Vec::new(), Vec::new()),
        },
        kind => (Some(format!("a program of type {kind}, not XDP")), Vec::new(), Vec::new()),
    };
    let card = matches!(entry.kind, ProgramKind::Xdp | ProgramKind::Unknown)
        .then(|| card(request, index, object, stop));
    let stack = linked.stack_use();
    let subprogram = |(s, &stack): (&slowpath_bpf::Subprogram, &u32)| ShownSubprogram {
        name: s.name.clone(),
        first: s.first,
        global: s.global,
        stack,
    };
    let shown_stack = ShownStack {
        own: stack.own.first().copied().unwrap_or(0),
        deepest: stack.deepest.iter().map(|&at| linked.subprograms[at].name.clone()).collect(),
        bytes: stack.bytes,
    };
    let unresolved = |u: &slowpath_bpf::Unresolved| ShownUnresolved {
        instruction: u.insn,
        reason: u.what.clone(),
    };
    ShownProgram {
        instructions: linked.insns.len(),
        instructions_with_source: linked.lines.iter().flatten().count(),
        // The first is the program itself.
        subprograms: linked.subprograms.iter().zip(&stack.own).skip(1).map(subprogram).collect(),
        stack: Some(shown_stack),
        not_loadable: stack.refused,
        helpers,
        kernel_functions,
        maps: calls::maps(object, &linked),
        unsupported,
        assumptions,
        loops,
        card,
        unresolved: linked.unresolved.iter().map(unresolved).collect(),
        listing: request.listing.then(|| listing(object, &linked)),
        ..shown
    }
}

/// Calls of helpers, in the order of their numbers, and of kernel functions, by name.
fn listing(object: &Object, program: &BpfProgram) -> Vec<ShownInsn> {
    let slots = program.insns.iter().enumerate().filter(|(_, insn)| **insn != Insn::SecondSlot);
    let shown = |(slot, _): (usize, &Insn)| ShownInsn {
        instruction: slot,
        text: program.disassemble(object, slot),
        source: ShownLine::of(program, slot),
    };
    slots.map(shown).collect()
}

fn map(map: &MapDef) -> ShownMap {
    ShownMap {
        name: map.name.clone(),
        kind: map.kind.to_string(),
        key_size: map.key_size,
        value_size: map.value_size,
        max_entries: map.max_entries,
    }
}

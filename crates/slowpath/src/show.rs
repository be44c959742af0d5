//! Describes the content of a BPF object as data: its programs, maps, calls, loops, listings, and
//! features that are not resolved or not supported.
//!
//! Programs are lifted and unrolled to check if `bound` supports them, but no search runs. An
//! object can be shown even if no front end lifts its programs. `docs/reference/json.md`
//! documents the format.

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
use slowpath_bpf::{BpfProgram, MapDef, Object, ProgramKind, ProgramType};
use slowpath_stop::Stop;
use std::cell::Cell;
use std::sync::Arc;
use std::time::Duration;

/// Description of a BPF object, or the reason why it cannot be shown.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "BpfObject"))]
pub(crate) struct ShownObject {
    /// The name of the file, as the user stated it.
    file: String,
    /// Content of the section `license`; null if the section does not exist, and for P4 programs.
    license: Option<String>,
    /// Programs that `--section` and `--prog-name` select; empty after an error.
    programs: Vec<ShownProgram>,
    /// All maps, including the sections of global data.
    maps: Vec<ShownMap>,
    /// Reason why the object cannot be shown, in one line; null if it can.
    error: Option<String>,
    /// Code of the cause of `error`, which `slowpath explain` describes; null without an error.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    code: Option<String>,
}

/// Description of a program of a BPF object.
#[derive(Default, Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Program"))]
struct ShownProgram {
    /// Name of the object's section that contains the entry function.
    section: String,
    /// Name of the entry function.
    name: String,
    /// Program type, such as `xdp` or `sched_cls`; `unknown` if the section does not tell the type.
    kind: String,
    /// Number of instructions of all functions of the program, in 8-byte slots.
    instructions: usize,
    /// Number of instructions with a known source line.
    instructions_with_source: usize,
    /// The functions of the program other than the entry function.
    subprograms: Vec<ShownSubprogram>,
    /// Stack use of the program; null if it cannot be linked.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    stack: Option<ShownStack>,
    /// Reasons why no kernel loads the program, as far as the object shows them, one sentence each.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    not_loadable: Vec<String>,
    /// Helpers that the program calls.
    helpers: Vec<ShownCall>,
    /// Kernel functions that the program calls.
    kernel_functions: Vec<ShownCall>,
    /// Maps that the program refers to.
    maps: Vec<ShownMapUse>,
    /// Instructions that depend on missing information, such as the kernel's types.
    unresolved: Vec<ShownUnresolved>,
    /// Reason why `slowpath bound --target ebpf` cannot analyse the program, in one line. Null if
    /// it can, given limits for the loops without a known number of iterations.
    unsupported: Option<String>,
    /// Assumptions under which a bound of the program holds, one sentence each.
    assumptions: Vec<String>,
    /// Loops of the program.
    loops: Vec<ShownLoop>,
    /// Support by the SmartNIC `agilio-cx-2x40`, for a compilation with default options. Null if
    /// the program is not an XDP program or cannot be linked.
    card: Option<ShownCard>,
    /// Reason why the program cannot be linked, in one line; null if it can. With a reason, all
    /// counts are 0 and all lists are empty.
    error: Option<String>,
    /// Code of the cause of `error`, which `slowpath explain` describes; null without an error.
    #[cfg_attr(test, schemars(extend("default" = null)))]
    code: Option<String>,
    /// All instructions of the program; null without `--listing`.
    listing: Option<Vec<ShownInsn>>,
}

/// Support of a program by the SmartNIC, compiled with default options.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Card"))]
struct ShownCard {
    /// Number of instructions of the compiled program; null if the SmartNIC cannot run the program.
    instructions: Option<usize>,
    /// All reasons why the SmartNIC cannot run the program, as in a result of `slowpath bound`.
    refusals: Vec<Refusal>,
}

/// Stack use of a program, as far as it accesses the stack at constant addresses.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Stack"))]
struct ShownStack {
    /// Stack size of the entry function, in bytes.
    own: u32,
    /// Names of the functions on the call chain with the deepest stack, from the entry function on.
    deepest: Vec<String>,
    /// Total stack size of the functions in `deepest`, in bytes, with each function rounded up to
    /// 32 bytes. Older kernels, and kernels without a JIT compiler, round this way; others round up
    /// to 16 bytes.
    bytes: u32,
}

/// A function of a program other than the entry function.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Subprogram"))]
struct ShownSubprogram {
    /// Name of the function.
    name: String,
    /// Number of the function's first instruction.
    first: usize,
    /// True for global functions, false for `static` functions.
    global: bool,
    /// Number of bytes of stack that the function uses at constant addresses.
    #[cfg_attr(test, schemars(extend("default" = 0)))]
    stack: u32,
}

/// An instruction that depends on missing information.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Unresolved"))]
struct ShownUnresolved {
    /// Number of the instruction in the program.
    instruction: usize,
    /// The missing information, in words.
    reason: String,
}

/// An instruction of a program, with its source line.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Instruction"))]
struct ShownInsn {
    /// Number of the instruction in the program.
    instruction: usize,
    /// Text of the instruction in assembly language.
    text: String,
    /// Source line of the instruction; null if not known.
    source: Option<ShownLine>,
}

/// A map of an object.
#[derive(Serialize)]
#[cfg_attr(test, derive(schemars::JsonSchema), schemars(rename = "Map"))]
struct ShownMap {
    /// Name of the map.
    name: String,
    /// Type of the map, such as `hash` or `array`.
    kind: String,
    /// Size of a key in bytes.
    key_size: u32,
    /// Size of a value in bytes.
    value_size: u32,
    /// Maximum number of elements; 0 if the loader chooses it.
    max_entries: u32,
}

/// A request to show programs of an object, with options and a time limit.
#[derive(Clone, Debug)]
pub struct ShowRequest {
    /// The name of the file, as the user stated it.
    pub file: String,
    /// Parsed content of the file.
    pub object: ProgramFile,
    /// Numbers of the programs to show, as in the object.
    pub programs: Vec<usize>,
    /// Types of the kernel for which the programs are compiled. Without them, everything that
    /// depends on these types is reported as unresolved.
    pub kernel: Option<Arc<KernelTypes>>,
    /// True to list all instructions of the programs.
    pub listing: bool,
    /// Time limit in seconds for finding the loop bounds of each program.
    pub deadline_seconds: f64,
}

impl ShowRequest {
    /// Creates a request to show all programs of an object. It does not list instructions, has no
    /// kernel types, and allows no time for finding loop bounds.
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

/// The content of an object.
#[derive(Clone, Debug)]
pub struct Shown {
    /// One entry of `results` in the output of `show`, as JSON text.
    pub json: String,
    /// True if no limit of time or memory and no request to stop affected the content.
    pub complete: bool,
}

/// Describes the content of a BPF object.
///
/// An error in one program is reported in its entry and does not affect the other programs. Once
/// `stop` holds, programs are not lifted and loop bounds are not searched.
///
/// # Errors
/// If the object cannot be read.
pub fn show(request: &ShowRequest, stop: &Stop) -> Result<Shown, Error> {
    let object = request.object.bpf()?;
    let indices = request.programs.iter().filter(|&&index| index < object.programs.len());
    let hurried = Cell::new(false);
    let shown = ShownObject {
        file: request.file.clone(),
        license: object.license.clone(),
        programs: indices.map(|&index| program(object, index, request, stop, &hurried)).collect(),
        maps: object.maps.iter().map(map).collect(),
        error: None,
        code: None,
    };
    let json = serde_json::to_string(&shown).map_err(|error| Error::Panic(error.to_string()))?;
    Ok(Shown { json, complete: stop.reason().is_none() && !hurried.get() })
}

/// Lifts a program to the intermediate representation, as an analysis with default options does.
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

/// Creates a request to analyse a program with default options.
fn default_request(request: &ShowRequest, program: usize) -> ProgramRequest {
    ProgramRequest {
        file: request.file.clone(),
        object: request.object.clone(),
        program,
        kernel: request.kernel.clone(),
        options: Options { target: "ebpf".into(), ..Options::default() },
    }
}

/// Compiles a program for the SmartNIC with default options. Returns the number of instructions of
/// the compiled program, or the reasons why the SmartNIC cannot run it.
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

/// Describes a program. Sets `hurried` if the time limit ended the search for the bounds of its
/// loops.
fn program(
    object: &Object,
    index: usize,
    request: &ShowRequest,
    stop: &Stop,
    hurried: &Cell<bool>,
) -> ShownProgram {
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
        Err(error) => {
            let (error, code) = (Some(error.to_string()), Some(error.code().to_string()));
            return ShownProgram { error, code, ..shown };
        }
    };
    let (helpers, kernel_functions) = calls::of(&linked);
    let time = Duration::try_from_secs_f64(request.deadline_seconds.max(0.0));
    let time = time.unwrap_or(Duration::MAX);
    let (unsupported, assumptions, loops) = match entry.kind {
        kind if ProgramType::of(kind).is_some() => match lifted(request, index, object, stop) {
            Ok(lifted) => {
                let part = stop.within(Some(time));
                let loops = loops::of(&lifted, &part);
                hurried.set(hurried.get() || part.reason().is_some());
                (None, lifted.program.assumptions, loops)
            }
            Err(error) => (Some(error.to_string()), Vec::new(), Vec::new()),
        },
        kind => (Some(format!("programs of type {kind} are not analysed")), Vec::new(), Vec::new()),
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
        // The first function is the program itself.
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

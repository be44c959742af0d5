//! Translation of P4 programs to C for XDP.
//!
//! The result is one C function without includes. Parsers become labels and jumps; controls,
//! actions and functions are inlined; tables become BPF maps. `#line` directives name the lines of
//! the P4 program, so that costs and errors refer to P4 lines.
//!
//! Header stacks have constant indices: each parser state is emitted once for each combination of
//! indices that `next` can have there.

mod call;
mod checksum;
pub mod entries;
pub mod entry;
mod entry_file;
mod expression;
mod externs;
pub mod layout;
mod maps;
mod members;
mod meter;
mod packet;
mod parser;
mod pipeline;
mod properties;
mod psa;
mod rounds;
pub mod runtime;
mod statement;
mod storage;
mod table;

use std::collections::{BTreeMap, HashMap, HashSet};
use std::fmt::Write;
use std::rc::Rc;

use self::layout::Layout;
use crate::ast::*;
use crate::check::{Checked, Type, Value};
use crate::error::P4Error;
use crate::token::{Sources, Span};

type Result<T> = std::result::Result<T, P4Error>;

/// Options of the translation.
#[derive(Clone, Copy, Debug, Default)]
pub struct Options {
    /// Keep headers and metadata in a per-CPU map instead of the stack, which has 512 bytes.
    pub scratch: bool,
    /// Write the output port to element 0 of the array `record`, for tests.
    pub record: bool,
}

/// A translated program.
#[derive(Clone, Debug)]
pub struct Output {
    /// C source, with one program in section `xdp`.
    pub c: String,
    /// Layout of the maps.
    pub layout: Layout,
    /// Conditions under which the C program does the same as the P4 program, such as limits of
    /// tables.
    pub conditions: Vec<String>,
}

/// Translates a checked program to C.
///
/// # Errors
///
/// Returns an error for the first construct that cannot be translated.
pub fn to_c(
    program: &Program,
    checked: &Checked,
    sources: &Sources,
    options: Options,
) -> Result<Output> {
    let mut generator = Generator {
        checked,
        sources,
        options,
        nodes: HashMap::new(),
        bindings: HashMap::new(),
        subst: Vec::new(),
        structs: Vec::new(),
        struct_names: HashMap::new(),
        maps: Vec::new(),
        map_names: HashSet::new(),
        path_maps: HashMap::new(),
        taken: HashSet::new(),
        locals: Vec::new(),
        body: Vec::new(),
        main: (0, 1),
        line: 0,
        count: 0,
        statements: 0,
        frames: Vec::new(),
        exit_label: None,
        loops: Vec::new(),
        next: BTreeMap::new(),
        in_parser: None,
        emits: Vec::new(),
        state: Vec::new(),
        paths: HashMap::new(),
        layout: Layout::default(),
        conditions: Vec::new(),
        parser_error: None,
        standard_metadata: None,
        rounds: None,
        kept: HashMap::new(),
        members: HashMap::new(),
        direct: HashMap::new(),
        colours: HashMap::new(),
        checksums: HashMap::new(),
    };
    for decl in &program.declarations {
        generator.nodes.insert(decl.id, decl);
    }
    generator.program(program)?;
    Ok(generator.finish())
}

/// The object that a declared name stands for at the current point of the program.
#[derive(Clone, Debug)]
enum Binding {
    /// A C lvalue that the program can read, and write where P4 allows it.
    Place(String),
    /// A compile-time value.
    Constant(Value),
    /// An instance of an extern type, parser or control.
    Instance(Instance),
    /// The packet that a parser reads.
    PacketIn,
    /// The packet that a deparser writes.
    PacketOut,
}

/// An instance of an extern, parser or control, with its path of names.
#[derive(Clone, Debug)]
struct Instance {
    /// Type of the instance.
    ty: Type,
    /// Control-plane path: names of the enclosing controls and of the instance, with dots.
    path: String,
    /// Constructor arguments, in the order of the parameters; `None` for a missing argument.
    args: Vec<Option<Binding>>,
}

/// An argument for a parameter of an inlined call.
#[derive(Clone, Debug)]
enum Given<'a> {
    /// An expression of the caller.
    Expr(&'a Expr),
    /// A C expression.
    C(String),
    /// No argument: the parameter has its default value, or stays unset.
    Missing,
}

/// An inlined call whose body is being emitted.
struct Frame {
    /// Label at the end of the body.
    end: String,
    /// Variable for the result; `None` for a call without result.
    result: Option<String>,
    /// Statements that copy `out` parameters to the arguments; `exit` runs them, too.
    copy_out: Vec<String>,
}

/// A header that a deparser emits.
struct Emit {
    /// C variable that is true at run time if the header is emitted.
    flag: String,
    /// C lvalue of the header.
    place: String,
    /// Type of the header.
    ty: Type,
}

/// State of the translation of a program to C.
struct Generator<'a> {
    checked: &'a Checked,
    sources: &'a Sources,
    options: Options,
    nodes: HashMap<DeclId, &'a Decl>,
    bindings: HashMap<DeclId, Binding>,
    /// Type arguments of the function that is being inlined.
    subst: Vec<(DeclId, Type)>,
    structs: Vec<String>,
    struct_names: HashMap<String, String>,
    maps: Vec<String>,
    map_names: HashSet<String>,
    /// Names of maps by control-plane path. The field `taken` contains these names, and the names
    /// that are reserved for related maps.
    path_maps: HashMap<String, String>,
    taken: HashSet<String>,
    /// C declarations of variables at the start of the function.
    locals: Vec<String>,
    body: Vec<String>,
    /// File and line of the package `main`.
    main: (u32, u32),
    /// Line in the last `#line` directive.
    line: u32,
    count: u32,
    /// Number of statements emitted so far.
    statements: u32,
    frames: Vec<Frame>,
    /// Label of the end of the current parser or control of the architecture; `exit` jumps there.
    exit_label: Option<String>,
    /// Labels for `break` and `continue` of each loop around the current statement, innermost last.
    loops: Vec<(String, String)>,
    /// Index of the header that `next` denotes at the current point of the parser, for each header
    /// stack by its lvalue.
    next: BTreeMap<String, u32>,
    /// Label that `reject` jumps to; `None` outside of parsers.
    in_parser: Option<String>,
    emits: Vec<Emit>,
    /// C fields of `struct state`: headers and metadata.
    state: Vec<String>,
    /// Control-plane path of each declaration.
    paths: HashMap<DeclId, String>,
    layout: Layout,
    conditions: Vec<String>,
    /// C variable with the parser error.
    parser_error: Option<String>,
    /// C lvalue of v1model's standard metadata.
    standard_metadata: Option<String>,
    /// State for emitting further rounds of a packet; `None` if the program does not resubmit or
    /// recirculate.
    rounds: Option<rounds::Rounds>,
    /// C variables that keep metadata from the previous round, by lvalue of the metadata.
    kept: HashMap<String, String>,
    /// Actions of the tables that share an action profile or selector, by name of the map with its
    /// members.
    members: HashMap<String, Vec<DeclId>>,
    /// For each direct counter and meter, by path: the C pointer to the current entry of its table,
    /// and true for a meter that counts bytes.
    direct: HashMap<String, (String, bool)>,
    /// C variables with the colours of v1model's direct meters, by path.
    colours: HashMap<String, String>,
    /// C variables with the states of checksums, by path.
    checksums: HashMap<String, String>,
}

impl<'a> Generator<'a> {
    // --- output --------------------------------------------------------------------------------

    fn put(&mut self, line: impl Into<String>) {
        self.statements += 1;
        self.body.push(line.into());
    }

    /// Emits a `#line` directive for the next statements. BTF has one file per function, so code of
    /// an included file gets the line of its `#include`.
    fn at(&mut self, span: Span) {
        let Some(file) = self.sources.files.get(span.file as usize) else { return };
        let Some(line) = self.sources.line_in(self.main.0, span) else { return };
        if file.is_standard || self.line == line {
            return;
        }
        self.line = line;
        self.body.push(self.directive(line));
    }

    /// Returns the `#line` directive for a line of the program.
    fn directive(&self, line: u32) -> String {
        let path = self
            .sources
            .files
            .get(self.main.0 as usize)
            .map(|file| file.path.display().to_string());
        let path = path.unwrap_or_default().replace('\\', "\\\\").replace('"', "\\\"");
        format!("#line {line} \"{path}\"")
    }

    fn fresh(&mut self, name: &str) -> String {
        self.count += 1;
        format!("{}_{}", c_name(name), self.count)
    }

    /// Declares a C variable, and emits code that sets it to zero.
    fn variable(&mut self, name: &str, ty: &Type) -> Result<String> {
        let name = self.uninitialised(name, ty)?;
        let zero = self.zero(&name, ty);
        self.put(zero);
        Ok(name)
    }

    /// Declares a C variable without a value; the caller emits an assignment to it.
    fn uninitialised(&mut self, name: &str, ty: &Type) -> Result<String> {
        let name = self.fresh(name);
        let c = self.c_type(ty)?;
        self.locals.push(format!("{c} {name};"));
        Ok(name)
    }

    /// Declares a C variable, and emits code that sets it to `value`.
    fn save(&mut self, name: &str, ty: &Type, value: &str) -> Result<String> {
        let name = self.uninitialised(name, ty)?;
        self.put(format!("{name} = {value};"));
        Ok(name)
    }

    /// Adds a C declaration at the start of the function, unless it is already present.
    fn local_once(&mut self, declaration: &str) {
        if self.locals.iter().all(|one| one != declaration) {
            self.locals.push(declaration.to_owned());
        }
    }

    fn zero(&self, place: &str, ty: &Type) -> String {
        match ty {
            _ if storage::wide(ty).is_some() => {
                format!("__builtin_memset(&{place}, 0, sizeof({place}));")
            }
            Type::Fields(..) | Type::Stack(..) | Type::Tuple(_) | Type::Varbit(_) => {
                format!("__builtin_memset(&{place}, 0, sizeof({place}));")
            }
            _ => format!("{place} = 0;"),
        }
    }

    /// Runs `emit`, and returns the emitted statements instead of appending them to the body.
    fn aside<T>(&mut self, emit: impl FnOnce(&mut Self) -> Result<T>) -> Result<(T, Vec<String>)> {
        let before = std::mem::take(&mut self.body);
        let result = emit(self);
        let lines = std::mem::replace(&mut self.body, before);
        Ok((result?, lines))
    }

    // --- types and constants -------------------------------------------------------------------

    fn resolved(&self, ty: &Type) -> Type {
        ty.replace(&|id| self.subst.iter().rev().find(|one| one.0 == id).map(|one| one.1.clone()))
    }

    /// Returns the type of an expression, with the type arguments of inlined functions.
    fn ty(&self, expr: &Expr) -> Type {
        self.resolved(self.checked.type_of(expr))
    }

    /// Returns the type of a parameter, variable or constant, with the type arguments of inlined
    /// functions.
    fn declared(&self, id: DeclId) -> Type {
        self.resolved(self.checked.declared.get(&id).unwrap_or(&Type::Unknown))
    }

    /// Returns the compile-time value of an expression; `None` if it is unknown.
    fn constant(&self, expr: &Expr) -> Option<Value> {
        if let Some(value) = self.checked.constants.get(&expr.id) {
            return Some(value.clone());
        }
        if let ExprKind::Name { .. } = expr.kind
            && let Some(Binding::Constant(value)) =
                self.checked.uses.get(&expr.id).and_then(|id| self.bindings.get(id))
        {
            return Some(value.clone());
        }
        if let ExprKind::Cast { operand, .. } = &expr.kind
            && let Some(Value::Number(number)) = self.constant(operand)
        {
            return Some(Value::Number(crate::check::wrap(
                &number,
                &storage::plain(&self.ty(expr)),
            )));
        }
        None
    }

    /// Returns an error for a construct without translation. An empty span stands for the current
    /// line.
    fn unsupported<T>(&self, span: Span, what: impl std::fmt::Display) -> Result<T> {
        let here = Span { file: self.main.0, line: self.line, column: 1, ..Span::default() };
        let span = if span == Span::default() { here } else { span };
        Err(P4Error::unsupported(span, format!("{what} cannot be compiled for XDP yet")))
    }

    /// Returns an error for a construct that no translation can support, with the reason.
    fn refused<T>(&self, span: Span, why: &str) -> Result<T> {
        let here = Span { file: self.main.0, line: self.line, column: 1, ..Span::default() };
        let is_ours =
            self.sources.files.get(span.file as usize).is_some_and(|file| file.is_standard);
        Err(P4Error::unsupported(if is_ours { here } else { span }, why.to_owned()))
    }

    // --- the whole -----------------------------------------------------------------------------

    fn finish(self) -> Output {
        let mut c = String::new();
        c.push_str(PRELUDE);
        for one in &self.structs {
            c.push_str(one);
        }
        for one in &self.maps {
            c.push_str(one);
        }
        let fields = self.state.concat();
        let _ = write!(c, "struct state {{\n{fields}    u8 unused;\n}};\n");
        if self.options.scratch {
            c.push_str("MAP(scratch, BPF_MAP_TYPE_PERCPU_ARRAY, 1, u32, struct state);\n");
        }
        let _ = write!(
            c,
            "\nSEC(\"xdp\")\n{}\nint program(struct xdp_md *ctx) {{\n",
            self.directive(self.main.1)
        );
        for local in &self.locals {
            let _ = writeln!(c, "    {local}");
        }
        // Each line of C needs the directive, because the compiler increments the line number.
        let mut directive = "";
        for line in &self.body {
            if line.starts_with('#') {
                directive = line;
            } else {
                let _ = writeln!(c, "{directive}\n    {line}");
            }
        }
        let _ = writeln!(c, "{}", self.directive(self.main.1));
        c.push_str("}\n\nchar _license[] SEC(\"license\") = \"GPL\";\n");
        Output { c, layout: self.layout, conditions: self.conditions }
    }

    /// Adds the C definition of a map, unless it is already present.
    fn map(&mut self, name: &str, kind: &str, entries: u32, key: &str, value: &str) {
        if self.map_names.insert(name.to_owned()) {
            self.maps.push(format!("MAP({name}, {kind}, {entries}, {key}, {value});\n"));
        }
    }

    /// Returns the C name of the map for a control-plane path. The name stays unique with the
    /// suffixes of related maps, such as `_masks`.
    fn map_name(&mut self, path: &str) -> String {
        if let Some(name) = self.path_maps.get(path) {
            return name.clone();
        }
        let base = c_name(&path.replace('.', "_"));
        let names =
            |name: &str| ["", "_masks", "_default", "_groups"].map(|end| format!("{name}{end}"));
        let is_free = |name: &String| {
            names(name).iter().all(|one| !self.taken.contains(one) && !OWN_NAMES.contains(&&**one))
        };
        let mut name = base.clone();
        let mut number = 2;
        while !is_free(&name) {
            name = format!("{base}_{number}");
            number += 1;
        }
        self.taken.extend(names(&name));
        self.path_maps.insert(path.to_owned(), name.clone());
        name
    }
}

/// Converts a name to a valid C identifier: replaces other characters by `_`, and changes reserved
/// words.
fn c_name(name: &str) -> String {
    let name: String =
        name.chars().map(|one| if one.is_ascii_alphanumeric() { one } else { '_' }).collect();
    let reserved =
        C_WORDS.contains(&&*name) || name.starts_with(|first: char| first.is_ascii_digit());
    if reserved { format!("{name}_") } else { name }
}

/// Returns the C name of a struct field.
fn field_name(name: &Rc<str>) -> String {
    c_name(name)
}

/// Keywords of C, and the names that the prelude defines.
const C_WORDS: &[&str] = &[
    "asm", "auto", "break", "case", "char", "const", "continue", "ctx", "default", "do", "double",
    "else", "end", "enum", "extern", "float", "for", "goto", "if", "inline", "int", "long", "pos",
    "register", "restrict", "return", "s", "s128", "s16", "s32", "s64", "s8", "short", "signed",
    "sizeof", "static", "struct", "switch", "typedef", "typeof", "u128", "u16", "u32", "u64", "u8",
    "union", "unsigned", "valid_", "void", "volatile", "while",
];

/// Names that the translation itself gives to variables, maps and functions.
const OWN_NAMES: &[&str] = &[
    "ctx",
    "data",
    "end",
    "pos",
    "parsed",
    "path",
    "resubmitted",
    "recirculated",
    "length",
    "packet_length",
    "parser_error",
    "s",
    "state",
    "scratch",
    "scratch_at",
    "position",
    "record",
    "record_at",
    "recorded",
    "ports",
    "program",
    "crc16_table",
    "crc32_table",
];

/// C definitions before the program: integer types, the context, helpers, and access to the packet.
/// Numbers of helpers, maps and actions are those of the kernel's `include/uapi/linux/bpf.h`.
const PRELUDE: &str = r#"typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;
typedef unsigned __int128 u128;
typedef signed char s8;
typedef short s16;
typedef int s32;
typedef long long s64;
typedef __int128 s128;

#define SEC(name) __attribute__((section(name), used))
#define MAP(name, kind, entries, key_type, value_type)                                            \
    struct {                                                                                      \
        int (*type)[kind];                                                                        \
        int (*max_entries)[entries];                                                              \
        key_type *key;                                                                            \
        value_type *value;                                                                        \
    } name SEC(".maps")
#define TRIE(name, entries, key_type, value_type)                                                 \
    struct {                                                                                      \
        int (*type)[BPF_MAP_TYPE_LPM_TRIE];                                                       \
        int (*max_entries)[entries];                                                              \
        int (*map_flags)[1];                                                                      \
        key_type *key;                                                                            \
        value_type *value;                                                                        \
    } name SEC(".maps")
#define RING(name, bytes)                                                                         \
    struct {                                                                                      \
        int (*type)[BPF_MAP_TYPE_RINGBUF];                                                        \
        int (*max_entries)[bytes];                                                                \
    } name SEC(".maps")

enum {
    BPF_MAP_TYPE_HASH = 1,
    BPF_MAP_TYPE_ARRAY = 2,
    BPF_MAP_TYPE_PERCPU_ARRAY = 6,
    BPF_MAP_TYPE_LPM_TRIE = 11,
    BPF_MAP_TYPE_DEVMAP = 14,
    BPF_MAP_TYPE_RINGBUF = 27,
};
enum { XDP_ABORTED, XDP_DROP, XDP_PASS, XDP_TX, XDP_REDIRECT };

struct xdp_md {
    u32 data;
    u32 data_end;
    u32 data_meta;
    u32 ingress_ifindex;
    u32 rx_queue_index;
    u32 egress_ifindex;
};

static void *(*const bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*const bpf_map_update_elem)(void *map, const void *key, const void *value, u64 flags) = (void *)2;
static u64 (*const bpf_ktime_get_ns)(void) = (void *)5;
static u32 (*const bpf_get_prandom_u32)(void) = (void *)7;
static long (*const bpf_redirect)(u32 ifindex, u64 flags) = (void *)23;
static long (*const bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;
static long (*const bpf_redirect_map)(void *map, u64 key, u64 flags) = (void *)51;
static long (*const bpf_ringbuf_output)(void *map, void *data, u64 size, u64 flags) = (void *)130;

#define LOAD8(p) (*(const u8 *)(p))
#define LOAD16(p) __builtin_bswap16(*(const u16 *)(p))
#define LOAD32(p) __builtin_bswap32(*(const u32 *)(p))
#define LOAD64(p) __builtin_bswap64(*(const u64 *)(p))
#define STORE8(p, v) (*(u8 *)(p) = (u8)(v))
#define STORE16(p, v) (*(u16 *)(p) = __builtin_bswap16((u16)(v)))
#define STORE32(p, v) (*(u32 *)(p) = __builtin_bswap32((u32)(v)))
#define STORE64(p, v) (*(u64 *)(p) = __builtin_bswap64((u64)(v)))

"#;

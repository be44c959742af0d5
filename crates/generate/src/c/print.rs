//! Prints generated statements as C source. Every statement reloads the pointers to the packet's
//! start and end, because helper calls can move them.

use std::fmt::Write;

use super::statement::{Condition, Distance, Source, Stmt, Table};

/// The first lines of each program, which define types, helpers, and the map for the results.
const HEAD: &str = r#"typedef unsigned char u8;
typedef unsigned short u16;
typedef unsigned int u32;
typedef unsigned long long u64;

struct xdp_md {
	u32 data, data_end, data_meta, ingress_ifindex, rx_queue_index, egress_ifindex;
};

#define SEC(name) __attribute__((section(name), used))
#define __uint(name, val) int (*name)[val]
#define __type(name, val) typeof(val) *name
#define LOAD(size, p) (*(const volatile u##size *)(p))

static void *(*bpf_map_lookup_elem)(void *map, const void *key) = (void *)1;
static long (*bpf_map_update_elem)(void *map, const void *key, const void *value,
				   u64 flags) = (void *)2;
static long (*bpf_map_delete_elem)(void *map, const void *key) = (void *)3;
static long (*bpf_xdp_adjust_head)(struct xdp_md *ctx, int delta) = (void *)44;
static long (*bpf_xdp_adjust_tail)(struct xdp_md *ctx, int delta) = (void *)65;
static long (*bpf_xdp_load_bytes)(struct xdp_md *ctx, u32 offset, void *to, u32 len) = (void *)189;
static long (*bpf_xdp_store_bytes)(struct xdp_md *ctx, u32 offset, void *from,
				   u32 len) = (void *)190;

char _license[] SEC("license") = "GPL";

struct value {
	u64 packets;
	u32 last, first;
};

struct output {
	u64 path, v[4];
};

struct {
	__uint(type, 2);
	__uint(max_entries, 1);
	__type(key, u32);
	__type(value, struct output);
} out SEC(".maps");
"#;

/// Returns the number of a map type in the kernel's `enum bpf_map_type`, and the map's flags. Flag
/// 1 creates a hash map without preallocated elements.
fn kind(table: Table) -> (u32, u32) {
    match table.kind {
        0 => (1, 0),
        1 => (1, 1),
        2 => (2, 0),
        3 => (5, 0),
        4 => (6, 0),
        _ => (9, 0),
    }
}

/// Prints a whole program as C source: types, maps, the called function and the XDP program.
pub(super) fn text(source: &Source) -> String {
    let mut printer = Printer { text: HEAD.to_owned(), depth: 1, path: 0, names: 0 };
    for (number, table) in source.maps.iter().enumerate() {
        let (kind, flags) = kind(*table);
        // LRU maps have room for all keys, so that no element is evicted.
        let entries = if kind == 9 { 64 } else { table.entries };
        printer.text += &format!(
            "\nstruct {{\n\t__uint(type, {kind});\n\t__uint(max_entries, {entries});\n\
             \t__uint(map_flags, {flags});\n\t__type(key, u32);\n\
             \t__type(value, struct value);\n}} m{number} SEC(\".maps\");\n"
        );
    }
    printer.text += "\nstatic __attribute__((noinline)) u64 mix(u64 v0, u64 v1)\n{\n\
                     \tu64 v2 = v0 + v1, v3 = v0 ^ v1;\n\n";
    for statement in &source.function {
        printer.statement(statement);
    }
    printer.text += "\treturn v0 ^ v1 ^ v2 ^ v3;\n}\n\n\
                     static __attribute__((always_inline)) inline int run(struct xdp_md *ctx, \
                     struct output *o)\n{\n\tu64 v0 = 0, v1 = 0, v2 = 0, v3 = 0, path = 1;\n\
                     \tint action = 2;\n\n";
    for statement in &source.body {
        printer.statement(statement);
    }
    printer.text += "end:\n\to->path = path;\n\to->v[0] = v0;\n\to->v[1] = v1;\n\to->v[2] = v2;\n\
                     \to->v[3] = v3;\n\treturn action;\n}\n\n\
                     SEC(\"xdp\") int generated(struct xdp_md *ctx)\n{\n\tu32 zero = 0;\n\
                     \tstruct output *o = bpf_map_lookup_elem(&out, &zero);\n\n\
                     \treturn o ? run(ctx, o) : 0;\n}\n";
    printer.text
}

struct Printer {
    text: String,
    depth: usize,
    /// Number of the last printed mark: a C statement that mixes its number into the variable
    /// `path`. The final value of `path` identifies the path that a run takes.
    path: u32,
    /// Number in the name of the C variable that was declared last; names are numbered in sequence.
    names: u32,
}

impl Printer {
    fn line(&mut self, line: &str) {
        // Writing to a string does not fail.
        let depth = if line.is_empty() { 0 } else { self.depth };
        let _ = writeln!(self.text, "{}{line}", "\t".repeat(depth));
    }

    fn open(&mut self, line: &str) {
        self.line(format!("{line} {{").trim_start());
        self.depth += 1;
    }

    fn close(&mut self) {
        self.depth -= 1;
        self.line("}");
    }

    fn else_branch(&mut self) {
        self.depth -= 1;
        self.line("} else {");
        self.depth += 1;
    }

    /// Prints a statement that mixes a new number into the C variable `path`, whose final value
    /// identifies the path that a run takes.
    fn mark(&mut self) {
        self.path += 1;
        self.line(&format!("path = path * 31 + {};", self.path));
    }

    fn block(&mut self, statements: &[Stmt]) {
        self.mark();
        for statement in statements {
            self.statement(statement);
        }
    }

    /// Prints the start of a C block that declares pointers to the packet's start and end.
    fn pointers(&mut self) {
        self.open("");
        self.line("u8 *p = (u8 *)(long)ctx->data, *end = (u8 *)(long)ctx->data_end;");
        self.line("");
    }

    fn statement(&mut self, statement: &Stmt) {
        match statement {
            &Stmt::Field { at, bytes, to, swap } => {
                self.pointers();
                self.open(&format!("if (p + {} <= end)", at + u16::from(bytes)));
                let bits = 8 * bytes;
                let value = format!("LOAD({bits}, p + {at})");
                let value = match (swap, bits) {
                    (true, 16 | 32 | 64) => format!("__builtin_bswap{bits}({value})"),
                    _ => value,
                };
                self.line(&format!("v{to} = {value};"));
                self.mark();
                self.close();
                self.close();
            }
            &Stmt::FieldAt { variable, mask, at, bytes, to } => {
                self.pointers();
                self.line(&format!("p += v{variable} & {mask};"));
                self.open(&format!("if (p + {} <= end)", u16::from(at) + u16::from(bytes)));
                self.line(&format!("v{to} = LOAD({}, p + {at});", 8 * bytes));
                self.mark();
                self.close();
                self.close();
            }
            &Stmt::Compute { operator, to, from, constant } => {
                let line = match operator {
                    0 => format!("v{to} += v{from};"),
                    1 => format!("v{to} ^= v{from} >> {};", constant % 31 + 1),
                    2 => format!("v{to} &= {constant:#x};"),
                    3 => format!("v{to} = v{from} - {constant};"),
                    4 => format!("v{to} = v{from} / {};", constant.max(1)),
                    5 => format!("v{to} |= v{from} << {};", constant % 16),
                    6 => format!("v{to} = v{from} > {constant} ? v{from} : v{to};"),
                    _ => format!("v{to} = (u32)v{from} * {}u;", constant | 1),
                };
                self.line(&line);
            }
            &Stmt::Options { at, most, wanted, mask, to } => {
                self.pointers();
                self.line(&format!("p += {at};"));
                self.open(&format!("for (int i = 0; i < {most}; i++)"));
                self.line("u8 option, length;");
                self.line("");
                self.open("if (p + 2 > end)");
                self.line("break;");
                self.close();
                self.line("option = LOAD(8, p);");
                self.line(&format!("length = LOAD(8, p + 1) & {};", mask | 2));
                self.open(&format!("if ((option & 3) == {wanted})"));
                self.line(&format!("v{to} = length;"));
                self.mark();
                self.line("break;");
                self.close();
                self.mark();
                self.line("p += 2 + length;");
                self.close();
                self.close();
            }
            &Stmt::Tags { most, to } => {
                self.pointers();
                self.line("p += 12;");
                self.open(&format!("for (int i = 0; i < {most}; i++)"));
                self.open("if (p + 4 > end || LOAD(16, p) != 0x81)");
                self.line("break;");
                self.close();
                self.line(&format!("v{to} += LOAD(16, p + 2);"));
                self.mark();
                self.line("p += 4;");
                self.close();
                self.close();
            }
            &Stmt::Sum { at, most, to, by } => {
                self.pointers();
                self.line(&format!("p += {at};"));
                self.open(&format!("for (int i = 0; i < {most}; i++)"));
                self.open(&format!("if (p + {by} > end)"));
                self.line("break;");
                self.close();
                self.line(&format!("v{to} += LOAD(8, p);"));
                self.line(&format!("p += {by};"));
                self.close();
                self.mark();
                self.close();
            }
            Stmt::If { test, then, other } => {
                self.open(&format!("if ({})", condition(*test)));
                self.block(then);
                if !other.is_empty() {
                    self.else_branch();
                    self.block(other);
                }
                self.close();
            }
            Stmt::Switch { variable, mask, cases } => {
                self.open(&format!("switch (v{variable} & {mask})"));
                for (number, case) in cases.iter().enumerate() {
                    self.open(&format!("case {number}:"));
                    self.block(case);
                    self.line("break;");
                    self.close();
                }
                self.close();
            }
            &Stmt::Count { map, key, mask, flags, reread } => {
                self.count(map, key, mask, flags, reread)
            }
            Stmt::State { map, key, mask, limit, found, missing } => {
                let name = self.lookup(*map, *key, *mask);
                self.open(&format!("if ({name} && {name}->packets > {limit})"));
                self.line(&format!("v{} = {name}->last;", key % 4));
                self.block(found);
                if !missing.is_empty() {
                    self.else_branch();
                    self.block(missing);
                }
                self.close();
                self.close();
            }
            &Stmt::Forget { map, key, mask } => {
                self.open("");
                self.line(&format!("u32 key = v{key} & {mask};"));
                self.line("");
                self.open(&format!("if (bpf_map_delete_elem(&m{map}, &key))"));
                self.mark();
                self.close();
                self.close();
            }
            Stmt::Head { by, then } => self.adjust("head", *by, then),
            Stmt::Tail { by, then } => self.adjust("tail", *by, then),
            &Stmt::Write { at, bytes, variable } => {
                self.pointers();
                self.open(&format!("if (p + {} <= end)", at + u16::from(bytes)));
                self.line(&format!("*(volatile u{} *)(p + {at}) = v{variable};", 8 * bytes));
                self.mark();
                self.close();
                self.close();
            }
            &Stmt::Call { first, second, to } => {
                self.line(&format!("v{to} = mix(v{first}, v{second});"));
            }
            &Stmt::Copy { at, to, bytes } => {
                self.open("");
                self.line("u8 copy[16] = {};");
                self.line("");
                self.open(&format!("if (!bpf_xdp_load_bytes(ctx, {at}, copy, {bytes}))"));
                self.line("copy[0]++;");
                self.open(&format!("if (bpf_xdp_store_bytes(ctx, {to}, copy, {bytes}))"));
                self.mark();
                self.close();
                self.close();
                self.close();
            }
            &Stmt::Return { action } => {
                self.line(&format!("action = {action};"));
                self.line("goto end;");
            }
        }
    }

    /// Prints the start of a C block that declares a key and looks it up in a map. Returns the name
    /// of the C variable that holds the result.
    fn lookup(&mut self, map: u8, key: u8, mask: u8) -> String {
        self.names += 1;
        let name = format!("found{}", self.names);
        self.open("");
        self.line(&format!("u32 key = v{key} & {mask};"));
        self.line(&format!("struct value *{name} = bpf_map_lookup_elem(&m{map}, &key);"));
        self.line("");
        name
    }

    fn count(&mut self, map: u8, key: u8, mask: u8, flags: u8, reread: bool) {
        let name = self.lookup(map, key, mask);
        let other = (key + 1) % 4;
        self.line(&format!("struct value fresh = {{ 1, v{other}, v{other} }};"));
        self.line("");
        self.open(&format!("if ({name})"));
        self.line(&format!("{name}->packets++;"));
        self.line(&format!("{name}->last = v{other};"));
        self.mark();
        if reread {
            // The update replaces the element, but the old pointer still points to the old one.
            self.line(&format!("bpf_map_update_elem(&m{map}, &key, &fresh, {flags});"));
            self.line(&format!("v{key} = {name}->packets;"));
        }
        self.depth -= 1;
        self.line(&format!("}} else if (bpf_map_update_elem(&m{map}, &key, &fresh, {flags})) {{"));
        self.depth += 1;
        self.mark();
        self.close();
        self.close();
    }

    fn adjust(&mut self, end: &str, by: Distance, then: &[Stmt]) {
        let by = match by {
            Distance::Constant(by) => by.to_string(),
            Distance::Variable(variable, mask, 0) => format!("(int)(v{variable} & {mask})"),
            Distance::Variable(variable, mask, less) => {
                format!("(int)(v{variable} & {mask}) - {less}")
            }
        };
        self.open(&format!("if (!bpf_xdp_adjust_{end}(ctx, {by}))"));
        self.block(then);
        self.close();
    }
}

fn condition(test: Condition) -> String {
    let Condition { variable, comparison, constant } = test;
    match comparison {
        0 => format!("v{variable} == {constant:#x}"),
        1 => format!("v{variable} != {constant:#x}"),
        2 => format!("v{variable} > {constant:#x}"),
        3 => format!("v{variable} < {constant:#x}"),
        4 => format!("v{variable} & {:#x}", constant | 1),
        _ => format!("(u8)v{variable} == {:#x}", constant & 7),
    }
}

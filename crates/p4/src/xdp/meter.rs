//! Emits counters and meters with two rates and three colours (RFC 2698).
//!
//! A meter stores tokens, which are units of time. A packet takes tokens once, or once for each of
//! its bytes, and passing time adds tokens up to a limit. A meter that the control plane did not
//! set takes no tokens, so all its packets are green. CPUs update a meter without a lock, so that
//! updates can get lost.

use super::*;

/// Size of `struct meter` in bytes.
pub(super) const METER_BYTES: u32 = 56;

/// C definition of meters. It is a macro, so that its instructions count for the line of the call.
/// A token is 2^-16 nanoseconds. A pause longer than 2^40 nanoseconds adds as many tokens as one of
/// this length.
const METER: &str = "struct meter {
    u64 time;
    u64 committed;
    u64 peak;
    u64 committed_cost;
    u64 committed_most;
    u64 peak_cost;
    u64 peak_most;
};
#define METER(m, amount, now, c, p, cost, GREEN, YELLOW, RED, colour) do { \\
    now = bpf_ktime_get_ns(); \\
    c = now - m->time; \\
    m->time = now; \\
    if (c > 1ULL << 40) c = 1ULL << 40; \\
    c <<= 16; \\
    p = c + m->peak; \\
    c += m->committed; \\
    if (p > m->peak_most) p = m->peak_most; \\
    if (c > m->committed_most) c = m->committed_most; \\
    cost = m->peak_cost * (amount); \\
    if (colour == RED || p < cost) colour = RED; \\
    else { \\
        p -= cost; \\
        cost = m->committed_cost * (amount); \\
        if (colour == YELLOW || c < cost) colour = YELLOW; \\
        else { c -= cost; colour = GREEN; } \\
    } \\
    m->peak = p; \\
    m->committed = c; \\
} while (0)
";

/// Numbers of the colours green, yellow and red in v1model.
pub(super) const V1_COLOURS: [u32; 3] = [0, 1, 2];
/// Numbers of the colours green, yellow and red in the enum of PSA.
pub(super) const PSA_COLOURS: [u32; 3] = [1, 2, 0];

impl<'a> Generator<'a> {
    pub(super) fn define_meter(&mut self) {
        self.define("meter", METER);
    }

    /// Emits a meter update for the struct at `pointer`; the update changes the variable `colour`.
    pub(super) fn measure(
        &mut self,
        pointer: &str,
        amount: &str,
        colours: [u32; 3],
        colour: &str,
    ) -> Result<()> {
        let mut names = Vec::new();
        for name in ["now", "committed", "peak", "cost"] {
            names.push(self.uninitialised(name, &Type::Bit(64))?);
        }
        let [green, yellow, red] = colours;
        self.put(format!(
            "if ({pointer}) METER({pointer}, {amount}, {}, {green}, {yellow}, {red}, {colour});",
            names.join(", ")
        ));
        Ok(())
    }

    /// Emits code that updates one meter of an array, and returns the colour. `before` is the
    /// colour of the packet so far; the default is green.
    pub(super) fn measure_element(
        &mut self,
        instance: &Instance,
        index: &str,
        (before, length): (Option<String>, Option<String>),
        colours: [u32; 3],
    ) -> Result<String> {
        self.define_meter();
        let map = self.map_name(&instance.path);
        let size = instance.number(0).unwrap_or(1).max(1);
        self.object(&map, &instance.path, "meter", METER_BYTES, size);
        self.map(&map, "BPF_MAP_TYPE_ARRAY", size, "u32", "struct meter");
        let index = self.save("index", &Type::Bit(32), &format!("(u32){index}"))?;
        let start = before.unwrap_or_else(|| colours[0].to_string());
        let colour = self.save("colour", &Type::Bit(32), &start)?;
        let element = self.fresh("meter");
        self.locals.push(format!("struct meter *{element};"));
        self.put(format!("{element} = bpf_map_lookup_elem(&{map}, &{index});"));
        let amount = amount(counts_bytes(instance), length);
        self.measure(&element, &amount, colours, &colour)?;
        Ok(colour)
    }

    /// Emits code that updates the direct meter of the entry that the lookup found. Calls of `read`
    /// of v1model then return the colour.
    pub(super) fn measure_entry(&mut self, path: &str, entry: &str, bytes: bool) -> Result<()> {
        let colour = self.colour_of(path);
        self.put(format!("{colour} = {};", V1_COLOURS[0]));
        let meter = self.fresh("meter");
        self.locals.push(format!("struct meter *{meter};"));
        self.put(format!("{meter} = {entry} ? &{entry}->meter : 0;"));
        self.measure(&meter, &amount(bytes, None), V1_COLOURS, &colour)
    }

    /// Emits `execute` of a direct meter of PSA, and returns the colour. If the lookup found no
    /// entry, the packet keeps its colour.
    pub(super) fn measure_found(
        &mut self,
        path: &str,
        (before, length): (Option<String>, Option<String>),
        span: Span,
    ) -> Result<String> {
        let Some((entry, bytes)) = self.direct.get(path).cloned() else {
            return self.unsupported(span, "a direct meter outside of the actions of its table");
        };
        let start = before.unwrap_or_else(|| PSA_COLOURS[0].to_string());
        let colour = self.save("colour", &Type::Bit(32), &start)?;
        let meter = self.fresh("meter");
        self.locals.push(format!("struct meter *{meter};"));
        self.put(format!("{meter} = {entry} ? &{entry}->meter : 0;"));
        self.measure(&meter, &amount(bytes, length), PSA_COLOURS, &colour)?;
        Ok(colour)
    }

    /// Returns the C variable with the latest colour of a direct meter of v1model.
    pub(super) fn colour_of(&mut self, path: &str) -> String {
        if let Some(name) = self.colours.get(path) {
            return name.clone();
        }
        let name = self.fresh("colour");
        self.locals.push(format!("u32 {name} = {};", V1_COLOURS[0]));
        self.colours.insert(path.to_owned(), name.clone());
        name
    }

    // --- counters ------------------------------------------------------------------------------

    /// Emits code that counts a packet of `bytes` bytes in the direct counter of an entry.
    pub(super) fn count_entry(&mut self, entry: &str, bytes: &str) {
        self.put(format!("if ({entry}) {{ {entry}->packets += 1; {entry}->bytes += {bytes}; }}"));
    }

    /// Emits code that counts a packet and its bytes in one element of an array of counters.
    pub(super) fn count_element(
        &mut self,
        instance: &Instance,
        index: &str,
        packets: &str,
        bytes: &str,
    ) -> Result<()> {
        let map = self.map_name(&instance.path);
        let size = instance.number(0).unwrap_or(1).max(1);
        self.object(&map, &instance.path, "counter", 16, size);
        self.define("counted", "struct counted {\n    u64 packets;\n    u64 bytes;\n};\n");
        self.map(&map, "BPF_MAP_TYPE_PERCPU_ARRAY", size, "u32", "struct counted");
        let index = self.save("index", &Type::Bit(32), &format!("(u32){index}"))?;
        let element = self.fresh("counted");
        self.locals.push(format!("struct counted *{element};"));
        self.put(format!("{element} = bpf_map_lookup_elem(&{map}, &{index});"));
        self.put(format!(
            "if ({element}) {{ {element}->packets += {packets}; {element}->bytes += {bytes}; }}"
        ));
        Ok(())
    }

    /// Adds the map of an extern object to the layout.
    pub(super) fn object(
        &mut self,
        map: &str,
        path: &str,
        kind: &'static str,
        element: u32,
        size: u32,
    ) {
        if self.layout.objects.iter().all(|one| one.map != map) {
            self.layout.objects.push(layout::ObjectLayout {
                name: path.to_owned(),
                map: map.to_owned(),
                kind,
                element,
                size,
                numbers: Vec::new(),
            });
        }
    }
}

/// Returns the number of tokens that a packet takes from a meter, as a C expression: 1, or the
/// packet's length in bytes.
fn amount(counts_bytes: bool, length: Option<String>) -> String {
    match (counts_bytes, length) {
        (false, _) => "1".to_owned(),
        (true, None) => "packet_length".to_owned(),
        (true, Some(length)) => format!("(u32){length}"),
    }
}

/// Returns true if a meter counts bytes.
fn counts_bytes(instance: &Instance) -> bool {
    instance.args.iter().flatten().any(|arg| {
        matches!(arg, Binding::Constant(Value::Member(_, name)) if name.eq_ignore_ascii_case("bytes"))
    })
}

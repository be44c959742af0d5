//! Generates random pipelines without undefined behaviour: they read only values that they
//! extracted or wrote before.

use std::fmt::Write;

/// A generator of random numbers (xorshift).
pub struct Random(pub u64);

impl Random {
    pub fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }

    pub fn below(&mut self, limit: usize) -> usize {
        (self.next() % limit as u64) as usize
    }

    pub fn pick<'a>(&mut self, choices: &[&'a str]) -> &'a str {
        choices[self.below(choices.len())]
    }
}

const HEAD: &str = "
struct ethernet_t {
	bit<48> destination
	bit<48> source
	bit<16> type
}
struct ipv4_t {
	bit<8> version_words
	bit<8> service
	bit<16> length
	bit<32> flags
	bit<16> ttl
	bit<16> checksum
	bit<32> source
	bit<32> destination
}
struct wide_t {
	bit<64> long
	bit<24> odd
	bit<128> wide
	bit<40> other
}
struct shifted_t {
	bit<48> before
	bit<64> long
	bit<128> wide
}
struct metadata_t {
	bit<32> port
	bit<8> m0
	bit<16> m1
	bit<32> m2
	bit<64> m3
	bit<24> m4
	bit<128> m5
	bit<48> m6
	bit<8> pass
	bit<32> rest
}
struct data_t {
	bit<32> d0
	bit<16> d1
	bit<48> d2
}
struct option_t {
	bit<8> kind
	varbit<64> content
}
struct tag_t {
	bit<16> number
	bit<128> address
}
header e instanceof ethernet_t
header i instanceof ipv4_t
header w instanceof wide_t
header s instanceof shifted_t
header own instanceof wide_t
header o instanceof option_t
header tag instanceof tag_t
metadata instanceof metadata_t
regarray r size 5 initval 3
";

const FIELDS: &[&str] = &[
    "h.e.destination",
    "h.e.source",
    "h.e.type",
    "h.own.long",
    "h.own.odd",
    "h.own.other",
    "m.m0",
    "m.m1",
    "m.m2",
    "m.m3",
    "m.m4",
    "m.m6",
];
const IPV4: &[&str] =
    &["h.i.version_words", "h.i.length", "h.i.flags", "h.i.ttl", "h.i.checksum", "h.i.source"];
const DATA: &[&str] = &["t.d0", "t.d1", "t.d2"];

const ETHERNET: [&str; 3] = ["destination", "source", "type"];
const ALL_OF_IPV4: [&str; 8] =
    ["version_words", "service", "length", "flags", "ttl", "checksum", "source", "destination"];

/// Writer of a random instruction list.
struct Body<'a> {
    random: &'a mut Random,
    fields: Vec<&'static str>,
    data: bool,
    text: String,
    labels: usize,
    /// Labels of jumps whose target is not written yet, each with the number of instructions that
    /// are still to be written before the target.
    open: Vec<(usize, usize)>,
}

impl Body<'_> {
    fn source(&mut self) -> String {
        match self.random.below(3) {
            0 => {
                let bits = 1 + self.random.below(63);
                format!("{:#x}", self.random.next() >> bits)
            }
            1 if self.data => self.random.pick(DATA).to_owned(),
            _ => self.field(),
        }
    }

    fn field(&mut self) -> String {
        let fields = self.fields.clone();
        self.random.pick(&fields).to_owned()
    }

    /// Writes an instruction, preceded by the labels whose jumps have their target here.
    fn line(&mut self, instruction: &str) {
        let due: Vec<usize> =
            self.open.iter().filter(|(_, left)| *left == 0).map(|&(label, _)| label).collect();
        self.open.retain(|(_, left)| *left > 0);
        for (_, left) in &mut self.open {
            *left -= 1;
        }
        let mut due = due.into_iter().peekable();
        while let Some(label) = due.next() {
            // Further labels need instructions of their own.
            let text = if due.peek().is_some() { "mov m.m0 m.m0" } else { instruction };
            writeln!(self.text, "\tL{label} : {text}").expect("a string takes all text");
            if due.peek().is_none() {
                return;
            }
        }
        writeln!(self.text, "\t{instruction}").expect("a string takes all text");
    }

    fn ops(&mut self, count: usize, extra: &[&str]) {
        for _ in 0..count {
            let (to, from) = (self.field(), self.source());
            let instruction = match self.random.below(12) {
                0 | 1 => format!("mov {to} {from}"),
                2..=5 => {
                    let op = self.random.pick(&["add", "sub", "and", "or", "xor", "shl", "shr"]);
                    format!("{op} {to} {from}")
                }
                6 => self.random.pick(extra).to_owned(),
                7 => format!("regrd {to} r {from}"),
                8 => format!("regwr r {from} {}", self.source()),
                9 => format!("regadd r {from} {}", self.source()),
                _ => {
                    let relation = self.random.pick(&["jmpeq", "jmpneq", "jmplt", "jmpgt"]);
                    let label = self.labels;
                    self.labels += 1;
                    let distance = 1 + self.random.below(4);
                    self.line(&format!("{relation} L{label} {to} {from}"));
                    self.open.push((label, distance));
                    continue;
                }
            };
            self.line(&instruction);
        }
        self.close();
    }

    /// Writes instructions until all labels of pending jumps are written.
    fn close(&mut self) {
        while !self.open.is_empty() {
            self.line("mov m.m1 m.m1");
        }
    }
}

/// Declarations of actions with more than 64 bits of data, and of tables of all kinds.
const ACTIONS: &str = "action third args instanceof tag_t {
	mov m.m5 t.address
	mov m.m1 t.number
	add m.m2 t.number
	return
}
action fourth args instanceof tag_t {
	validate h.tag
	mov h.tag.number t.number
	mov h.tag.address t.address
	return
}
table addresses {
	key {
		m.m5 exact
	}
	actions {
		third
		fourth
	}
	default_action third args number 0x102 address 0x00000000000000000000000000000304
	size 16
}
table numbers {
	key {
		m.m1 exact
		m.m4 exact
	}
	actions {
		first
		second
		fourth
	}
	default_action second args none
	size 16
}
table prefixes {
	key {
		h.own.odd exact
		h.own.other lpm
	}
	actions {
		first
		third
	}
	default_action first args d0 1 d1 2 d2 3
	size 16
}
table patterns {
	key {
		m.m3 wildcard
		m.m1 exact
		m.m2 wildcard
	}
	actions {
		first
		second
		third
	}
	default_action second args none const
	size 16
}
";

/// Returns the text of a random pipeline.
pub fn pipeline(random: &mut Random) -> String {
    let mut text = HEAD.to_owned();
    for action in ["first", "second"] {
        let data = action == "first";
        let struct_name = if data { "instanceof data_t" } else { "none" };
        writeln!(text, "action {action} args {struct_name} {{").expect("a string takes all text");
        let mut body = Body {
            random,
            fields: FIELDS.to_vec(),
            data,
            text: String::new(),
            labels: 0,
            open: vec![],
        };
        body.ops(4, &["invalidate h.e", "validate h.e", "entryid m.m3"]);
        body.line("return");
        text += &body.text;
        text += "}\n";
    }
    text += ACTIONS;
    let value = random.next() >> 16;
    write!(
        text,
        "table constant {{\n\tactions {{\n\t\tfirst\n\t\tsecond\n\t}}\n\tdefault_action first args \
         d0 {:#x} d1 7 d2 {value:#x} const\n\tsize 0\n}}\n\
         table types {{\n\tkey {{\n\t\th.e.type exact\n\t}}\n\tactions {{\n\t\tfirst\n\t\tsecond\n\t}}\n\
         \tdefault_action second args none const\n\tsize 16\n}}\napply {{\n\trx m.port\n",
        value as u32
    )
    .expect("a string takes all text");
    let mut body = Body {
        random,
        fields: FIELDS.to_vec(),
        data: false,
        text: String::new(),
        labels: 0,
        open: vec![],
    };
    body.line("recircid m.pass");
    for (header, fields) in [("e", &ETHERNET[..]), ("i", &ALL_OF_IPV4[..])] {
        // DPDK keeps the memory outside packets from earlier packets.
        body.line(&format!("validate h.{header}"));
        for (number, field) in fields.iter().enumerate() {
            body.line(&format!("mov h.{header}.{field} {:#x}", 0x1234_5678 >> number));
        }
        body.line(&format!("invalidate h.{header}"));
    }
    for line in [
        "validate h.own",
        "mov h.own.long 0x1122334455667788",
        "mov h.own.odd 7",
        "mov h.own.other 0xffffffffff",
        "extract h.e",
        "lookahead h.w",
        "lookahead h.s",
        "mov h.own.wide h.w.wide",
        "mov m.m5 h.w.wide",
        "mov m.m0 1",
        "mov m.m1 h.w.odd",
        "mov m.m2 h.e.source",
        "mov m.m3 h.w.long",
        "mov m.m4 5",
        "mov m.m6 6",
    ] {
        body.line(line);
    }
    let overlapping = ["mov h.s.wide h.w.wide", "mov h.w.wide h.s.wide"];
    body.ops(6, &["mov m.m5 h.own.wide", "mov h.w.wide m.m5", "invalidate h.w", overlapping[0]]);
    let line = body.random.pick(&overlapping);
    body.line(line);
    body.line("extract h.i");
    // A length of -1 makes the header empty.
    let rest = body.random.pick(&["0", "3", "8", "0xffffffff"]);
    body.line(&format!("mov m.rest {rest}"));
    body.line("extract h.o m.rest");
    body.fields.extend(IPV4);
    let extra = [
        "ckadd h.i.checksum h.i",
        "ckadd h.i.checksum h.e.source",
        "cksub h.i.checksum h.own.other",
        "cksub h.i.checksum h.i.flags",
        "ckadd h.i.checksum h.own",
        "invalidate h.i",
        "validate h.i",
    ];
    body.ops(8, &extra);
    body.line("table constant");
    body.ops(3, &extra);
    body.line("table types");
    body.line("jmpnh MISSED");
    body.line("add m.m2 0x10000");
    body.line("MISSED : jmpa SECOND second");
    body.line("xor m.m3 m.m2");
    body.line("SECOND : entryid m.m4");
    body.ops(4, &extra);
    body.line("table addresses");
    for (mask, table) in [
        (["and m.m1 1", "and m.m4 1"], "numbers"),
        (["and h.own.odd 1", "and h.own.other 0xc000000003"], "prefixes"),
        (["and m.m1 1", "and m.m3 0xff00000000000003"], "patterns"),
    ] {
        for line in mask {
            body.line(line);
        }
        body.line(&format!("table {table}"));
        body.ops(1, &extra);
    }
    body.line("mov h.own.long m.m3");
    body.line("mov h.own.odd m.m4");
    body.line("mov h.own.wide m.m5");
    let early =
        if body.random.below(2) == 0 { "jmpgt LEAVE m.m0 0x80" } else { "jmplt LEAVE m.m1 9" };
    body.line(early);
    let mut headers = if body.random.below(2) == 0 {
        vec!["e", "i", "o", "own", "tag"]
    } else {
        vec!["tag", "own", "e", "i", "o"]
    };
    if body.random.below(3) == 0 {
        let last = body.random.below(3);
        body.line(&format!("jmpgt LAST m.pass {last}"));
        body.line("recirculate");
        body.line("LAST : mov m.m1 m.m1");
        // The length of a header with a varbit field is not known in the next pass.
        headers.retain(|header| *header != "o");
    }
    for header in headers {
        body.line(&format!("emit h.{header}"));
    }
    body.line("tx m.port");
    body.line("LEAVE : emit h.own");
    body.line("drop");
    text + &body.text + "}\n"
}

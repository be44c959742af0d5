//! Runs pipelines in DPDK on random packets, and compares the results with a computation in Rust.

use slowpath_oracle::Oracle;
use slowpath_p4::swx::Output;
use slowpath_p4::swx::layout::lines;
use slowpath_p4::xdp::entries::parse as parse_entries;

use crate::dpdk::{self, Pipeline};
use crate::swx::{made, program};

/// Number of packets for each program.
const PACKETS: u64 = 40;

/// Fields of the header in the test programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Fields {
    a: u16,
    b: u16,
    w: u128,
    c: u16,
}

impl Fields {
    /// Derives pseudo-random fields from a number; some fields have small values.
    fn drawn(number: u64) -> Fields {
        let mut state = number.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
        let mut next = || {
            state ^= state << 13;
            state ^= state >> 7;
            state ^= state << 17;
            state
        };
        let small = number.is_multiple_of(3);
        let limit = |value: u64| if small { value % 8 } else { value };
        Fields {
            a: (limit(next()) % 16) as u16,
            b: (limit(next()) % 4096) as u16,
            w: u128::from(next()) << 64 | u128::from(next()),
            c: limit(next()) as u16,
        }
    }

    fn hex(self) -> String {
        format!("{:01x}{:03x}{:032x}{:04x}", self.a, self.b, self.w, self.c)
    }
}

/// Returns the replies of a pipeline to driver commands; `None` without DPDK.
fn answers(made: &Output, commands: &[String]) -> Option<Vec<String>> {
    dpdk::driver()?;
    let mut pipeline = Pipeline::start(&made.spec).unwrap_or_else(|fault| panic!("{fault}"));
    Some(commands.iter().map(|command| pipeline.ask(command)).collect())
}

/// Checks the output of a program for all test packets. `wanted` returns the port and fields of the
/// packet that must leave, or `None` if the packet must be dropped.
#[track_caller]
fn sends(
    locals: &str,
    body: &str,
    entries: &str,
    wanted: impl Fn(Fields) -> Option<(u16, Fields)>,
) {
    sends_and_counts(&program(locals, body), entries, wanted, &[]);
}

/// Checks a program like [`sends`], and then the values of its counters, each given by name, index
/// and value.
#[track_caller]
fn sends_and_counts(
    text: &str,
    entries: &str,
    wanted: impl Fn(Fields) -> Option<(u16, Fields)>,
    counters: &[(&str, u32, usize)],
) {
    sends_after(&[], text, entries, wanted, counters);
}

/// Checks a program like [`sends_and_counts`], after it has run driver commands.
#[track_caller]
fn sends_after(
    setup: &[&str],
    text: &str,
    entries: &str,
    wanted: impl Fn(Fields) -> Option<(u16, Fields)>,
    counters: &[(&str, u32, usize)],
) {
    let made = made(text).unwrap_or_else(|fault| panic!("{fault}"));
    let entries = lines(&made.layout, &parse_entries(entries).unwrap()).unwrap();
    let entries = entries.iter().map(|one| {
        let command = if one.is_default { "default" } else { "entry" };
        format!("{command} {} {}", one.table, one.text)
    });
    let mut commands: Vec<String> =
        setup.iter().map(|one| (*one).to_owned()).chain(entries).collect();
    let count = commands.len();
    let packets: Vec<Fields> = (0..PACKETS).map(Fields::drawn).collect();
    commands.extend(packets.iter().map(|one| format!("packet 3 {}ee", one.hex())));
    commands.extend(counters.iter().map(|(name, at, _)| format!("register {name} {at}")));
    let Some(found) = answers(&made, &commands) else { return };
    for (command, answer) in commands.iter().zip(&found).take(count) {
        assert_eq!(answer, "ok", "{command}");
    }
    for (packet, answer) in packets.iter().zip(&found[count..]) {
        let wanted = match wanted(*packet) {
            Some((port, fields)) => format!("{port} {}ee", fields.hex()),
            None => "drop".to_owned(),
        };
        assert_eq!(*answer, wanted, "{text}: {packet:x?}\n{}", slowpath_swx::print(&made.spec));
    }
    for ((name, at, wanted), answer) in counters.iter().zip(&found[count + packets.len()..]) {
        assert_eq!(*answer, wanted.to_string(), "{name} {at}");
    }
    Oracle::Dpdk.compared(packets.len(), "packets of P4 programs");
}

#[test]
fn arithmetic_has_the_width_of_its_operands() {
    let to = |fields| Some((0, fields));
    sends("", "hdr.h.b = hdr.h.b + hdr.h.c[11:0];", "", |f| {
        to(Fields { b: f.b.wrapping_add(f.c) & 0xfff, ..f })
    });
    sends("", "hdr.h.a = hdr.h.a - 3; hdr.h.c = ~hdr.h.c;", "", |f| {
        to(Fields { a: f.a.wrapping_sub(3) & 0xf, c: !f.c, ..f })
    });
    sends("", "hdr.h.w = hdr.h.w + (bit<128>)hdr.h.c;", "", |f| {
        to(Fields { w: f.w.wrapping_add(u128::from(f.c)), ..f })
    });
    sends("", "hdr.h.w = hdr.h.w - (hdr.h.w << 1);", "", |f| {
        to(Fields { w: f.w.wrapping_sub(f.w << 1), ..f })
    });
    sends("", "hdr.h.w = hdr.h.w[99:0] ++ hdr.h.w[127:100];", "", |f| {
        to(Fields { w: f.w.rotate_left(28), ..f })
    });
    sends("", "hdr.h.c = hdr.h.c * (bit<16>)hdr.h.b;", "", |f| {
        to(Fields { c: f.c.wrapping_mul(f.b), ..f })
    });
    sends("", "hdr.h.c = hdr.h.c * 1001; hdr.h.b = hdr.h.b % 100;", "", |f| {
        to(Fields { c: f.c.wrapping_mul(1001), b: f.b % 100, ..f })
    });
    sends("", "if (hdr.h.b != 0) { hdr.h.c = hdr.h.c / (bit<16>)hdr.h.b; }", "", |f| {
        to(Fields { c: f.c.checked_div(f.b).unwrap_or(f.c), ..f })
    });
    // Divisions in one word, in two, and by numbers of 64 bits.
    for bits in [20_u32, 31, 32, 50, 62, 63, 64] {
        let body = format!(
            "bit<{bits}> n = hdr.h.w[{}:0]; bit<{bits}> d = hdr.h.w[{}:{}];
             if (d != 0) {{ hdr.h.w[{}:0] = n / d; hdr.h.c = (bit<16>)(n % d); }}",
            bits - 1,
            63 + bits,
            64,
            bits - 1
        );
        sends("", &body, "", |f| {
            let all = (1 << bits) - 1;
            let (n, d) = (f.w & all, f.w >> 64 & all);
            let w = n.checked_div(d).map(|quotient| f.w & !all | quotient);
            let c = n.checked_rem(d).map(|rest| rest as u16);
            Some((0, Fields { w: w.unwrap_or(f.w), c: c.unwrap_or(f.c), ..f }))
        });
    }
    sends("", "hdr.h.c = hdr.h.c / 7; hdr.h.b = hdr.h.b / (bit<12>)hdr.h.a;", "", |f| {
        let b = f.b.checked_div(f.a).unwrap_or(0xfff);
        to(Fields { c: f.c / 7, b, ..f })
    });
    sends("", "hdr.h.c = (hdr.h.c << hdr.h.a) | (hdr.h.c >> (hdr.h.b & 31));", "", |f| {
        let right = f.c.checked_shr(u32::from(f.b & 31)).unwrap_or(0);
        to(Fields { c: f.c << f.a | right, ..f })
    });
    sends("", "hdr.h.c = (bit<16>)((int<16>)hdr.h.c >> (hdr.h.b & 31));", "", |f| {
        to(Fields { c: ((f.c as i16) >> (f.b & 31).min(15)) as u16, ..f })
    });
    sends("", "hdr.h.c = hdr.h.c |+| hdr.h.w[15:0]; hdr.h.b = hdr.h.b |-| 100;", "", |f| {
        to(Fields { c: f.c.saturating_add(f.w as u16), b: f.b.saturating_sub(100), ..f })
    });
    sends(
        "",
        "int<16> s1 = (int<16>)hdr.h.c; hdr.h.c = (bit<16>)(s1 |+| (int<16>)hdr.h.w[15:0]);",
        "",
        |f| to(Fields { c: (f.c as i16).saturating_add(f.w as i16) as u16, ..f }),
    );
}

#[test]
fn conditions_choose_as_in_other_languages() {
    let port = |n, f| Some((n, f));
    sends("", "if (hdr.h.a < 5 && hdr.h.c >= 100 || hdr.h.b == 7) { port(1); }", "", |f| {
        port(u16::from(f.a < 5 && f.c >= 100 || f.b == 7), f)
    });
    sends("", "if (hdr.h.w > hdr.h.w << 3) { port(1); } else { mark_to_drop(s); }", "", |f| {
        if f.w > f.w << 3 { port(1, f) } else { None }
    });
    sends("", "if ((int<16>)hdr.h.c < -5) { port(2); }", "", |f| {
        port(if (f.c as i16) < -5 { 2 } else { 0 }, f)
    });
    sends(
        "",
        "switch (hdr.h.a) { 1: 2: { port(4); } 3: { port(5); } default: { port(6); } }",
        "",
        |f| {
            port(
                match f.a {
                    1 | 2 => 4,
                    3 => 5,
                    _ => 6,
                },
                f,
            )
        },
    );
    sends(
        "action set() { if (hdr.h.a == 1) { exit; } hdr.h.c = 9; }
           table t { key = {} actions = { set; } const default_action = set(); }",
        "hdr.h.b = 1; t.apply(); hdr.h.b = 2;",
        "",
        |f| port(0, if f.a == 1 { Fields { b: 1, ..f } } else { Fields { b: 2, c: 9, ..f } }),
    );
    sends(
        "",
        "hdr.h.c = 0; for (bit<8> i in 1..4) { if (i == 3) { continue; } hdr.h.c = hdr.h.c + (bit<16>)i; }",
        "",
        |f| port(0, Fields { c: 7, ..f }),
    );
}

#[test]
fn tables_choose_entries_by_key_and_order() {
    let port = |n, f| Some((n, f));
    sends(
        "table t { key = { hdr.h.a: exact; hdr.h.b: exact; } actions = { port; } }",
        "t.apply();",
        "t 1, 2 -> port(1)\nt 7, 7 -> port(2)\nt 3, 5 -> port(3)",
        |f| {
            port(
                match (f.a, f.b) {
                    (1, 2) => 1,
                    (7, 7) => 2,
                    (3, 5) => 3,
                    _ => 0,
                },
                f,
            )
        },
    );
    sends(
        "table t { key = { hdr.h.c: lpm; } actions = { port; } default_action = port(9); }",
        "t.apply();",
        "t 0/1 -> port(1)\nt 0/13 -> port(2)\nt 3/16 -> port(3)",
        |f| {
            port(
                match f.c {
                    3 => 3,
                    0..=2 | 4..8 => 2,
                    8..0x8000 => 1,
                    _ => 9,
                },
                f,
            )
        },
    );
    sends(
        "table t { key = { hdr.h.w: lpm; } actions = { port; } }",
        "t.apply();",
        "t 0/1 -> port(1)\nt 0x80000000000000000000000000000000/2 -> port(2)",
        |f| {
            port(
                match f.w >> 126 {
                    0 | 1 => 1,
                    2 => 2,
                    _ => 0,
                },
                f,
            )
        },
    );
    sends(
        "table t { key = { hdr.h.b: ternary; hdr.h.c: range; } actions = { port; NoAction; } }",
        "if (!t.apply().hit) { port(8); }",
        "t 1 &&& 1, 100..60000 priority 2 -> port(1)\nt *, 0..200 priority 3 -> port(2)",
        |f| {
            port(
                if f.c <= 200 {
                    2
                } else if f.b & 1 == 1 && (100..=60000).contains(&f.c) {
                    1
                } else {
                    8
                },
                f,
            )
        },
    );
    sends(
        "bit<23> v; table t { key = { v: lpm; } actions = { port; } }",
        "v = hdr.h.c ++ 7w0; t.apply();",
        "t 0/1 -> port(1)\nt 0x400000/2 -> port(2)",
        |f| {
            port(
                match f.c >> 14 {
                    0 | 1 => 1,
                    2 => 2,
                    _ => 0,
                },
                f,
            )
        },
    );
    sends(
        "table t { key = { hdr.h.a: ternary; hdr.h.b: range; } actions = { port; } }",
        "t.apply();",
        "t 1 &&& 3, * priority 2 -> port(1)\nt 1 &&& 3, 0..7 priority 5 -> port(2)
         t 1 &&& 3, 0..7 priority 4 -> port(3)\nt 1 &&& 3, * priority 1 -> port(4)",
        |f| {
            port(
                if f.a & 3 != 1 {
                    0
                } else if f.b < 8 {
                    2
                } else {
                    1
                },
                f,
            )
        },
    );
    sends(
        "table t { key = { hdr.h.a: ternary; } actions = { port; }
             const entries = { 1 &&& 3: port(1); } const default_action = port(3); }",
        "t.apply();",
        "",
        |f| port(if f.a & 3 == 1 { 1 } else { 3 }, f),
    );
}

#[test]
fn hashes_and_checksums_are_those_of_their_algorithms() {
    fn crc32(bytes: &[u8]) -> u32 {
        !bytes.iter().fold(u32::MAX, |crc, byte| {
            (0..8).fold(crc ^ u32::from(*byte), |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0xedb8_8320 } else { crc >> 1 }
            })
        })
    }
    sends(
        "",
        "bit<32> r; hash(r, HashAlgorithm.crc32, 32w0, { hdr.h.w }, 64w0x100000000);
               hdr.h.w[31:0] = r;",
        "",
        |f| {
            let hash = u128::from(crc32(&f.w.to_be_bytes()));
            Some((0, Fields { w: f.w >> 32 << 32 | hash, ..f }))
        },
    );
    fn crc16(bytes: &[u8]) -> u16 {
        bytes.iter().fold(0, |crc, byte| {
            (0..8).fold(crc ^ u16::from(*byte), |crc, _| {
                if crc & 1 == 1 { crc >> 1 ^ 0xa001 } else { crc >> 1 }
            })
        })
    }
    // Whole words of the CRC, and a rest.
    for bytes in [1, 2, 3, 5, 8, 16] {
        let data = format!("hdr.h.w[{}:0]", 8 * bytes - 1);
        let hashes = format!(
            "bit<32> r; bit<16> q;
             hash(r, HashAlgorithm.crc32, 32w0, {{ {data} }}, 64w0x100000000);
             hash(q, HashAlgorithm.crc16, 16w0, {{ {data} }}, 32w0x10000);
             hdr.h.w[31:0] = r; hdr.h.c = q;"
        );
        sends("", &hashes, "", |f| {
            let data = &f.w.to_be_bytes()[16 - bytes..];
            let w = f.w >> 32 << 32 | u128::from(crc32(data));
            Some((0, Fields { w, c: crc16(data), ..f }))
        });
    }
    // Two fields share a byte; zeros fill the last one.
    sends(
        "",
        "bit<32> r; hash(r, HashAlgorithm.crc32, 32w0, { hdr.h.b, hdr.h.a, hdr.h.a }, 64w0x100000000);
               hdr.h.w[31:0] = r;",
        "",
        |f| {
            let [first, second] = (f.b << 4 | f.a).to_be_bytes();
            let hash = u128::from(crc32(&[first, second, (f.a as u8) << 4]));
            Some((0, Fields { w: f.w >> 32 << 32 | hash, ..f }))
        },
    );
    sends(
        "",
        "hash(hdr.h.c, HashAlgorithm.csum16, 16w0, { hdr.h.a, hdr.h.b, hdr.h.w }, 32w0x10000);",
        "",
        |f| {
            let mut sum = u32::from(f.a << 12 | f.b);
            for part in 0..8 {
                sum += u32::from((f.w >> (part * 16)) as u16);
            }
            while sum > 0xffff {
                sum = (sum & 0xffff) + (sum >> 16);
            }
            Some((0, Fields { c: !(sum as u16), ..f }))
        },
    );
}

#[test]
fn registers_keep_their_values() {
    let sums = std::cell::RefCell::new([0u16; 4]);
    sends(
        "register<bit<16>>(4) r;",
        "bit<16> old; r.read(old, (bit<32>)hdr.h.a); hdr.h.c = old; r.write((bit<32>)hdr.h.a, old + 3);",
        "",
        |f| {
            let mut sums = sums.borrow_mut();
            let before = sums.get(usize::from(f.a)).copied().unwrap_or(0);
            if let Some(sum) = sums.get_mut(usize::from(f.a)) {
                *sum += 3;
            }
            Some((0, Fields { c: before, ..f }))
        },
    );
}

#[test]
fn entries_of_the_program_can_be_replaced() {
    let port = |n, f| Some((n, f));
    sends(
        "table t { key = { hdr.h.a: ternary; } actions = { port; } size = 8;
             entries = { priority = 8: 1 &&& 3: port(1); priority = 9: 5: port(2); } }",
        "t.apply();",
        "t 9 priority 20 -> port(4)\nt default -> port(7)",
        |f| {
            port(
                match f.a {
                    9 => 4,
                    5 => 2,
                    _ if f.a & 3 == 1 => 1,
                    _ => 7,
                },
                f,
            )
        },
    );
}

#[test]
fn members_of_profiles_are_entries_with_actions() {
    sends(
        "table t { key = { hdr.h.a: exact; } actions = { port; } size = 8;
             implementation = action_profile(4); }",
        "t.apply();",
        "t 1 -> port(1)\nt 2 -> port(2)",
        |f| Some((if f.a == 1 || f.a == 2 { f.a } else { 0 }, f)),
    );
}

#[test]
fn defaults_wider_than_words_have_all_their_bits() {
    sends(
        "action set(bit<128> w, bit<12> b) { hdr.h.w = w; hdr.h.b = b; }
         table t { key = { hdr.h.a: exact; } actions = { set; }
             const default_action = set(0x0123456789abcdef_fedcba9876543210, 5); }",
        "t.apply();",
        "t 3 -> set(w=0x80000000000000000000000000000001, b=7)",
        |f| {
            let (w, b) = match f.a {
                3 => (1 << 127 | 1, 7),
                _ => (0x0123_4567_89ab_cdef_fedc_ba98_7654_3210, 5),
            };
            Some((0, Fields { w, b, ..f }))
        },
    );
}

/// Returns the number of test packets for whose fields a condition is true.
fn number_of(condition: impl Fn(Fields) -> bool) -> usize {
    (0..PACKETS).map(Fields::drawn).filter(|fields| condition(*fields)).count()
}

#[test]
fn direct_counters_count_the_packets_of_each_entry() {
    let (ones, small) = (number_of(|f| f.a == 1), number_of(|f| f.a != 1 && f.a & 12 == 0));
    assert!(ones > 0 && small > 0);
    // The last entry that is added is the first one of an exact table.
    sends_and_counts(
        &program(
            "direct_counter(CounterType.packets) n;
             table t { key = { hdr.h.a: exact; } actions = { port; NoAction; } size = 2; counters = n; }",
            "t.apply();",
        ),
        "t 1 -> port(1)\nt 0 -> port(2)",
        |f| Some((if f.a == 1 { 1 } else if f.a == 0 { 2 } else { 0 }, f)),
        &[("I_n", 0, 0), ("I_n", 1, ones), ("I_n", 2, number_of(|f| f.a == 0))],
    );
    sends_and_counts(
        &program(
            "direct_counter(CounterType.packets) n;
             table t { key = { hdr.h.a: ternary; } actions = { port; } size = 2; counters = n; }",
            "t.apply();",
        ),
        "t 1 priority 3 -> port(1)\nt 0 &&& 12 priority 2 -> port(2)",
        |f| {
            Some((
                if f.a == 1 {
                    1
                } else if f.a & 12 == 0 {
                    2
                } else {
                    0
                },
                f,
            ))
        },
        &[("I_n", 1, ones), ("I_n", 2, small)],
    );
}

#[test]
fn members_of_value_sets_choose_the_next_state() {
    let parser = |set: &str, key: &str| {
        program("", "").replace(
            "state start { b.extract(hdr.h); transition accept; }",
            &format!(
                "{set}
                 state start {{ b.extract(hdr.h); transition select({key}) {{
                     v: known; default: accept; }} }}
                 state known {{ s.egress_spec = 5; transition accept; }}"
            ),
        )
    };
    sends_and_counts(
        &parser("value_set<bit<4>>(4) v;", "hdr.h.a"),
        "v 1\nv 7",
        |f| Some((if f.a == 1 || f.a == 7 { 5 } else { 0 }, f)),
        &[],
    );
    sends_and_counts(
        &parser("value_set<tuple<bit<4>, bit<12>>>(4) v;", "hdr.h.a, hdr.h.b"),
        "v 7, 7\nv 1, 2",
        |f| Some((if (f.a, f.b) == (7, 7) || (f.a, f.b) == (1, 2) { 5 } else { 0 }, f)),
        &[],
    );
}

#[test]
fn headers_without_fields_are_valid_or_not() {
    let text = program(
        "",
        "if (hdr.none.isValid()) { port(2); hdr.none.setInvalid(); }
         if (hdr.none.isValid()) { port(3); }",
    );
    let text = text.replace("struct Hs {", "header None { } struct Hs { None none;").replace(
        "b.extract(hdr.h);",
        "b.extract(hdr.h); transition select(hdr.h.a) { 1: more; default: accept; } }
            state more { b.extract(hdr.none);",
    );
    sends_and_counts(&text, "", |f| Some((if f.a == 1 { 2 } else { 0 }, f)), &[]);
}

#[test]
fn meters_that_are_not_set_are_green() {
    let same = |port| move |f| Some((port, f));
    sends(
        "meter(4, MeterType.packets) m;",
        "bit<2> c = 3; m.execute_meter(1, c); port((bit<9>)c + 4);",
        "",
        same(4),
    );
    sends(
        "direct_meter<bit<2>>(MeterType.packets) m;
         action read() { bit<2> c = 3; m.read(c); port((bit<9>)c + 4); }
         table t { key = { hdr.h.a: exact; } actions = { read; } size = 8; meters = m; }",
        "t.apply();",
        "t 1 -> read()",
        |f| Some((if f.a == 1 { 4 } else { 0 }, f)),
    );
}

#[test]
fn filters_that_change_headers_pass_packets_on_as_they_came() {
    let text = "#include <core.p4>
#include <ebpf_model.p4>
        header H { bit<4> a; bit<12> b; bit<128> w; bit<16> c; }
        struct Hs { H h; }
        parser P(packet_in b, out Hs hdr) {
            state start { b.extract(hdr.h); transition accept; }
        }
        control F(inout Hs hdr, out bool accept) {
            action set(bit<16> c) { hdr.h.c = c; accept = true; }
            table t { key = { hdr.h.a: exact; } actions = { set; NoAction; } default_action = NoAction;
                implementation = hash_table(4); }
            apply {
                accept = false;
                t.apply();
                if (hdr.h.c == 9) { hdr.h.w = 0; }
                if (hdr.h.w == 0) { accept = false; hdr.h.setInvalid(); }
            }
        }
        ebpfFilter(P(), F()) main;";
    sends_and_counts(
        text,
        "t 1 -> set(8)\nt 7 -> set(9)",
        |f| if f.a == 1 { Some((3, f)) } else { None },
        &[],
    );
}

#[test]
fn filters_with_empty_headers_pass_packets_on() {
    let text = "#include <core.p4>
#include <ebpf_model.p4>
        header H { bit<4> a; bit<12> b; bit<128> w; bit<16> c; }
        header None { }
        struct Hs { H h; None none; }
        parser P(packet_in b, out Hs hdr) {
            state start { b.extract(hdr.h); transition select(hdr.h.a) { 1: more; default: accept; } }
            state more { b.extract(hdr.none); transition accept; }
        }
        control F(inout Hs hdr, out bool accept) { apply { accept = hdr.none.isValid(); } }
        ebpfFilter(P(), F()) main;";
    sends_and_counts(text, "", |f| if f.a == 1 { Some((3, f)) } else { None }, &[]);
}

#[test]
fn meters_of_psa_have_its_colours() {
    let text = "#define _PSA_WITH_PACKET_LENGTH
#include <core.p4>
#include <psa.p4>
        header H { bit<4> a; bit<12> b; bit<128> w; bit<16> c; }
        struct Hs { H h; }
        struct E {}
        parser P(packet_in b, out Hs hdr, inout E m, in psa_ingress_parser_input_metadata_t i,
                 in E r, in E c) {
            state start { b.extract(hdr.h); transition accept; }
        }
        control I(inout Hs hdr, inout E m, in psa_ingress_input_metadata_t i,
                  inout psa_ingress_output_metadata_t o) {
            Meter<bit<4>>(4, PSA_MeterType_t.BYTES) meter;
            DirectMeter(PSA_MeterType_t.PACKETS) direct;
            Counter<bit<32>, bit<4>>(16, PSA_CounterType_t.BYTES) bytes;
            action port() {
                PSA_MeterColor_t c = direct.execute(PSA_MeterColor_t.YELLOW);
                if (c == PSA_MeterColor_t.YELLOW) { o.egress_port = (PortId_t)5; }
            }
            table t { key = { hdr.h.a: exact; } actions = { port; NoAction; } size = 8;
                psa_direct_meter = direct; }
            apply {
                o.drop = false;
                o.egress_port = (PortId_t)9;
                PSA_MeterColor_t before = hdr.h.a == 7 ? PSA_MeterColor_t.RED : PSA_MeterColor_t.GREEN;
                PSA_MeterColor_t c = meter.dpdk_execute(2, before, 100);
                if (c == PSA_MeterColor_t.GREEN) { o.egress_port = (PortId_t)1; }
                if (c == PSA_MeterColor_t.RED) { o.egress_port = (PortId_t)2; }
                bytes.count(hdr.h.a, 100);
                t.apply();
            }
        }
        control D(packet_out b, out E x, out E y, out E z, inout Hs hdr, in E m,
                  in psa_ingress_output_metadata_t o) { apply { b.emit(hdr.h); } }
        parser EP(packet_in b, out E hdr, inout E m, in psa_egress_parser_input_metadata_t i,
                  in E x, in E y, in E z) { state start { transition accept; } }
        control EI(inout E hdr, inout E m, in psa_egress_input_metadata_t i,
                   inout psa_egress_output_metadata_t o) { apply {} }
        control ED(packet_out b, out E x, out E y, inout E hdr, in E m,
                   in psa_egress_output_metadata_t o, in psa_egress_deparser_input_metadata_t i) {
            apply {} }
        IngressPipeline(P(), I(), D()) ingress;
        EgressPipeline(EP(), EI(), ED()) egress;
        PSA_Switch(ingress, PacketReplicationEngine(), egress, BufferingQueueingEngine()) main;";
    // Buckets hold 150 and 350 bytes, or 4 packets, and hardly fill during the test.
    let (bytes, packets) = (std::cell::Cell::new((150, 350)), std::cell::Cell::new(4));
    sends_after(
        &["meter I_meter 2 1 1 150 350", "meter I_direct 1 1 1 4 4"],
        text,
        "t 1 -> port()",
        |f| {
            let port = match (f.a, bytes.get()) {
                (7, _) | (_, (_, ..100)) => 2,
                (_, (..100, peak)) => {
                    bytes.set((0, peak - 100));
                    9
                }
                (_, (committed, peak)) => {
                    bytes.set((committed - 100, peak - 100));
                    1
                }
            };
            let yellow = f.a == 1 && packets.get() > 0;
            packets.set(packets.get() - i32::from(f.a == 1));
            Some((if yellow { 5 } else { port }, f))
        },
        &[("I_bytes", 1, 100 * number_of(|f| f.a == 1))],
    );
    // Without rates, all packets are green.
    sends_and_counts(text, "t 1 -> port()", |f| Some((1, f)), &[]);
}

#[test]
fn meters_mark_packets_by_two_rates() {
    let body = "m.execute_meter((bit<32>)hdr.h.a, hdr.h.c); s.egress_spec = 1;";
    let made = made(&program("meter(4, MeterType.packets) m;", body));
    let made = made.unwrap_or_else(|fault| panic!("{fault}"));
    // Tokens for two packets, or three; a further one after a second.
    let packet = |a| Fields { a, b: 0, w: 0, c: 9 };
    let mut commands = vec!["meter I_m 1 1 1 2 3".to_owned()];
    let metered = [1, 1, 1, 1, 0, 1, 5];
    commands.extend(metered.map(|a| format!("packet 3 {}ee", packet(a).hex())));
    let wanted = [0, 0, 1, 2, 0, 2, 0];
    let wanted = metered
        .iter()
        .zip(wanted)
        .map(|(a, colour)| format!("1 {}ee", Fields { c: colour, ..packet(*a) }.hex()));
    let wanted: Vec<String> = std::iter::once("ok".to_owned()).chain(wanted).collect();
    // Another process can delay the packets until there are new tokens.
    let mut tries = (0..10).map(|_| answers(&made, &commands));
    if let Some(found) = tries.find(|found| found.as_ref().is_none_or(|found| *found == wanted)) {
        if found.is_some() {
            Oracle::Dpdk.compared(wanted.len(), "packets of P4 programs");
        }
        return;
    }
    assert_eq!(answers(&made, &commands), Some(wanted));
}

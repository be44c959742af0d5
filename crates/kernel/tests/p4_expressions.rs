//! Tests random P4 expressions over the fields of a header. In the kernel, a program writes the
//! values of the expressions into a packet. They must equal the values that this test computes with
//! integers of any size, by the rules of the specification (sections 8.5 to 8.11).

use crate::support;

use std::fmt::Write;

use num_bigint::BigInt;
use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use slowpath_oracle::Oracle;
use support::clang::clang;
use support::p4::P4;
use support::p4_expr::{Expr, Field, Source, Type, bytes, header, random_type};
use support::{hex, kernel};

/// Number of programs. The environment variable `SLOWPATH_P4_PROGRAMS` overrides it.
const PROGRAMS: u64 = 30;
/// Number of expressions in a program.
const EXPRESSIONS: usize = 12;
/// Number of packets for each program.
const PACKETS: usize = 12;
fn program(fields: &[Type], results: &[Type], exprs: &[Box<Expr>]) -> String {
    let mut body = String::new();
    for (at, expr) in exprs.iter().enumerate() {
        let _ = write!(body, "        hdr.r.r{at} = ");
        expr.text(&mut body);
        body.push_str(";\n");
    }
    format!(
        "#include <core.p4>
#include <v1model.p4>
{}
{}
struct Hs {{ F f; R r; }}
struct M {{}}
parser P(packet_in b, out Hs hdr, inout M m, inout standard_metadata_t s) {{
    state start {{ b.extract(hdr.f); b.extract(hdr.r); transition accept; }}
}}
control V(inout Hs hdr, inout M m) {{ apply {{}} }}
control I(inout Hs hdr, inout M m, inout standard_metadata_t s) {{
    apply {{
{body}    }}
}}
control E(inout Hs hdr, inout M m, inout standard_metadata_t s) {{ apply {{}} }}
control D(packet_out b, in Hs hdr) {{ apply {{ b.emit(hdr); }} }}
V1Switch(P(), V(), I(), E(), V(), D()) main;
",
        header("F", "f", fields),
        header("R", "r", results)
    )
}

#[test]
fn random_expressions_have_the_values_of_the_specification() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let programs = std::env::var("SLOWPATH_P4_PROGRAMS");
    let programs = programs.ok().and_then(|count| count.parse().ok()).unwrap_or(PROGRAMS);
    let first = std::env::var("SLOWPATH_P4_SEED").ok().and_then(|seed| seed.parse().ok());
    let first = first.unwrap_or(0);
    let mut count = 0;
    for seed in first..first + programs {
        let mut rng = StdRng::seed_from_u64(seed);
        let mut fields: Vec<Type> =
            (0..rng.random_range(3..8)).map(|_| random_type(&mut rng)).collect();
        // Test runs need packets of at least 14 bytes.
        fields.push(Type { signed: false, width: 112 });
        let results: Vec<Type> = (0..EXPRESSIONS).map(|_| random_type(&mut rng)).collect();
        let named: Vec<Field> = fields
            .iter()
            .enumerate()
            .map(|(at, ty)| Field { name: format!("hdr.f.f{at}"), ty: *ty })
            .collect();
        let mut source = Source { rng: &mut rng, fields: &named, shifts_wide: true };
        let exprs: Vec<Box<Expr>> = results.iter().map(|ty| source.expr(*ty, 4)).collect();
        let text = program(&fields, &results, &exprs);
        let load = |scratch| P4::load_if_it_fits(&kernel, &clang, &text, scratch);
        // Intermediate results need stack space, too. If a program does not fit, its headers and
        // metadata are kept in a map.
        let loaded = if seed % 2 == 0 { load(true) } else { load(false).or_else(|| load(true)) };
        let Some(loaded) = loaded else { continue };
        for _ in 0..PACKETS {
            let values: Vec<(Type, BigInt)> = fields
                .iter()
                .map(|ty| {
                    (*ty, Source { rng: &mut rng, fields: &named, shifts_wide: true }.number(*ty))
                })
                .collect();
            let before: Vec<_> = results.iter().map(|ty| (*ty, BigInt::ZERO)).collect();
            let packet = [bytes(&values), bytes(&before)].concat();
            let after: Vec<_> = results
                .iter()
                .zip(&exprs)
                .map(|(ty, expr)| (*ty, expr.value(*ty, &values)))
                .collect();
            let wanted = [bytes(&values), bytes(&after)].concat();
            let (_, sent) = loaded.run(&packet).expect("a packet");
            assert!(
                sent == wanted,
                "seed {seed}: fields {values:?}\nwanted {after:?}\nwanted {}\nsent   {}\n{text}",
                hex(&wanted),
                hex(&sent)
            );
            count += results.len();
        }
    }
    // A few programs may be too large.
    assert!(count >= programs as usize * EXPRESSIONS * PACKETS * 9 / 10, "{count} values");
    Oracle::Kernel.compared(count, "values of P4 expressions");
}

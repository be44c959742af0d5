//! Tests of the standard headers.

use std::collections::HashSet;
use std::path::Path;

use slowpath_p4::preprocess::{Options, preprocess};
use slowpath_p4::token::TokenKind;

use crate::support::shown;

/// Returns the tokens of a standard header as text.
fn header(name: &str) -> String {
    shown(&format!("#include <{name}>"))
}

const HEADERS: [&str; 7] = [
    "core.p4",
    "v1model.p4",
    "psa.p4",
    "bmv2/psa.p4",
    "dpdk/psa.p4",
    "ebpf_model.p4",
    "xdp_model.p4",
];

#[test]
fn headers_have_balanced_brackets_and_no_macros_of_their_own() {
    for name in HEADERS {
        let text = header(name);
        let words: HashSet<&str> = text.split(' ').collect();
        let own: Vec<_> = words
            .iter()
            .filter(|word| word.starts_with("_V1") || word.starts_with("_PSA"))
            .collect();
        assert!(own.is_empty(), "{name}: {own:?}");
        let mut open = Vec::new();
        for word in text.split(' ') {
            match word {
                "(" | "{" | "[" | "<" => open.push(word),
                ")" => assert_eq!(open.pop(), Some("("), "{name}"),
                "}" => assert_eq!(open.pop(), Some("{"), "{name}"),
                "]" => assert_eq!(open.pop(), Some("["), "{name}"),
                ">" => assert_eq!(open.pop(), Some("<"), "{name}"),
                _ => {}
            }
        }
        assert!(open.is_empty(), "{name}");
    }
}

#[test]
fn a_second_inclusion_has_no_tokens() {
    for name in HEADERS {
        let again = shown(&format!("#include <{name}>\n#include <{name}>\n#include <core.p4>"));
        assert_eq!(again, header(name), "{name}");
        assert!(again.starts_with("error { NoError ,"), "{name}: core.p4 comes first");
    }
}

#[test]
fn the_version_of_v1model_chooses_types() {
    let old = header("v1model.p4");
    assert!(old.contains("__v1model_version = 20180101 ;"));
    assert!(old.contains("struct standard_metadata_t { bit < 9 > ingress_port ;"));
    assert!(old.contains("extern counter { counter ( bit < 32 > size , CounterType type ) ; void count ( in bit < 32 > index ) ; }"));
    assert!(old.contains("extern register < T > {"));
    let version = ("V1MODEL_VERSION".to_string(), "20200408".to_string());
    let options = Options { include_folders: Vec::new(), defines: vec![version] };
    let (tokens, _) =
        preprocess(Path::new("a.p4"), "#include <v1model.p4>", &options).expect("a program");
    let new = crate::support::show(&tokens);
    assert!(new.contains("typedef bit < 9 > PortId_t ;"));
    assert!(new.contains("struct standard_metadata_t { PortId_t ingress_port ;"));
    assert!(new.contains("extern meter < I > { meter ( bit < 32 > size , MeterType type ) ; void execute_meter < T > ( in I index , out T result ) ; }"));
    assert!(new.contains("extern register < T , I > {"));
}

#[test]
fn the_variant_of_psa_chooses_methods() {
    let (bmv2, dpdk) = (header("bmv2/psa.p4"), header("dpdk/psa.p4"));
    assert_eq!(header("psa.p4"), bmv2);
    assert_eq!(bmv2.matches("pkt_len").count(), 0);
    assert_eq!(dpdk.matches("pkt_len").count(), 6);
    assert_eq!(dpdk.matches("PSA_MeterColor_t dpdk_execute (").count(), 4);
}

#[test]
fn a_program_with_headers_is_read_as_one() {
    let program =
        "#include <core.p4>\n#include <v1model.p4>\nV1Switch(P(), V(), I(), E(), C(), D()) main;";
    let (tokens, sources) =
        preprocess(Path::new("a.p4"), program, &Options::default()).expect("a program");
    assert_eq!(sources.files.len(), 3);
    let own: Vec<_> = tokens.iter().filter(|token| token.span.file == 0).collect();
    assert_eq!(own.len(), 29);
    assert!(own.iter().all(|token| token.span.line == 3));
    assert_eq!(tokens.iter().filter(|token| token.kind == TokenKind::End).count(), 1);
}

use super::helpers;

fn error(text: &str) -> String {
    helpers(text).expect_err("refused").to_string()
}

#[test]
fn helpers_are_named_with_a_reason() {
    let text = "[price.x]\ny = 1\n[helper.bpf_get_hash_recalc]\nreason = \"only reads\"\n";
    let found = helpers(text).expect("valid");
    assert_eq!(found.get("bpf_get_hash_recalc").map(String::as_str), Some("only reads"));
    assert!(helpers("[price.x]\ny = 1\n").expect("valid").is_empty());
}

#[test]
fn errors_name_the_line() {
    assert!(error("\n[helper.get_hash]\nreason = \"x\"\n").starts_with("--assume:2: "));
    assert!(error("[helper.bpf_redirect]\n").contains("`reason`"));
    assert!(error("[helper.bpf_redirect]\nreason = 3\n").contains("`reason`"));
    assert!(error("[helper.bpf_redirect]\nreason = \"x\"\ncost = 3\n").contains("has one key"));
    assert!(error("helper = 3\n").contains("must be a table"));
    assert!(error("[helper\n").starts_with("--assume:1: not TOML"));
}

//! Tests that `docs/reference/support.md` contains the current tables of supported instructions,
//! helpers and maps from the lifter.

use std::path::Path;

use slowpath_bpf::lift::support_matrix;

const PAGE: &str = "docs/reference/support.md";
const BEGIN: &str = "<!-- generated: make bless -->\n";
const END: &str = "<!-- end -->\n";

#[test]
fn the_support_matrix_is_documented() {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../..").join(PAGE);
    let page = std::fs::read_to_string(&path).unwrap_or_else(|e| panic!("{PAGE}: {e}"));
    let parts = page.split_once(BEGIN).and_then(|(before, rest)| {
        let (table, after) = rest.split_once(END)?;
        Some((before, table, after))
    });
    let (before, table, after) = parts.unwrap_or_else(|| panic!("{PAGE} lost its marks"));
    let expected = support_matrix();
    if std::env::var_os("SLOWPATH_BLESS").is_some() {
        let page = format!("{before}{BEGIN}{expected}{END}{after}");
        std::fs::write(&path, page).unwrap_or_else(|e| panic!("{PAGE}: {e}"));
    } else {
        assert!(table == expected, "{PAGE} is out of date: run `make bless`");
    }
}

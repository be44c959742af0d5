//! Tables of names in which numbers are places: each number is written down once, and what compares
//! with one looks it up when this crate is compiled.

/// The place of a name in a table.
///
/// # Panics
/// If it is not there: in constants, an error of compilation.
pub(crate) const fn position(table: &[&str], name: &str) -> usize {
    let mut index = 0;
    while index < table.len() {
        if same(table[index].as_bytes(), name.as_bytes()) {
            return index;
        }
        index += 1;
    }
    panic!("the table lacks this name")
}

/// Whether two texts are the same; `==` is not for constants.
const fn same(a: &[u8], b: &[u8]) -> bool {
    if a.len() != b.len() {
        return false;
    }
    let mut at = 0;
    while at < a.len() {
        if a[at] != b[at] {
            return false;
        }
        at += 1;
    }
    true
}

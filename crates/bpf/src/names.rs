//! Looks up names at compile time in tables in which the position of a name is its number. Code
//! that needs a number looks up the name, so each number is defined in one place only.

/// Returns the position of a name in a table.
///
/// # Panics
/// Panics if the table lacks the name; in a constant, this is a compile-time error.
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

/// Returns true if two byte strings are equal; `==` is not available in constants.
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

//! Names that loaders and the kernel take.

use std::collections::HashSet;

/// Names that are given away.
#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// A name that nobody has yet: the wanted one if it is free and valid, else one like it. The
    /// kernel takes letters, digits, `_` and `.` (`bpf_obj_name_cpy`).
    pub fn unique(&mut self, wanted: &str) -> String {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let mut base: String = wanted.chars().map(|c| if valid(c) { c } else { '_' }).collect();
        if base.is_empty() || base.starts_with(|c: char| c.is_ascii_digit()) {
            base.insert(0, '_');
        }
        let mut name = base.clone();
        let mut number = 2;
        while !self.taken.insert(name.clone()) {
            name = format!("{base}_{number}");
            number += 1;
        }
        name
    }
}

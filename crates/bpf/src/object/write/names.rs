//! Chooses names for functions and maps that loaders and the kernel accept.

use std::collections::HashSet;

#[derive(Debug, Default)]
pub(super) struct Names {
    taken: HashSet<String>,
}

impl Names {
    /// Returns an unused name: the requested one if it is unused and valid, otherwise a similar
    /// one. The kernel accepts letters, digits, `_` and `.` (`bpf_obj_name_cpy`).
    pub fn unique(&mut self, requested: &str) -> String {
        let valid = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '.';
        let mut base: String = requested.chars().map(|c| if valid(c) { c } else { '_' }).collect();
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

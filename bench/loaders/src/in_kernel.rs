//! Counts the programs and maps that this process holds in the kernel. Reads `/proc/self/fdinfo`,
//! so that the result does not depend on the loader.

use std::collections::BTreeMap;
use std::error::Error;

use libbpf_rs::query::ProgInfoIter;

/// BPF programs and maps that this process holds in the kernel.
pub struct InKernel {
    pub programs: usize,
    pub maps: usize,
    /// The kernel's hash (tag) of the requested program's instructions; empty if it is not loaded.
    pub tag: String,
    /// True if the requested program has BTF type information.
    pub types: bool,
}

impl InKernel {
    /// Finds the BPF objects that this process holds, and among them the program called `name`.
    pub fn of_this_process(name: &str) -> Result<InKernel, Box<dyn Error>> {
        let mut programs: BTreeMap<u32, String> = BTreeMap::new();
        let mut maps: BTreeMap<u32, ()> = BTreeMap::new();
        for entry in std::fs::read_dir("/proc/self/fdinfo")? {
            // The descriptor of the directory itself is closed by now.
            let Ok(text) = std::fs::read_to_string(entry?.path()) else { continue };
            if let Some(id) = field(&text, "prog_id") {
                programs
                    .insert(id.parse()?, field(&text, "prog_tag").unwrap_or_default().to_owned());
            } else if let Some(id) = field(&text, "map_id") {
                maps.insert(id.parse()?, ());
            }
        }
        let kept: String = name.chars().take(15).collect();
        let mut infos = ProgInfoIter::default().filter(|info| programs.contains_key(&info.id));
        let info = infos.find(|info| info.name.to_string_lossy() == kept.as_str());
        let tag = info.as_ref().and_then(|info| programs.get(&info.id)).cloned();
        Ok(InKernel {
            programs: programs.len(),
            maps: maps.len(),
            tag: tag.unwrap_or_default(),
            types: info.is_some_and(|info| info.btf_id != 0),
        })
    }
}

fn field<'t>(text: &'t str, name: &str) -> Option<&'t str> {
    let mut lines = text.lines().filter_map(|line| line.split_once(':'));
    lines.find(|(key, _)| *key == name).map(|(_, value)| value.trim())
}

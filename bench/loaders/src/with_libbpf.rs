//! The loader libbpf, through libbpf-rs. Programs in unknown sections get the type XDP, as with an
//! option of `bpftool prog load`. Messages about failures go to a callback.

use std::sync::Mutex;

use libbpf_rs::{ObjectBuilder, PrintLevel, ProgramType, set_print};
use slowpath_bpf::Object;

use crate::attempt::{Failure, LoadResult};
use crate::wanted::{DEFAULT_ENTRIES, Wanted, in_slots, unsized_maps};

static PRINTED: Mutex<String> = Mutex::new(String::new());

fn keep(_: PrintLevel, text: String) {
    if let Ok(mut printed) = PRINTED.lock() {
        printed.push_str(&text);
    }
}

/// Loads a program of an ELF object with libbpf.
pub fn load(data: &[u8], wanted: &Wanted) -> LoadResult {
    set_print(Some((PrintLevel::Warn, keep)));
    if let Ok(mut printed) = PRINTED.lock() {
        printed.clear();
    }
    open_and_load(data, wanted).map_err(|error| Failure {
        error,
        printed: PRINTED.lock().map_or_else(|_| String::new(), |printed| printed.clone()),
    })
}

fn open_and_load(data: &[u8], wanted: &Wanted) -> Result<Box<dyn std::any::Any>, String> {
    // The alternate format includes the causes.
    let text = |error: libbpf_rs::Error| format!("{error:#}");
    let ours = Object::parse(data).ok();
    let unsized_names: Vec<&str> = ours.iter().flat_map(unsized_maps).collect();
    let also = ours.as_ref().map(in_slots).unwrap_or_default();
    let mut object = ObjectBuilder::default().open_memory(data).map_err(text)?;
    let mut found = false;
    for mut program in object.progs_mut() {
        let this = Wanted {
            section: program.section().to_string_lossy().into_owned(),
            program: program.name().to_string_lossy().into_owned(),
        };
        found |= this == *wanted;
        program.set_autoload(this == *wanted || also.contains(&this));
        if program.prog_type() == ProgramType::Unspec {
            program.set_prog_type(ProgramType::Xdp);
        }
    }
    for mut map in object.maps_mut() {
        if unsized_names.contains(&map.name().to_string_lossy().as_ref()) {
            map.set_max_entries(DEFAULT_ENTRIES).map_err(text)?;
        }
    }
    if !found {
        return Err(format!("libbpf finds no program {}", wanted.program));
    }
    Ok(Box::new(object.load().map_err(text)?))
}

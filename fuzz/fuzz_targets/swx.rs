//! Fuzzes the parser of DPDK pipelines. Every text must give a fault, or a pipeline whose printed
//! form is parsed as the same pipeline. Translation and execution of the pipeline must end, with a
//! result or a fault.

#![no_main]

use libfuzzer_sys::fuzz_target;
use slowpath_swx::LiftOptions;
use slowpath_swx::interpret::{
    Found, Machine, Request, Source, World, default_action, default_data,
};
use slowpath_swx::spec::Spec;

/// A [`World`] whose tables have no entries.
struct Empty<'a>(&'a Spec);

impl World for Empty<'_> {
    fn lookup(&mut self, request: &Request<'_>) -> Found {
        let default = default_action(self.0, request.table);
        let data = default.and_then(|default| default_data(self.0, default).ok());
        let action = default.map_or_else(String::new, |default| default.name.clone());
        Found { hit: false, action, data: data.unwrap_or_default(), entry: 0 }
    }

    fn value(&mut self, _: Source<'_>, step: usize) -> u64 {
        step as u64
    }
}

fuzz_target!(|text: &str| {
    let Ok(pipeline) = slowpath_swx::parse(text) else { return };
    let printed = slowpath_swx::print(&pipeline);
    let again = slowpath_swx::parse(&printed).expect("a printed pipeline is read");
    assert_eq!(slowpath_swx::print(&again), printed);
    let options = LiftOptions { file: "fuzz.spec".into(), min_packet: 60, max_packet: 1514 };
    let _ = slowpath_swx::lift(&pipeline, "fuzz", &options);
    if slowpath_swx::resolve(&pipeline).is_ok()
        && let Ok(mut machine) = Machine::new(&pipeline, vec![0x5a; 1514])
    {
        let _ = machine.run(&mut Empty(&pipeline), 1000);
    }
});

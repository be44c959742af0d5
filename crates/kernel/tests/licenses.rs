//! Tests that slowpath and the running kernel agree, for each helper, if it needs a license that is
//! compatible with the GPL.

use crate::support;

use slowpath_bpf::insn::helper::helper_name;
use slowpath_bpf::insn::{Call, Insn};
use slowpath_bpf::license::{GPL_COMPATIBLE, GPL_ONLY, gpl_only_call};
use slowpath_oracle::Oracle;
use support::{features, isa, kernel};

#[test]
fn the_kernel_keeps_the_same_helpers_for_programs_under_the_gpl() {
    let Some(kernel) = kernel() else { return };
    let mut object = features();
    let linked = object.link(0, kernel.types()).expect("links");
    let mut loads = |license: &str, helper: i32| {
        let mut program = linked.clone();
        program.insns = vec![Insn::Call(Call::Helper(helper)), isa::mov(0, 2), Insn::Exit];
        program.lines = vec![None; 3];
        program.subprograms.truncate(1);
        program.kfuncs.clear();
        program.unresolved.clear();
        object.license = Some(license.to_owned());
        let refused =
            kernel.load_rewritten(&object, &program).err().map(|reason| reason.to_string());
        (gpl_only_call(&program).is_some(), refused.is_some_and(|reason| reason.contains("GPL")))
    };
    let mut helpers = 0;
    for helper in (1..).take_while(|&number| helper_name(number).is_some()) {
        let name = helper_name(helper).unwrap_or_default();
        let (needs, refused) = loads("Proprietary", helper);
        assert_eq!(refused, needs, "{name}");
        helpers += 1;
    }
    for license in GPL_COMPATIBLE {
        assert_eq!(loads(license, GPL_ONLY[0]), (true, false), "{license}");
    }
    for license in ["", "gpl", "GPLv2", "Dual BSD/GPL ", "MIT", "Apache-2.0"] {
        assert_eq!(loads(license, GPL_ONLY[0]), (true, true), "{license:?}");
    }
    Oracle::Kernel.compared(helpers, "helpers under other licences");
}

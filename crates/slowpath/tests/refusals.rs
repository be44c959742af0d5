//! Tests the one-line error messages of failed analyses, and the bounds of analyses that end early.

use crate::common;

use common::{analyse, listing, options};
use serde_json::Value;
use slowpath::{Options, ProgramFile};

/// Returns the listing of a loop whose number of iterations depends only on the packet's content.
fn endless() -> String {
    listing(&[
        "alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth",
        "mem[read32_swap, $xfer_0, gprA_2, 0x0, 1], ctx_swap[sig1]",
        "alu[gprA_4, --, B, $xfer_0], gpr_wrboth",
        "alu[--, gprA_4, AND, 0x1]",
        "bne[.1]",
        "br[.15000]",
    ])
}

fn error(data: &[u8], options: Options) -> String {
    let (result, _) = analyse(data, options);
    assert_eq!(result["guarantee"], Value::Null);
    assert_eq!(result["paths"], Value::Array(Vec::new()));
    let error = result["error"].as_str().expect("an error").to_owned();
    assert!(!error.contains('\n'), "one line: {error}");
    error
}

#[test]
fn an_empty_file_is_neither_object_nor_listing() {
    assert!(error(b"", options()).starts_with("the file is empty"));
}

#[test]
fn an_error_names_the_loop_and_the_option_that_bounds_it() {
    let error = error(endless().as_bytes(), options());
    assert!(error.starts_with("line 2: the loop at .1 "), "{error}");
    assert!(error.contains("--unroll N@.1"), "{error}");
}

#[test]
fn a_stated_loop_bound_is_an_assumption() {
    for limit in ["3", "3@.1", "3@1", "3@.4"] {
        let options = Options { unroll: vec![limit.into()], ..options() };
        let (result, _) = analyse(endless().as_bytes(), options);
        assert_eq!(result["error"], Value::Null, "{limit}");
        let assumptions = result["assumptions"].as_array().expect("a list");
        assert_eq!(assumptions.len(), 1, "{limit}: {assumptions:?}");
    }
}

#[test]
fn errors_of_options_name_valid_values() {
    let program = listing(&["br[.15000]"]);
    let with = |change: &dyn Fn(&mut Options)| {
        let mut options = options();
        change(&mut options);
        error(program.as_bytes(), options)
    };
    assert!(with(&|o| o.unroll = vec!["many".into()]).contains("10@.44"));
    assert!(with(&|o| o.unroll = vec!["3@.0".into()]).contains(".0 is not in a loop"));
    assert!(with(&|o| o.target = "abacus".into()).contains("agilio-cx-2x40"));
    assert!(with(&|o| o.cores = Some(51)).contains("1 to 50 cores"));
    assert!(with(&|o| o.mtu = Some(20)).contains("60 to 16383"));
    assert!(with(&|o| o.metric = Some("speed".into())).contains("bitrate or packetrate"));
}

#[test]
fn work_without_a_price_is_refused_or_assumed() {
    let program = listing(&[
        "alu[gprA_0, --, B, 0x0]",
        "alu[gprB_1, --, B, gprB_23]",
        "alu[$xfer_0, --, B, gprA_0]",
        "mem[write32_swap, $xfer_0, gprB_1, <<8, gprA_0, 1], ctx_swap[sig1]",
        "br[.15000]",
    ]);
    let refused = error(program.as_bytes(), options());
    assert!(refused.starts_with("line 4: instruction .3: "), "{refused}");
    assert!(refused.contains("mem.dram.write32.wait"), "{refused}");
    assert!(refused.contains("--assume"), "{refused}");
    let prices = "[price.\"mem.dram.write32.wait\"]\ndram = 5\nprocessing = 3\n";
    let with = |prices: &str| Options { assume: Some(prices.into()), ..options() };
    let (result, _) = analyse(program.as_bytes(), with(prices));
    assert_eq!(result["error"], Value::Null);
    assert_eq!(result["paths"][0]["cost"]["dram"], 5);
    assert_eq!(result["assumptions"].as_array().map(Vec::len), Some(2), "one a component");
    let misspelt = error(program.as_bytes(), with(&prices.replace("write32", "wriet32")));
    assert!(misspelt.contains("`mem.dram.wriet32.wait`, which the program does not use"));
    let (unaffected, _) = analyse(listing(&["br[.15000]"]).as_bytes(), with(prices));
    assert_eq!(unaffected["assumptions"].as_array().map(Vec::len), Some(0), "nothing was assumed");
}

#[test]
fn other_files_are_refused() {
    let elf = ProgramFile::read(b"\x7fELF\x02\x01\x01").expect_err("too short").to_string();
    assert!(elf.contains("ELF") && !elf.contains('\n'), "{elf}");
    for data in [&b""[..], b"\x00\x01\x02", b"hello\n"] {
        error(data, options());
    }
}

#[test]
fn an_analysis_without_time_has_a_structural_bound() {
    let program = listing(&["br[.15000]"]);
    let options = Options { deadline_seconds: Some(0.0), ..options() };
    let (result, _) = analyse(program.as_bytes(), options);
    assert_eq!(result["guarantee"]["verdict"], "bound", "{result}");
    assert_eq!(result["guarantee"]["stopped"], "deadline", "{result}");
}

#[test]
fn a_fast_path_that_cannot_be_analysed_does_not_change_the_guarantee() {
    let mut instructions = vec![
        "alu[gprA_2, --, B, *l$index1[2]], gpr_wrboth",
        "mem[read32_swap, $xfer_0, gprA_2, 0x0, 1], ctx_swap[sig1]",
        "alu[--, $xfer_0, AND, 0x1]",
        "bne[.65]",
    ];
    instructions.extend(["nop"; 60]);
    instructions.extend([
        "br[.15000]",
        "immed[gprA_6, 0x0]",
        "mem[read32_swap, $xfer_0, gprA_6, 0x0, 1], ctx_swap[sig1]",
        "alu[--, $xfer_0, AND, 0x1]",
        "bne[.69]",
        "br[.15000]",
    ]);
    let program = listing(&instructions);
    let (slowest, _) = analyse(program.as_bytes(), Options { cores: Some(5), ..options() });
    assert_eq!(slowest["error"], Value::Null);
    let (all, _) =
        analyse(program.as_bytes(), Options { cores: Some(5), paths: None, ..options() });
    assert_eq!(all["error"], Value::Null);
    assert_eq!(all["guarantee"]["bitrate_bps"], slowest["guarantee"]["bitrate_bps"]);
    let stopped = all["guarantee"]["stopped"].as_str().expect("not all paths were found");
    assert!(stopped.contains("instruction .66"), "{stopped}");
}

#[test]
fn memory_outside_of_all_regions_is_an_error_of_the_program() {
    let program = listing(&[
        "immed[gprB_1, 0x0]",
        "immed[gprA_0, 0x0]",
        "immed[gprA_21, 0x890]",
        "mem[add_imm, $xfer_0, gprB_1, <<8, gprA_0, 1], indirect_ref",
        "br[.15000]",
    ]);
    let error = error(program.as_bytes(), options());
    assert!(error.contains("instruction .3") && error.contains("no memory region"), "{error}");
    assert!(!error.contains("internal"), "{error}");
}

#[test]
fn a_witness_has_the_values_of_uninitialised_registers() {
    // Branches on an uninitialised register.
    let program = listing(&["alu[--, gprA_7, AND, 0x1]", "beq[.4]", "nop", "nop", "br[.15000]"]);
    let (result, _) = analyse(program.as_bytes(), options());
    assert_eq!(result["error"], Value::Null);
    let environment = &result["paths"][0]["witness"]["environment"];
    assert_eq!(environment[0]["name"], "gprA_7", "{environment}");
    assert!(environment[0]["value"].is_u64(), "{environment}");
    assert_eq!(result["assumptions"], Value::Array(Vec::new()));
}

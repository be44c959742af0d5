use super::names::NAMES;
use super::{Oracle, Required, summary};
use std::path::{Path, PathBuf};

/// Creates a folder for one test, with a file for each text in `reports`.
fn folder(test: &str, reports: &[&str]) -> PathBuf {
    let folder = std::env::temp_dir().join(format!("slowpath-{}-{test}", std::process::id()));
    std::fs::create_dir_all(&folder).expect("a temporary folder can be made");
    for (number, report) in reports.iter().enumerate() {
        let file = folder.join(format!("{number}.tsv"));
        std::fs::write(file, report).expect("a temporary file can be written");
    }
    folder
}

fn summarised(test: &str, reports: &[&str], required: &str) -> Result<String, String> {
    let folder = folder(test, reports);
    let result = summary(&folder, &Required::parse(required).expect("names of oracles"));
    std::fs::remove_dir_all(&folder).expect("the temporary folder can be removed");
    result
}

const REPORTS: [&str; 2] = [
    "kernel\tcompared\t1200\tpackets\nz3\tcompared\t7\tqueries\nclang\tmissing\tno `clang`\n",
    "kernel\tcompared\t34\tpackets\nkernel\tcompared\t3\tprograms\n",
];

#[test]
fn counts_are_added_up_and_reasons_shown() {
    let table = summarised("table", &REPORTS, "kernel, z3").expect("all are there");
    assert_eq!(
        table,
        "oracle        compared\n\
         kernel           1,234  packets\n\
         \x20                    3  programs\n\
         kernel-types         -  not asked\n\
         z3                   7  queries\n\
         proof                -  not asked\n\
         rate                 -  not asked\n\
         clang                -  not there: no `clang`\n\
         libbpf               -  not asked\n\
         disassembler         -  not asked\n\
         dpdk                 -  not asked\n\
         p4-samples           -  not asked\n\
         listings             -  not asked\n\
         objects              -  not asked\n\
         results              -  not asked\n\
         bluefield-2          -  not asked\n\
         insights             -  not asked\n"
    );
}

#[test]
fn missing_required_oracles_are_errors() {
    let errors = |test, reports: &[&str], required| {
        let error = summarised(test, reports, required).expect_err("one is missing");
        assert!(error.starts_with("oracle "), "{error}");
        error.lines().filter(|line| line.starts_with("error: ")).collect::<Vec<_>>().join("\n")
    };
    assert_eq!(
        errors("missing", &REPORTS, "kernel,clang,disassembler"),
        "error: SLOWPATH_REQUIRE has clang, and tests did without it\n\
         error: SLOWPATH_REQUIRE has disassembler, and nothing was compared with it"
    );
    let partly = "clang\tmissing\tno `clang`\nclang\tcompared\t1\tprograms\n";
    assert!(errors("partly", &[partly], "clang").contains("tests did without it"));
    assert!(errors("nothing", &[], "kernel").contains("nothing was compared with it"));
}

#[test]
fn invalid_records_are_errors() {
    for report in ["kernle\tcompared\t1\tpackets\n", "kernel\tcompared\t0\tpackets\n", "kernel\n"] {
        let error = summarised("broken", &[report], "").expect_err("it is no report");
        assert!(error.contains("0.tsv: ") && error.contains("is not what tests report"), "{error}");
    }
    assert!(summary(Path::new("/nothing/there"), &Required::default()).is_err());
}

#[test]
fn unknown_names_are_errors() {
    let fault = Required::parse("kernel,kernle").expect_err("a typing error");
    assert!(fault.starts_with("SLOWPATH_REQUIRE: no oracle is called \"kernle\"; "), "{fault}");
    assert!(NAMES.iter().all(|&(_, name)| fault.contains(name)), "{fault}");
    assert_eq!(Required::parse(" , "), Ok(Required::default()));
}

#[test]
fn names_are_those_of_oracles() {
    for (oracle, name) in NAMES {
        assert_eq!((Oracle::named(name), oracle.name()), (Some(oracle), name));
    }
}

#[test]
#[should_panic(expected = "kernel: no packets were compared")]
fn comparing_nothing_is_an_error() {
    Oracle::Kernel.compared(0, "packets");
}

//! Runs the samples of p4c that come with packets and expected packets (`.stf`), in the kernel and
//! as pipelines in DPDK. The variable `SLOWPATH_P4C` names the folder `testdata` of p4c.

use crate::support;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use slowpath_kernel::Kernel;
use slowpath_oracle::Oracle;
use support::clang::{Clang, clang};
use support::dpdk::{self, Pipeline};
use support::p4::{P4, Source};
use support::stf::{Expected, Stf};
use support::{hex, kernel};

/// Name of the environment variable that contains the folder.
const FOLDER: &str = "SLOWPATH_P4C";
/// Length in bytes of the shortest packet that test runs in the kernel accept (`ETH_HLEN`).
const SHORTEST: usize = 14;
/// Port at which all packets of test runs arrive: the interface index of the loopback device.
const LOOPBACK: u32 = 1;
/// Supported architectures: the file that a program includes, and the name of the architecture.
const ARCHITECTURES: [(&str, &str); 4] = [
    ("v1model.p4", "v1model"),
    ("psa.p4", "psa"),
    ("ebpf_model.p4", "ebpf_model"),
    ("xdp_model.p4", "xdp_model"),
];
/// Samples that are known to fail, each with the back end and the reason.
const KNOWN: [(&str, &str, &str); 9] = [
    ("checksum-l4-bmv2.stf", "kernel", "the verifier stops after a million instructions"),
    ("forloop-bmv2.stf", "kernel", "the verifier stops after a million instructions"),
    ("gauntlet_hdr_out_in_action-bmv2.stf", "kernel", "XDP sends at least 14 bytes"),
    ("hash-extern-bmv2.stf", "SWX", "p4c makes a constant of 12 bits two bytes of a hash"),
    ("lpm_ebpf.stf", "kernel", PREFIX),
    ("lpm_ebpf.stf", "SWX", PREFIX),
    ("issue1768-bmv2.stf", "SWX", TOO_SHORT),
    ("parser_error-bmv2.stf", "SWX", TOO_SHORT),
    ("test-parserinvalidargument-error-bmv2.stf", "SWX", TOO_SHORT),
];
/// Reason why the kernel does not send the expected packets of some samples.
const CHANGED: &str = "test runs have packets of at least 14 bytes, from one port";
/// Reason why `lpm_ebpf.stf` fails: its entry is for keys in little-endian byte order.
const PREFIX: &str = "the prefix is in the byte order of p4c's map";
/// Reason why some samples fail in DPDK: a documented condition of pipelines.
const TOO_SHORT: &str = "SWX does not check that a packet has the extracted bytes";

/// A sample whose architecture both translations support.
struct Sample {
    name: String,
    architecture: &'static str,
    source: Result<Source, String>,
    /// True if the program may depend on the port at which a packet arrives.
    reads_port: bool,
    stf: Stf,
}

/// Result of running a sample in one back end.
#[derive(Debug)]
enum Outcome {
    /// All packets are as expected. The field is the number of packets of the sample.
    Agree(usize),
    /// Reason why the sample could not be compiled or run.
    Left(String),
    /// Description of the first difference from the expected packets.
    Differ(String),
    /// The kernel and DPDK send the same packets, which are not the expected ones: both got longer
    /// packets, or packets from another port. The field is the number of packets.
    Same(usize),
    /// Like `Same`, but without comparison, because DPDK cannot run the program.
    Unchecked,
}

fn files(folder: &Path, found: &mut Vec<PathBuf>) {
    let entries = std::fs::read_dir(folder).unwrap_or_else(|e| panic!("{}: {e}", folder.display()));
    for path in entries.flatten().map(|entry| entry.path()) {
        if path.is_dir() {
            files(&path, found);
        } else if path.extension().is_some_and(|one| one == "stf") {
            found.push(path);
        }
    }
    found.sort();
}

/// Reads the sample of an `.stf` file in `folder`. Returns an error with the reason if the program
/// is missing or its architecture is not supported.
fn sample(path: &Path, folder: &Path) -> Result<Sample, String> {
    let file = path.with_extension("p4");
    let text = std::fs::read_to_string(&file).map_err(|_| "no program of this name".to_owned())?;
    let found = ARCHITECTURES.iter().find(|(include, _)| text.contains(include));
    let found = found.filter(|_| !text.contains("pna.p4"));
    let (_, architecture) = found.ok_or("another architecture")?;
    let stf = std::fs::read_to_string(path).map_err(|e| e.to_string())?;
    let own = file.parent().unwrap_or(folder).to_owned();
    Ok(Sample {
        name: path.strip_prefix(folder).unwrap_or(path).display().to_string(),
        architecture,
        source: Source::read(&file, &text, &[own]),
        reads_port: text.contains("ingress_port") || text.contains("input_port"),
        stf: Stf::read(&stf)?,
    })
}

/// The packet that a program sends, as its port and hexadecimal digits; `None` if it drops the
/// packet.
type Sent = Option<(u32, String)>;

/// Function that runs a packet, given by its port and bytes, and returns the packet that the
/// program sends.
type Run<'a> = dyn FnMut(u32, &[u8]) -> Result<Sent, String> + 'a;

/// Changes to the packets of a sample before a back end gets them.
#[derive(Clone, Copy)]
struct Given {
    /// Minimum packet length in bytes. Shorter packets are filled up with zeros.
    shortest: usize,
    /// Port at which all packets arrive; `None` to keep the ports of the sample.
    port: Option<u32>,
}

impl Given {
    /// Leaves the packets of the sample as they are.
    const UNCHANGED: Given = Given { shortest: 0, port: None };
    /// Makes packets acceptable to test runs in the kernel: at least 14 bytes, from the loopback
    /// device.
    const IN_KERNEL: Given = Given { shortest: SHORTEST, port: Some(LOOPBACK) };
    /// Extends packets to 64 bytes, so that they can be sent even after a program has removed
    /// headers.
    const LONG: Given = Given { shortest: 64, port: Some(LOOPBACK) };
}

/// Runs all packets of a sample, and returns the packet that the program sends for each.
fn send_all(sample: &Sample, given: Given, run: &mut Run) -> Result<Vec<Sent>, String> {
    let packets = sample.stf.packets.iter().map(|(port, packet)| {
        let mut whole = packet.clone();
        whole.resize(packet.len().max(given.shortest), 0);
        run(given.port.unwrap_or(*port), &whole)
    });
    packets.collect()
}

/// Compares the sent packets with the expected packets of a sample.
fn agree(sample: &Sample, given: Given, sent: &[Sent]) -> Outcome {
    let mut left: BTreeMap<u32, Vec<&Expected>> = BTreeMap::new();
    let has_ports = matches!(sample.architecture, "v1model" | "psa");
    let port_of = |port| if has_ports { port } else { 0 };
    for one in sample.stf.expected.iter().rev() {
        left.entry(port_of(one.port)).or_default().push(one);
    }
    for (number, ((_, packet), sent)) in sample.stf.packets.iter().zip(sent).enumerate() {
        let more = 2 * given.shortest.saturating_sub(packet.len());
        let Some((port, digits)) = sent else { continue };
        let Some(wanted) = left.get_mut(&port_of(*port)).and_then(Vec::pop) else {
            return Outcome::Differ(format!(
                "packet {number} {} sent to {port}: {digits}",
                hex(packet)
            ));
        };
        let has_length = match wanted.is_whole {
            true => digits.len() == wanted.digits.len() + more,
            false => digits.len() >= wanted.digits.len(),
        };
        let mut pairs = wanted.digits.chars().zip(digits.chars());
        if !has_length || !pairs.all(|(wanted, found)| wanted == '*' || wanted == found) {
            return Outcome::Differ(format!(
                "packet {number} {} to {port}: sent {digits}, wanted {}",
                hex(packet),
                wanted.digits
            ));
        }
    }
    match left.values().flatten().next() {
        Some(wanted) => Outcome::Differ(format!("not sent to {}: {}", wanted.port, wanted.digits)),
        None => Outcome::Agree(sample.stf.packets.len()),
    }
}

/// Returns the first line of an error message without the source position.
fn reason(fault: &str) -> String {
    let line = fault.lines().next().unwrap_or_default();
    line.split_once(": ").map_or(line, |one| one.1).to_owned()
}

/// Runs a sample in the kernel and compares the sent packets with the expected ones. The packets
/// may differ because test runs accept only packets of at least 14 bytes, from one port. In this
/// case, compares kernel and DPDK on packets that both accept.
fn in_kernel(kernel: &Kernel, clang: &Clang, sample: &Sample) -> Outcome {
    let outcome = match sent_in_kernel(kernel, clang, sample, Given::IN_KERNEL) {
        Ok(sent) => agree(sample, Given::IN_KERNEL, &sent),
        Err(outcome) => return outcome,
    };
    let is_short = sample.stf.packets.iter().any(|(_, one)| one.len() < SHORTEST);
    if !matches!(outcome, Outcome::Differ(_)) || !(is_short || sample.reads_port) {
        return outcome;
    }
    let sent = match sent_in_kernel(kernel, clang, sample, Given::LONG) {
        Ok(sent) => sent,
        Err(outcome) => return outcome,
    };
    match sent_in_swx(sample, Given::LONG) {
        Ok(others) if others == sent => Outcome::Same(sent.len()),
        Ok(others) => {
            let mut pairs = sent.iter().zip(&others).enumerate();
            let pair = pairs.find(|(_, (one, other))| one != other);
            Outcome::Differ(format!("kernel and SWX for a changed packet: {pair:?}"))
        }
        Err(_) => Outcome::Unchecked,
    }
}

fn sent_in_kernel(
    kernel: &Kernel,
    clang: &Clang,
    sample: &Sample,
    given: Given,
) -> Result<Vec<Sent>, Outcome> {
    let source = match &sample.source {
        Ok(source) => source,
        Err(fault) => return Err(Outcome::Left(reason(fault))),
    };
    for scratch in [false, true] {
        let output = match source.to_c(scratch) {
            Ok(output) => output,
            Err(fault) => return Err(Outcome::Left(reason(&fault))),
        };
        match P4::made(kernel, clang, output) {
            Ok(None) => {}
            Ok(Some(program)) => {
                let entries = sample.stf.entries_for(&program.layout.tables);
                if let Err(fault) = program.try_write(&entries) {
                    return Err(Outcome::Left(format!("entry: {fault}")));
                }
                let run =
                    |packet: &[u8]| program.run(packet).map(|(port, sent)| (port, hex(&sent)));
                return send_all(sample, given, &mut |_, packet| Ok(run(packet)))
                    .map_err(Outcome::Differ);
            }
            // In the scratch map, the verifier does not follow each combination of valid headers.
            Err(fault) if !scratch && fault.contains("too large") => {}
            Err(fault) => return Err(Outcome::Differ(fault.lines().take(3).collect())),
        }
    }
    Err(Outcome::Left("the stack of 512 bytes".to_owned()))
}

fn in_swx(sample: &Sample) -> Outcome {
    match sent_in_swx(sample, Given::UNCHANGED) {
        Ok(sent) => agree(sample, Given::UNCHANGED, &sent),
        Err(outcome) => outcome,
    }
}

fn sent_in_swx(sample: &Sample, given: Given) -> Result<Vec<Sent>, Outcome> {
    let source = match &sample.source {
        Ok(source) => source,
        Err(fault) => return Err(Outcome::Left(reason(fault))),
    };
    let mut made = match source.to_spec() {
        Ok(made) => made,
        Err(fault) => return Err(Outcome::Left(reason(&fault))),
    };
    let tables: Vec<_> = made.layout.tables.iter().map(|one| one.table.clone()).collect();
    let lines = match made.lines(&sample.stf.entries_for(&tables)) {
        Ok(lines) => lines,
        Err(fault) => return Err(Outcome::Left(format!("entry: {fault}"))),
    };
    let mut pipeline = match Pipeline::start(&made.spec) {
        Ok(pipeline) => pipeline,
        Err(fault) => return Err(Outcome::Differ(fault)),
    };
    for one in lines {
        let command = if one.is_default { "default" } else { "entry" };
        let command = format!("{command} {} {}", one.table, one.text);
        let answer = pipeline.ask(&command);
        if answer != "ok" {
            return Err(Outcome::Differ(format!("{command}: {answer}")));
        }
    }
    send_all(sample, given, &mut |port, packet| {
        let answer = pipeline.ask(&format!("packet {port} {}", hex(packet)));
        match answer.split_once(' ') {
            None if answer == "drop" => Ok(None),
            Some((port, digits)) if port != "error" => {
                Ok(Some((port.parse().map_err(|_| answer.clone())?, digits.to_owned())))
            }
            _ => Err(answer),
        }
    })
    .map_err(Outcome::Differ)
}

#[test]
fn samples_send_the_expected_packets() {
    let Some(folder) = std::env::var_os(FOLDER).map(PathBuf::from) else {
        Oracle::P4Samples.missing(format!("{FOLDER} names no folder testdata of p4c"));
        return;
    };
    let (Some(kernel), Some(clang), Some(_)) = (kernel(), clang(), dpdk::driver()) else { return };
    let mut found = Vec::new();
    files(&folder, &mut found);
    let (mut packets, mut same, mut faults) = (0, 0, Vec::new());
    // Samples by architecture, back end and result.
    let mut table: BTreeMap<(String, &str, String), Vec<String>> = BTreeMap::new();
    let mut counts: BTreeMap<(&str, &str), [usize; 4]> = BTreeMap::new();
    for path in &found {
        let sample = match sample(path, &folder) {
            Ok(sample) => sample,
            Err(reason) => {
                let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
                table.entry(("-".to_owned(), "-", reason)).or_default().push(name);
                continue;
            }
        };
        for (back_end, outcome) in
            [("kernel", in_kernel(&kernel, &clang, &sample)), ("SWX", in_swx(&sample))]
        {
            let count = counts.entry((sample.architecture, back_end)).or_default();
            count[0] += 1;
            let known = KNOWN.iter().find(|one| sample.name.ends_with(one.0) && one.1 == back_end);
            let result = match (outcome, known) {
                (Outcome::Left(reason), None) => reason,
                (_, _) if sample.stf.unknown.is_some() => {
                    format!("command {} of the test", sample.stf.unknown.as_deref().unwrap_or(""))
                }
                (Outcome::Agree(more), None) => {
                    count[1] += 1;
                    count[2] += 1;
                    count[3] += more;
                    packets += more;
                    continue;
                }
                (Outcome::Differ(_), Some((_, _, reason))) => {
                    count[1] += 1;
                    format!("differs: {reason}")
                }
                (Outcome::Same(more), None) => {
                    count[1] += 1;
                    same += more;
                    format!("{CHANGED}; DPDK sends the same")
                }
                (Outcome::Unchecked, None) => {
                    count[1] += 1;
                    format!("{CHANGED}; DPDK cannot run the program")
                }
                (Outcome::Differ(fault), None) => {
                    count[1] += 1;
                    faults.push(format!("{} in {back_end}: {fault}", sample.name));
                    format!("differs: {fault}")
                }
                (other, Some(_)) => {
                    faults.push(format!("{} in {back_end}: known, but {other:?}", sample.name));
                    continue;
                }
            };
            let key = (sample.architecture.to_owned(), back_end, result);
            table.entry(key).or_default().push(sample.name.clone());
        }
    }
    eprintln!("{} files; architecture, back end: samples, compiled, agree, packets", found.len());
    for ((architecture, back_end), [all, compiled, agree, packets]) in &counts {
        eprintln!("{architecture}, {back_end}: {all}, {compiled}, {agree}, {packets}");
    }
    for ((architecture, back_end, reason), names) in &table {
        eprintln!("{architecture} | {back_end} | {} | {reason} | {}", names.len(), names.join(" "));
    }
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    Oracle::Dpdk.compared(same, "packets that test runs changed");
    Oracle::P4Samples.compared(packets, "packets of p4c's samples");
}

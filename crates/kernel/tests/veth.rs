//! Tests upper bounds on instructions that hold for a network device. Random programs whose work
//! depends on the layout of the packet in memory run on virtual Ethernet, in the driver and in
//! generic code. Their packets come from sending processes and from redirects. No run may execute
//! more instructions than the bound for any device, or than the bound for the device that is used.

use crate::support;

use std::fmt::Write;
use std::thread::sleep;
use std::time::Duration;

use rand::rngs::StdRng;
use rand::{RngExt, SeedableRng};
use serde_json::Value;
use slowpath::Options;
use slowpath_bpf::Object;
use slowpath_kernel::{CountingProgram, FrameSocket, Kernel, Mode, Namespace, RunError};
use slowpath_oracle::Oracle;
use support::bounds::analyse_with;
use support::clang::{Clang, PRELUDE, clang};
use support::kernel;

/// Number of random programs. The environment variable `SLOWPATH_VETH_PROGRAMS` overrides it.
const PROGRAMS: u64 = 12;
/// Number of frames for each program, for each XDP mode and each way in which frames reach the
/// device.
const FRAMES: usize = 6;
/// Frame lengths in bytes that are chosen often. All other lengths are random.
const LENGTHS: [usize; 9] = [14, 15, 59, 60, 61, 64, 341, 1001, 1514];
/// Maximum number of times that the program's instruction counter is read after a frame was sent.
/// If the counter does not change, the frame is lost. Reads are a tenth of a millisecond apart.
const LOOKS: u32 = 300;

const HEAD: &str = r#"
static long (*adjust_head)(struct xdp_md *, int) = (void *)44;
static long (*adjust_meta)(struct xdp_md *, int) = (void *)54;
static long (*adjust_tail)(struct xdp_md *, int) = (void *)65;
#define DATA ((u8 *)(long)ctx->data)
#define END ((u8 *)(long)ctx->data_end)
#define META ((u8 *)(long)ctx->data_meta)
SEC("xdp") int program(struct xdp_md *ctx)
{
	u64 x = 1;
"#;

/// C source of a program that redirects frames to the device under test. A map states by how many
/// bytes it first moves the start of the frame and of its metadata.
const REDIRECT: &str = r#"
typedef unsigned int u32;
#define SEC(name) __attribute__((section(name), used))
static void *(*lookup)(void *, const void *) = (void *)1;
static long (*redirect)(u32, unsigned long long) = (void *)23;
static long (*adjust_head)(void *, int) = (void *)44;
static long (*adjust_meta)(void *, int) = (void *)54;
struct way { int head, meta; u32 to; };
struct { int (*type)[2]; int (*max_entries)[1]; u32 *key; struct way *value; } ways SEC(".maps");
char _license[] SEC("license") = "GPL";
SEC("xdp") int sender(void *ctx)
{
	u32 key = 0;
	struct way *way = lookup(&ways, &key);
	if (!way)
		return 1;
	adjust_head(ctx, way->head);
	adjust_meta(ctx, way->meta);
	return redirect(way->to, 0);
}
"#;

/// Returns the C source of a random program whose amount of work depends on the layout of the
/// packet.
fn program(rng: &mut StdRng) -> String {
    let mut text = format!("{PRELUDE}{HEAD}");
    for _ in 0..rng.random_range(2..7) {
        let (some, other) = (rng.random_range(1..12), rng.random_range(0..6));
        let near = |rng: &mut StdRng, max: i32| rng.random_range(-max..=max);
        let at = match rng.random_range(0..3) {
            0 => LENGTHS[rng.random_range(0..LENGTHS.len())],
            _ => rng.random_range(0..2000),
        };
        let question = match rng.random_range(0..8) {
            0 => format!("adjust_head(ctx, {})", near(rng, 300)),
            1 => format!("adjust_tail(ctx, {})", near(rng, 400)),
            2 => format!("adjust_tail(ctx, {})", near(rng, 4000)),
            3 => format!("adjust_meta(ctx, {})", 4 * near(rng, 16) + rng.random_range(0..4) / 3),
            4 => "META + 4 <= DATA".to_owned(),
            5 => format!("DATA + {at} + 1 <= END && DATA[{at}] & {}", rng.random_range(1..256)),
            6 => format!("DATA + {at} <= END"),
            _ => format!("(END - DATA) & {}", rng.random_range(1..8)),
        };
        let _ = writeln!(text, "\tif ({question}) WORK({some}); else WORK({other});");
    }
    text + "\treturn 1;\n}\n"
}

/// Virtual Ethernet devices that send frames to the device with the tested programs.
struct Devices {
    namespace: Namespace,
    near: slowpath_kernel::Device,
    direct: FrameSocket,
    redirected: FrameSocket,
    // Keeps the sender attached.
    _link: slowpath_kernel::Link,
    sender: slowpath_kernel::LoadedProgram,
    far: u32,
}

impl Devices {
    fn new(kernel: &Kernel, clang: &Clang, mtu: u32) -> Devices {
        let namespace = Namespace::new().unwrap_or_else(|e| panic!("{e}"));
        let pair = |names| namespace.create_pair(names).unwrap_or_else(|e| panic!("{e}"));
        let [near, far] = pair(["near", "far"]);
        let [second, from] = pair(["second", "from"]);
        for device in [near, far] {
            namespace.set_mtu(device, mtu).unwrap_or_else(|e| panic!("{e}"));
        }
        let data = clang.compile(REDIRECT).unwrap_or_else(|e| panic!("{e}"));
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("{e}"));
        let sender = kernel.load(&object, 0).unwrap_or_else(|e| panic!("{e}"));
        let link = sender.attach(&namespace, second, Mode::Native);
        let socket = |device| namespace.frame_socket(device).unwrap_or_else(|e| panic!("{e}"));
        Devices {
            near,
            direct: socket(far),
            redirected: socket(from),
            _link: link.unwrap_or_else(|e| panic!("{e}")),
            sender,
            far: far.index(),
            namespace,
        }
    }

    /// Sets by how many bytes the redirecting program moves the start of the frame and of its
    /// metadata.
    fn set_offsets(&self, head: i32, meta: i32) {
        let mut offsets = [head.to_ne_bytes(), meta.to_ne_bytes()].concat();
        offsets.extend(self.far.to_ne_bytes());
        let map = self.sender.map("ways").unwrap_or_else(|| panic!("no map"));
        map.update(&0u32.to_ne_bytes(), &offsets).unwrap_or_else(|e| panic!("{e}"));
    }
}

/// Sends a frame, and returns the number of instructions that the program executes for it. Returns
/// `None` if the frame does not arrive.
fn executed(counted: &CountingProgram, socket: &FrameSocket, frame: &[u8]) -> Option<u64> {
    let count = |loaded: &slowpath_kernel::LoadedProgram| {
        let bytes = loaded.map("slowpath.count")?.lookup(&0u32.to_ne_bytes()).ok()??;
        Some(u64::from_ne_bytes(bytes.try_into().ok()?))
    };
    let run = counted.tally(|loaded| {
        socket.send(frame).unwrap_or_else(|e| panic!("{} bytes: {e}", frame.len()));
        // The run may still be in progress on another CPU.
        let mut last = count(loaded);
        for _ in 0..LOOKS {
            if last.is_some_and(|count| count > 0) && last == count(loaded) {
                break;
            }
            sleep(Duration::from_micros(100));
            last = count(loaded);
        }
        Ok::<(), RunError>(())
    });
    let (_, tally) = run.unwrap_or_else(|e| panic!("{e}"));
    (tally.instructions > 0).then_some(tally.instructions)
}

fn bound(data: &[u8], receive: Option<&str>) -> u64 {
    let options = Options { receive: receive.map(str::to_owned), ..Options::default() };
    let result: Value = analyse_with(data, options);
    let bound = result["guarantee"]["counts"]["instructions"].as_u64();
    bound.unwrap_or_else(|| panic!("no bound: {}", result["error"]))
}

#[derive(Default)]
struct Totals {
    arrived: usize,
    lost: usize,
    /// Number of instruction bounds, computed for the device and XDP mode in use, that some frame
    /// reached exactly.
    reached: usize,
    /// Number of instruction bounds that some frame exceeded. These bounds are for devices with a
    /// separate memory page for each frame; devices that place frames differently may exceed them.
    beyond: usize,
}

/// Sends frames through a program on a device. Compares the instruction counts of the frames with
/// three bounds: for any device, for this device, and for devices that put each frame into a page
/// of its own.
fn check(
    (kernel, devices): (&Kernel, &Devices),
    (text, object): (&str, &Object),
    (mode, bounds): (Mode, [u64; 3]),
    rng: &mut StdRng,
    totals: &mut Totals,
) -> Result<(), String> {
    let counted = kernel.load_counted(object, 0).map_err(|e| e.to_string())?;
    let link = counted.loaded().attach(&devices.namespace, devices.near, mode);
    let _link = link.map_err(|e| e.to_string())?;
    let mut max = 0;
    let longest = if mode == Mode::Generic { 9014 } else { 1514 };
    for number in 0..2 * FRAMES {
        let redirected = number >= FRAMES && mode == Mode::Native;
        let length = match rng.random_range(0..3) {
            0 => LENGTHS[rng.random_range(0..LENGTHS.len())],
            1 => rng.random_range(14..=longest),
            _ => rng.random_range(14..=200),
        };
        let mut frame = vec![0; if redirected { length.min(1514) } else { length }];
        rng.fill(&mut frame[..]);
        let offsets = (rng.random_range(-200..=200), 4 * rng.random_range(-16..=0));
        if redirected {
            devices.set_offsets(offsets.0, offsets.1);
        }
        let socket = if redirected { &devices.redirected } else { &devices.direct };
        let Some(count) = executed(&counted, socket, &frame) else {
            totals.lost += 1;
            continue;
        };
        totals.arrived += 1;
        max = max.max(count);
        if count > bounds[0].min(bounds[1]) {
            let behind = if redirected { format!(" behind {offsets:?}") } else { String::new() };
            return Err(format!(
                "{count} instructions of {length} bytes{behind}, {mode:?}, bounds {bounds:?}\n{text}"
            ));
        }
    }
    totals.reached += usize::from(max == bounds[1]);
    totals.beyond += usize::from(max > bounds[2]);
    Ok(())
}

#[test]
fn no_device_makes_a_program_slower_than_its_bound() {
    let (Some(kernel), Some(clang)) = (kernel(), clang()) else { return };
    let programs = std::env::var("SLOWPATH_VETH_PROGRAMS").ok().and_then(|n| n.parse().ok());
    let programs: u64 = programs.unwrap_or(PROGRAMS);
    let native = Devices::new(&kernel, &clang, 1500);
    let generic = Devices::new(&kernel, &clang, 9000);
    let (mut totals, mut faults) = (Totals::default(), Vec::new());
    for seed in 0..programs {
        let mut rng = StdRng::seed_from_u64(seed);
        let text = program(&mut rng);
        let data = clang.compile(&text).unwrap_or_else(|e| panic!("{e}\n{text}"));
        let object = Object::parse(&data).unwrap_or_else(|e| panic!("{e}"));
        let (any, page) = (bound(&data, None), bound(&data, Some("native-page")));
        for (devices, mode, name) in
            [(&native, Mode::Native, "veth"), (&generic, Mode::Generic, "generic")]
        {
            let bounds = [any, bound(&data, Some(name)), page];
            let subject = (text.as_str(), &object);
            let done = check((&kernel, devices), subject, (mode, bounds), &mut rng, &mut totals);
            faults.extend(done.err().map(|fault| format!("program {seed}: {fault}")));
        }
    }
    let Totals { arrived, lost, reached, beyond } = totals;
    eprintln!(
        "{arrived} frames arrived, {lost} did not; of {} bounds, {reached} were reached; {beyond} \
         programs took more than their bound for a page",
        2 * programs
    );
    assert!(faults.is_empty(), "{}", faults.join("\n"));
    // The bound for a page does not cover these devices: some programs exceed it.
    assert!(beyond > 0 && reached > 0, "{beyond} beyond, {reached} reached");
    assert!(arrived > 4 * lost, "{lost} frames lost, {arrived} arrived");
    Oracle::Kernel.compared(arrived, "frames on virtual Ethernet through random programs");
}

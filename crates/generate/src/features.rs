//! Defines the optional features of generated programs.

/// Instructions and helpers that generated programs may use, and limits on the programs' size.
///
/// The default features are those that the SmartNIC's driver offloads and that programs on the host
/// can use as well. They do not include the selection of a receive queue, which only the SmartNIC
/// offers. Arithmetic, jumps and packet access are always enabled.
#[derive(Clone, Debug)]
pub struct Features {
    /// 64-bit arithmetic and comparisons. If this is false, programs use only 32-bit operations and
    /// 64-bit moves.
    pub wide: bool,
    /// Multiplications, whose factors are below 2^32.
    pub multiply: bool,
    /// Divisions by constants, whose dividends are below 2^32.
    pub divide: bool,
    /// Shifts whose amount is in a register.
    pub variable_shifts: bool,
    /// Byte swaps to big-endian.
    pub swaps: bool,
    /// Conversions to little-endian, which truncate; the SmartNIC's driver rejects them.
    pub little_endian: bool,
    /// 32-bit comparisons.
    pub jump32: bool,
    /// Operands of multiplications, divisions and shifts whose range is bounded by a preceding
    /// branch instead of a mask.
    pub refined_ranges: bool,
    /// Stores to the packet.
    pub packet_writes: bool,
    /// Stores of constants, which the SmartNIC's driver rejects. If this is false, programs store
    /// constants from registers.
    pub store_constants: bool,
    /// Packet accesses at variable offsets.
    pub variable_offsets: bool,
    /// Copies of many bytes within the packet.
    pub copies: bool,
    /// Copies whose source and destination overlap.
    pub overlapping_copies: bool,
    /// Stack accesses, including spilled pointers.
    pub stack: bool,
    /// Loops with a constant number of iterations.
    pub loops: bool,
    /// Look-ups in an array map, and loads from its elements.
    pub maps: bool,
    /// Look-ups with keys that may be out of range, so that they may find no element.
    pub missing_elements: bool,
    /// Atomic additions to map elements; requires `maps`.
    pub atomics: bool,
    /// Calls of `bpf_xdp_adjust_head` and `bpf_xdp_adjust_tail`.
    pub helpers: bool,
    /// Calls of `bpf_get_prandom_u32`. A program that makes such calls may behave differently for
    /// the same input.
    pub random: bool,
    /// Calls of the program's own functions.
    pub calls: bool,
    /// Results that are any computed value. If this is false, constant results are 0 to 4, and
    /// computed results 0 to 3.
    pub any_result: bool,
    /// Size of the stack frame in bytes, a multiple of 8, at most 384.
    pub stack_depth: u16,
    /// Maximum distance in bytes from the packet's start up to which programs access the packet, at
    /// most 1500.
    pub packet_reach: u16,
    /// Maximum length of the program in slots, including called functions.
    pub max_slots: usize,
    /// Maximum number of paths through the program, counted as if all conditions were independent.
    pub max_paths: u64,
}

impl Default for Features {
    fn default() -> Self {
        Features {
            wide: true,
            multiply: true,
            divide: true,
            variable_shifts: true,
            swaps: true,
            little_endian: false,
            jump32: true,
            refined_ranges: true,
            packet_writes: true,
            store_constants: false,
            variable_offsets: true,
            copies: true,
            overlapping_copies: true,
            stack: true,
            loops: true,
            maps: true,
            missing_elements: true,
            atomics: true,
            helpers: true,
            random: false,
            calls: true,
            any_result: true,
            stack_depth: 160,
            packet_reach: 96,
            max_slots: 120,
            max_paths: 512,
        }
    }
}

impl Features {
    /// Returns the features of simple programs: straight-line code and branches on packet bytes,
    /// without stack, maps, helpers, calls and loops.
    pub fn plain() -> Self {
        Features {
            stack: false,
            loops: false,
            maps: false,
            atomics: false,
            helpers: false,
            calls: false,
            ..Features::default()
        }
    }

    /// Returns features that are all enabled, including those that the SmartNIC's driver rejects.
    pub fn all() -> Self {
        Features { little_endian: true, random: true, store_constants: true, ..Features::default() }
    }
}

//! What programs may contain.

/// Which parts of the subset programs use, and how large they get.
///
/// The default is what the SmartNIC's driver offloads, as far as a program that is not offloaded
/// may do it too: no queue selection. Arithmetic, jumps and packet access are always there.
#[derive(Clone, Debug)]
pub struct Features {
    /// 64-bit arithmetic and comparisons; without, only 32-bit ones, and 64-bit moves.
    pub wide: bool,
    /// Multiplication, of factors below 2^32.
    pub multiply: bool,
    /// Division by constants, of dividends below 2^32.
    pub divide: bool,
    /// Shifts by a register.
    pub variable_shifts: bool,
    /// Byte swaps to big-endian.
    pub swaps: bool,
    /// "Swaps" to little-endian, which truncate; the driver does not take them.
    pub little_endian: bool,
    /// 32-bit comparisons.
    pub jump32: bool,
    /// Operands of multiplications, divisions and shifts need no mask where their range follows
    /// from a branch.
    pub refined_ranges: bool,
    /// Stores to the packet.
    pub packet_writes: bool,
    /// Stores of constants; else they are stored from registers. The driver does not take them.
    pub store_constants: bool,
    /// Packet accesses at variable offsets.
    pub variable_offsets: bool,
    /// Copies from packet to packet of many bytes.
    pub copies: bool,
    /// Copies whose source and destination overlap.
    pub overlapping_copies: bool,
    /// Access to the stack, spilled pointers included.
    pub stack: bool,
    /// Loops with a constant number of rounds.
    pub loops: bool,
    /// Look-ups in an array map, and loads from its elements.
    pub maps: bool,
    /// Look-ups of elements that the map does not have.
    pub missing_elements: bool,
    /// Atomic adds to map elements; needs `maps`.
    pub atomics: bool,
    /// `bpf_xdp_adjust_head` and `bpf_xdp_adjust_tail`.
    pub helpers: bool,
    /// `bpf_get_prandom_u32`: what the program does is then not determined by its input.
    pub random: bool,
    /// Functions of the program.
    pub calls: bool,
    /// Results that are any computed value; else they are 0 to 4, computed ones 0 to 3.
    pub any_result: bool,
    /// Depth of the program's stack in bytes, a multiple of 8, at most 384.
    pub stack_depth: u16,
    /// Largest offset behind the packet's start that is checked, in bytes, at most 1500.
    pub packet_reach: u16,
    /// Most instructions of the program, in slots, functions included.
    pub max_slots: usize,
    /// Most paths through the program, as if all conditions were independent.
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
    /// Straight code and branches over the packet only: no stack, maps, helpers, calls and loops.
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

    /// Everything, with what the driver does not take.
    pub fn all() -> Self {
        Features { little_endian: true, random: true, store_constants: true, ..Features::default() }
    }
}

//! Codes of errors, refusals, warnings and findings. A code stands for one cause with one remedy.
//! It keeps its number forever, so that users can search for it and scripts can compare with it.
//!
//! The file `codes.toml` beside this crate is the registry: it has the texts of all codes. This
//! crate has the constants of those codes that Rust code reports.

use std::fmt;

/// The code of a cause. `Display` prints the code in the form in which users see it: `SP0301`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Code(u16);

impl Code {
    /// Returns the number of the code.
    pub const fn number(self) -> u16 {
        self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SP{:04}", self.0)
    }
}

/// Declares a constant for each code, and a list of all codes for the test that compares them with
/// the registry `codes.toml`.
macro_rules! codes {
    ($($name:ident = $number:literal,)*) => {
        $(
            #[doc = concat!("The code `", stringify!($name), "` of the registry.")]
            pub const $name: Code = Code($number);
        )*

        #[cfg(test)]
        const ALL: &[(&str, u16)] = &[$((stringify!($name), $number)),*];
    };
}

codes! {
    INVALID_VALUE = 101,
    OPTION_WITHOUT_EFFECT = 108,
    NO_SUCH_FILE = 201,
    IS_A_DIRECTORY = 202,
    FILE_UNREADABLE = 203,
    FILE_EMPTY = 207,
    UNKNOWN_FILE_TYPE = 208,
    NOT_A_BPF_OBJECT = 209,
    DAMAGED_OBJECT = 210,
    UNRESOLVED_INSTRUCTION = 211,
    BAD_MAP_DEFINITION = 212,
    BAD_BTF = 213,
    NO_SUCH_PROGRAM = 214,
    OBJECT_WITHOUT_PROGRAMS = 215,
    LISTING_EMPTY = 230,
    LISTING_SYNTAX = 231,
    LISTING_NUMBERING = 232,
    LISTING_UNKNOWN_WORD = 233,
    LISTING_NUMBER_RANGE = 234,
    LISTING_TOO_LARGE = 235,
    LISTING_NOT_TEXT = 236,
    NOT_A_CAPTURE = 240,
    CAPTURE_DAMAGED = 241,
    CAPTURE_NOT_ETHERNET = 242,
    MAPS_FILE_INVALID = 270,
    MAPS_DO_NOT_FIT = 271,
    P4_SYNTAX = 280,
    P4_PREPROCESSOR = 281,
    P4_INCLUDE_NOT_FOUND = 282,
    P4_TYPE = 283,
    P4_NAME = 284,
    P4_UNSUPPORTED = 285,
    P4_ENTRY = 286,
    P4_OVERFLOW = 289,
    SWX_SYNTAX = 290,
    SWX_NEWER = 291,
    SWX_NAME = 292,
    SWX_UNSUPPORTED = 293,
    UNKNOWN_HELPER = 301,
    UNKNOWN_KERNEL_FUNCTION = 302,
    UNSUPPORTED_MAP_USE = 303,
    UNSUPPORTED_MAP_TYPE = 304,
    UNSUPPORTED_ARGUMENT_SIZE = 305,
    REJECTED_BY_VERIFIER = 306,
    UNSUPPORTED_INSTRUCTION = 307,
    UNSUPPORTED_PROGRAM_TYPE = 308,
    MAP_DIFFERS_BETWEEN_PATHS = 309,
    INNER_MAP_UNDEFINED = 310,
    TOO_MANY_STATES = 311,
    UNKNOWN_MEMORY = 312,
    REGISTER_NOT_WRITTEN = 313,
    IRREDUCIBLE_LOOP = 314,
    UNRESOLVED_TYPE = 315,
    LOOP_UPDATES_ITS_MAP = 316,
    HARMFUL_ASSUMPTION = 317,
    LISTING_CONTROL_FLOW = 320,
    LISTING_UNSUPPORTED = 321,
    LISTING_UNDEFINED_VALUE = 322,
    LISTING_MULTIPLICATION = 323,
    LISTING_CALLS = 324,
    UNKNOWN_TARGET = 401,
    TARGET_FILE_INVALID = 402,
    NO_PRICE = 403,
    WRONG_CORE_COUNT = 404,
    TARGET_WITHOUT_TIMES = 405,
    UNKNOWN_METRIC = 406,
    ASSUMPTION_INVALID = 407,
    WRONG_TARGET_FOR_PROGRAM = 408,
    PACKET_LENGTHS = 409,
    UNBOUNDED_LOOP = 501,
    LOOP_TOO_LARGE = 502,
    NO_LOOP_THERE = 503,
    PROGRAM_TOO_LARGE = 504,
    STOPPED_AT_DEADLINE = 505,
    STOPPED_AT_MEMORY_LIMIT = 506,
    INTERRUPTED = 507,
    NO_PACKET_ENDS = 508,
    CERTIFICATE_REFUSED = 510,
    NO_CERTIFICATE = 511,
    CERTIFICATE_UNREADABLE = 512,
    CARD_HELPER = 602,
    CARD_MAP = 603,
    CARD_ARITHMETIC = 604,
    CARD_CONTEXT_FIELD = 605,
    CARD_STACK = 606,
    CARD_POINTER = 607,
    CARD_MAP_ACCESS = 608,
    CARD_INSTRUCTION = 609,
    CARD_TOO_LARGE = 610,
    CARD_GLOBAL_DATA = 611,
    CARD_CALLS = 612,
    CARD_NOT_UNDERSTOOD = 613,
    NOT_VERIFIABLE = 614,
    CHAIN_INVALID = 701,
    CHAIN_OBJECTS_UNFIT = 702,
    CHAIN_MEMBER_LISTING = 703,
    INVALID_FACTS = 704,
    FACTS_NOT_FOUND = 705,
    NOT_REWRITABLE = 706,
    NOT_FUSABLE = 707,
    NO_PACKETS_ARRIVE = 708,
    KERNEL_UNAVAILABLE = 801,
    KERNEL_REJECTS_PROGRAM = 802,
    KERNEL_LACKS_FUNCTION = 803,
    KERNEL_REFUSES_MAP = 804,
    PACKET_NOT_RUNNABLE = 805,
    DEVICE_UNAVAILABLE = 806,
    SYSTEM_RESOURCES = 807,
    PATH_NOT_TAKEN = 808,
    PATH_NOT_REPEATABLE = 809,
    NOT_MEASURABLE_LIVE = 810,
    MODEL_AND_KERNEL_DIFFER = 812,
    REPLAY_UNDECIDED = 813,
    CPU_NOT_ALLOWED = 814,
    MAPS_DO_NOT_FIT_KERNEL = 815,
    LISTING_IN_KERNEL = 816,
    COLD_NOT_POSSIBLE = 818,
    LIVE_NOT_SUPPORTED = 821,
    NOT_RESTORABLE = 822,
    FUNCTION_NOT_RUNNABLE = 1012,
    MACHINE_UNSUITABLE = 1207,
    INTERNAL_ERROR = 9901,
    WITNESS_DOES_NOT_REPLAY = 9902,
    SOLVER_CONTRADICTION = 9903,
}

#[cfg(test)]
mod tests {
    use super::{ALL, UNKNOWN_HELPER};
    use std::collections::BTreeMap;

    fn registry() -> BTreeMap<String, i64> {
        let document: toml::Table = include_str!("../codes.toml").parse().expect("valid TOML");
        let codes = document["code"].as_array().expect("a list").iter();
        codes
            .map(|code| {
                let name = code["name"].as_str().expect("a text");
                let number = code["number"].as_integer().expect("a number");
                (name.to_uppercase().replace('-', "_"), number)
            })
            .collect()
    }

    #[test]
    fn constants_are_those_of_the_registry() {
        let registry = registry();
        for (name, number) in ALL {
            assert_eq!(registry.get(*name), Some(&i64::from(*number)), "{name}");
        }
    }

    #[test]
    fn codes_are_printed_with_four_digits() {
        assert_eq!(UNKNOWN_HELPER.to_string(), "SP0301");
    }
}

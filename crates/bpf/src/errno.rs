//! Names error numbers, and defines constants for those that helpers return. Source:
//! `uapi/asm-generic/errno-base.h` and `errno.h` of the kernel. All architectures that run BPF on
//! network cards and hosts share these numbers, except MIPS, PA-RISC and SPARC.

use crate::names::position;

/// Returns the name of an error number, such as `E2BIG`; `None` for an unknown number.
pub fn errno_name(number: u64) -> Option<&'static str> {
    if number == ENOTSUPP as u64 {
        return Some("ENOTSUPP");
    }
    let index = usize::try_from(number.checked_sub(1)?).ok()?;
    NAMES.get(index).copied().filter(|name| !name.is_empty())
}

/// The only kernel-internal error number that helpers return (`include/linux/errno.h`).
pub(crate) const ENOTSUPP: i64 = 524;

pub(crate) const EPERM: i64 = number("EPERM");
pub(crate) const ENOENT: i64 = number("ENOENT");
pub(crate) const E2BIG: i64 = number("E2BIG");
pub(crate) const EAGAIN: i64 = number("EAGAIN");
pub(crate) const ENOMEM: i64 = number("ENOMEM");
pub(crate) const EACCES: i64 = number("EACCES");
pub(crate) const EFAULT: i64 = number("EFAULT");
pub(crate) const EBUSY: i64 = number("EBUSY");
pub(crate) const EEXIST: i64 = number("EEXIST");
pub(crate) const ENODEV: i64 = number("ENODEV");
pub(crate) const EINVAL: i64 = number("EINVAL");
pub(crate) const ENOSPC: i64 = number("ENOSPC");
pub(crate) const ERANGE: i64 = number("ERANGE");
pub(crate) const ETIME: i64 = number("ETIME");
pub(crate) const EPROTONOSUPPORT: i64 = number("EPROTONOSUPPORT");
pub(crate) const EOPNOTSUPP: i64 = number("EOPNOTSUPP");
pub(crate) const EAFNOSUPPORT: i64 = number("EAFNOSUPPORT");
pub(crate) const EPROTO: i64 = number("EPROTO");
pub(crate) const EDEADLK: i64 = number("EDEADLK");
pub(crate) const ECANCELED: i64 = number("ECANCELED");
pub(crate) const ENETUNREACH: i64 = number("ENETUNREACH");
pub(crate) const ESOCKTNOSUPPORT: i64 = number("ESOCKTNOSUPPORT");
pub(crate) const EALREADY: i64 = number("EALREADY");

const fn number(name: &str) -> i64 {
    position(&NAMES, name) as i64 + 1
}

/// Names of the error numbers 1 to 133. Numbers 41 and 58 are unused: their names are aliases of 11
/// and 35.
#[rustfmt::skip]
const NAMES: [&str; 133] = [
    "EPERM",
    "ENOENT",
    "ESRCH",
    "EINTR",
    "EIO",
    "ENXIO",
    "E2BIG",
    "ENOEXEC",
    "EBADF",
    "ECHILD",
    "EAGAIN",
    "ENOMEM",
    "EACCES",
    "EFAULT",
    "ENOTBLK",
    "EBUSY",
    "EEXIST",
    "EXDEV",
    "ENODEV",
    "ENOTDIR",
    "EISDIR",
    "EINVAL",
    "ENFILE",
    "EMFILE",
    "ENOTTY",
    "ETXTBSY",
    "EFBIG",
    "ENOSPC",
    "ESPIPE",
    "EROFS",
    "EMLINK",
    "EPIPE",
    "EDOM",
    "ERANGE",
    "EDEADLK",
    "ENAMETOOLONG",
    "ENOLCK",
    "ENOSYS",
    "ENOTEMPTY",
    "ELOOP",
    "",
    "ENOMSG",
    "EIDRM",
    "ECHRNG",
    "EL2NSYNC",
    "EL3HLT",
    "EL3RST",
    "ELNRNG",
    "EUNATCH",
    "ENOCSI",
    "EL2HLT",
    "EBADE",
    "EBADR",
    "EXFULL",
    "ENOANO",
    "EBADRQC",
    "EBADSLT",
    "",
    "EBFONT",
    "ENOSTR",
    "ENODATA",
    "ETIME",
    "ENOSR",
    "ENONET",
    "ENOPKG",
    "EREMOTE",
    "ENOLINK",
    "EADV",
    "ESRMNT",
    "ECOMM",
    "EPROTO",
    "EMULTIHOP",
    "EDOTDOT",
    "EBADMSG",
    "EOVERFLOW",
    "ENOTUNIQ",
    "EBADFD",
    "EREMCHG",
    "ELIBACC",
    "ELIBBAD",
    "ELIBSCN",
    "ELIBMAX",
    "ELIBEXEC",
    "EILSEQ",
    "ERESTART",
    "ESTRPIPE",
    "EUSERS",
    "ENOTSOCK",
    "EDESTADDRREQ",
    "EMSGSIZE",
    "EPROTOTYPE",
    "ENOPROTOOPT",
    "EPROTONOSUPPORT",
    "ESOCKTNOSUPPORT",
    "EOPNOTSUPP",
    "EPFNOSUPPORT",
    "EAFNOSUPPORT",
    "EADDRINUSE",
    "EADDRNOTAVAIL",
    "ENETDOWN",
    "ENETUNREACH",
    "ENETRESET",
    "ECONNABORTED",
    "ECONNRESET",
    "ENOBUFS",
    "EISCONN",
    "ENOTCONN",
    "ESHUTDOWN",
    "ETOOMANYREFS",
    "ETIMEDOUT",
    "ECONNREFUSED",
    "EHOSTDOWN",
    "EHOSTUNREACH",
    "EALREADY",
    "EINPROGRESS",
    "ESTALE",
    "EUCLEAN",
    "ENOTNAM",
    "ENAVAIL",
    "EISNAM",
    "EREMOTEIO",
    "EDQUOT",
    "ENOMEDIUM",
    "EMEDIUMTYPE",
    "ECANCELED",
    "ENOKEY",
    "EKEYEXPIRED",
    "EKEYREVOKED",
    "EKEYREJECTED",
    "EOWNERDEAD",
    "ENOTRECOVERABLE",
    "ERFKILL",
    "EHWPOISON",
];

#[cfg(test)]
mod tests {
    use super::*;
    use std::collections::BTreeMap;

    /// Checks that [`NAMES`] contains the same names as the kernel headers, which every C compiler
    /// installs.
    #[test]
    fn names_are_those_of_the_kernel() {
        let mut numbers = BTreeMap::new();
        for name in ["errno-base.h", "errno.h"] {
            let path = format!("/usr/include/asm-generic/{name}");
            let Ok(text) = std::fs::read_to_string(&path) else {
                eprintln!("skipped: {path} is not installed");
                return;
            };
            for line in text.lines() {
                let mut words = line.split_whitespace();
                if let (Some("#define"), Some(name), Some(Ok(number))) =
                    (words.next(), words.next(), words.next().map(str::parse::<u64>))
                {
                    numbers.insert(number, name.to_owned());
                }
            }
        }
        assert!(numbers.len() > 100, "{} names in the headers", numbers.len());
        for number in 0..=NAMES.len() as u64 + 1 {
            assert_eq!(errno_name(number), numbers.get(&number).map(String::as_str), "{number}");
        }
    }
}

//! Attaches programs to devices. A program stays attached as long as its [`Link`] exists.
//!
//! Only an open file descriptor keeps the program attached. The kernel detaches it when the
//! [`Link`] is dropped, or when the process ends for any reason.
//!
//! While a program is attached, its test runs are cheap. A test run with several repetitions adds
//! its program to the kernel's XDP dispatcher and removes it again, which waits for all CPUs
//! (milliseconds). An attached program is in the dispatcher already (`bpf_prog_change_xdp` of
//! `net/core/filter.c`).

use std::os::fd::{AsFd, OwnedFd};

use crate::error::LinkError;
use crate::sys::{attach_xdp, replace_xdp};
use crate::{Device, LoadedProgram, Namespace};

/// Place in the receive path where an attached program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the kernel's generic code, after the packet has got an `sk_buff`. All devices support
    /// this.
    Generic,
    /// In the driver, before the packet gets an `sk_buff`. Virtual Ethernet supports this, and the
    /// loopback device does not.
    Native,
}

/// An attachment of a program to a device. Dropping it detaches the program.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
    device: Device,
}

impl LoadedProgram {
    /// Attaches the program to a device of a namespace. At most one program can be attached to a
    /// device.
    ///
    /// # Errors
    /// If a program is attached to the device already, the device does not support the mode, or it
    /// was removed.
    pub fn attach(
        &self,
        namespace: &Namespace,
        device: Device,
        mode: Mode,
    ) -> Result<Link, LinkError> {
        // XDP_FLAGS_SKB_MODE and XDP_FLAGS_DRV_MODE of `uapi/linux/if_link.h`.
        let flags = match mode {
            Mode::Generic => 1 << 1,
            Mode::Native => 1 << 2,
        };
        let attached = namespace.enter(|| attach_xdp(self.fd(), device.index(), flags))?;
        attached
            .map(|fd| Link { fd, device })
            .map_err(|cause| LinkError::of(device.index(), cause, mode == Mode::Native))
    }
}

impl Link {
    /// Replaces the attached program by another one.
    ///
    /// # Errors
    /// If the kernel does not accept the program for the device.
    pub fn replace(&self, program: &LoadedProgram) -> Result<(), LinkError> {
        let replaced = replace_xdp(self.fd.as_fd(), program.fd());
        replaced.map_err(|cause| LinkError::of(self.device.index(), cause, false))
    }
}

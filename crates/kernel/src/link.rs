//! A program attached to a device for the lifetime of a [`Link`].
//!
//! Only an open file descriptor keeps the program attached. The kernel detaches it when the
//! [`Link`] is dropped, or when the process ends for any reason.
//!
//! An attachment also makes test runs cheap. A run with several repetitions adds its program to the
//! kernel's XDP dispatcher and removes it again, which waits for all CPUs (milliseconds). An
//! attached program is in the dispatcher already (`bpf_prog_change_xdp` of `net/core/filter.c`).

use std::os::fd::{AsFd, OwnedFd};

use crate::error::LinkError;
use crate::sys::{attach_xdp, replace_xdp};
use crate::{Device, LoadedProgram, Namespace};

/// Stage of the receive path at which an attached program runs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// In the kernel's generic code, after the packet has an `sk_buff`; all devices support it.
    Generic,
    /// In the driver, before the packet has an `sk_buff`; virtual Ethernet supports it, the
    /// loopback device does not.
    Native,
}

/// An attachment of a program to a device; dropping it detaches the program.
#[derive(Debug)]
pub struct Link {
    fd: OwnedFd,
    device: Device,
}

impl LoadedProgram {
    /// Attaches the program to a device of a namespace. A device has room for one program.
    ///
    /// # Errors
    /// If the device has a program already, lacks the mode, or is gone.
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
    /// Replaces the attached program by `program`.
    ///
    /// # Errors
    /// If the kernel does not accept the program for the device.
    pub fn replace(&self, program: &LoadedProgram) -> Result<(), LinkError> {
        let replaced = replace_xdp(self.fd.as_fd(), program.fd());
        replaced.map_err(|cause| LinkError::of(self.device.index(), cause, false))
    }
}

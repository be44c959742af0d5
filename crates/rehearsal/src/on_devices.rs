//! Compares the original and the rewritten program on virtual devices.

use slowpath_kernel::{Interruptible, Kernel, Mode};
use slowpath_stop::Stop;

use crate::comparing::{compare, programs};
use crate::error::RehearsalError;
use crate::options::{Devices, Install, Options, Subject};
use crate::outcome::{Found, OnDevice, Rehearsal};
use crate::packets::Packets;
use crate::run_environment::{RunEnvironment, VethSettings};
use crate::unpredictable::{link_all, unpredictable_calls};

/// Restricts the lengths of the frames that are sent on the devices. Only lengths that the known
/// facts about packets allow remain.
fn limited(devices: Devices, packets: Packets<'_>) -> Devices {
    let Some(facts) = packets.facts else { return devices };
    let (least, most) = devices.lengths;
    let lengths = (least.max(facts.min_length.into()), most.min(facts.max_length.into()));
    Devices { lengths, ..devices }
}

/// Sends frames to both programs on each requested device, and records the results in `rehearsal`.
/// If the machine does not support a device, records the reason instead of failing.
pub fn on_devices(
    kernel: &Kernel,
    subject: &Subject<'_>,
    packets: Packets<'_>,
    install: Install<'_>,
    options: &Options,
    stop: &Stop,
    rehearsal: &mut Rehearsal,
) -> Result<(), RehearsalError> {
    let devices = &limited(options.devices, packets);
    if devices.frames == 0 || rehearsal.difference.is_some() {
        return Ok(());
    }
    let mut all = programs(kernel, subject)?.all;
    let mut upstream = Vec::new();
    for stage in subject.upstream {
        upstream.extend(link_all(kernel, (&stage.object, stage.program)).unwrap_or_default());
    }
    // Calls of upstream programs are not replaced by answers.
    let unpredictable: Vec<String> = unpredictable_calls(&upstream).into_iter().collect();
    all.extend(upstream);
    let options = Options { packets: devices.frames, arbitrary: false, rounds: 0, ..*options };
    for (mode, name, requested) in
        [(Mode::Native, "native", devices.native), (Mode::Generic, "generic", devices.generic)]
    {
        if !requested || rehearsal.difference.is_some() {
            continue;
        }
        let mut result = OnDevice { mode: name, frames: 0, lengths: None, why_not: None };
        let settings = VethSettings::new(devices, mode, &all);
        result.why_not = match (&rehearsal.undetermined, settings) {
            (Some(reason), _) => Some(reason.clone()),
            _ if !unpredictable.is_empty() => {
                let names = unpredictable.join(", ");
                Some(format!("earlier programs depend on results of {names}"))
            }
            (None, None) => Some("its frames cannot have this length".to_owned()),
            (None, Some(settings)) => {
                stop.enter("sending frames on virtual Ethernet");
                let environment = RunEnvironment::Device(settings);
                match compare(kernel, subject, packets, install, &options, environment, stop) {
                    Ok((done, lengths)) => {
                        (result.frames, result.lengths) = (done.compared, lengths);
                        rehearsal.difference = done.difference.map(|found| Found {
                            what: format!("on veth ({name}), {}", found.what),
                            ..found
                        });
                        let few = done.compared < devices.frames && rehearsal.difference.is_none();
                        let few = few.then(|| {
                            format!("only {} frames reached both programs", done.compared)
                        });
                        done.undetermined.or(done.ended).or(few)
                    }
                    Err(fault) if fault.is_interrupted() => return Err(fault),
                    Err(fault) => Some(fault.to_string()),
                }
            }
        };
        rehearsal.devices.push(result);
    }
    Ok(())
}

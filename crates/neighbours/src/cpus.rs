//! Lists the CPUs that a thread may use, and pins threads to CPUs.

use crate::error::NeighbourError;

/// Returns the numbers of the CPUs that the calling thread may use, in ascending order.
#[cfg(target_os = "linux")]
pub fn allowed() -> Vec<usize> {
    let Ok(set) = rustix::thread::sched_getaffinity(None) else { return Vec::new() };
    (0..rustix::thread::CpuSet::MAX_CPU).filter(|&cpu| set.is_set(cpu)).collect()
}

/// Pins the calling thread to one CPU.
///
/// # Errors
/// If the operating system does not allow it.
#[cfg(target_os = "linux")]
pub fn pin(cpu: usize) -> std::io::Result<()> {
    if cpu >= rustix::thread::CpuSet::MAX_CPU {
        return Err(std::io::ErrorKind::InvalidInput.into());
    }
    let mut set = rustix::thread::CpuSet::new();
    set.set(cpu);
    Ok(rustix::thread::sched_setaffinity(None, &set)?)
}

/// Returns no CPUs, because this operating system is not supported.
#[cfg(not(target_os = "linux"))]
pub fn allowed() -> Vec<usize> {
    Vec::new()
}

/// Fails, because this operating system is not supported.
#[cfg(not(target_os = "linux"))]
pub fn pin(_: usize) -> std::io::Result<()> {
    Err(std::io::ErrorKind::Unsupported.into())
}

/// Checks that each thread has its own CPU, which it may use. `requests` contains a pair for each
/// thread: its purpose, which error messages name, and its CPU.
///
/// # Errors
/// If there are fewer CPUs than requests, a CPU is not allowed, or one is used twice.
pub fn check(requests: &[(String, usize)], allowed: &[usize]) -> Result<(), NeighbourError> {
    if requests.len() > allowed.len() {
        return Err(NeighbourError::TooFewCpus {
            needed: requests.len(),
            purposes: requests.iter().map(|(purpose, _)| purpose.clone()).collect(),
            allowed: allowed.to_vec(),
        });
    }
    for (at, (purpose, cpu)) in requests.iter().enumerate() {
        if !allowed.contains(cpu) {
            let (purpose, allowed) = (purpose.clone(), allowed.to_vec());
            return Err(NeighbourError::Cpu { purpose, cpu: *cpu, allowed });
        }
        let other = requests[..at].iter().find(|(_, other)| other == cpu);
        if let Some((one, _)) = other {
            let (one, other) = (one.clone(), purpose.clone());
            return Err(NeighbourError::Shared { cpu: *cpu, one, other });
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::check;

    fn requests(cpus: &[usize]) -> Vec<(String, usize)> {
        cpus.iter().map(|&cpu| (format!("purpose {cpu}"), cpu)).collect()
    }

    #[test]
    fn errors_name_the_missing_cpus() {
        assert!(check(&requests(&[1, 0]), &[0, 1]).is_ok());
        let few = check(&requests(&[0, 1]), &[0]).unwrap_err().to_string();
        assert!(
            few.starts_with(
                "2 CPUs are needed (purpose 0, purpose 1), but this process may use 0;"
            )
        );
        let other = check(&requests(&[3]), &[0, 1]).unwrap_err().to_string();
        assert_eq!(other, "purpose 3: CPU 3 is not among those that this process may use, 0, 1");
        let same = check(&requests(&[1, 1]), &[0, 1]).unwrap_err().to_string();
        assert_eq!(same, "CPU 1 is for purpose 1 and for purpose 1; each needs its own");
    }

    #[cfg(target_os = "linux")]
    #[test]
    fn a_pinned_thread_may_use_one_cpu_only() {
        let Some(&cpu) = super::allowed().last() else { panic!("no CPU is allowed") };
        let found = std::thread::spawn(move || {
            super::pin(cpu).unwrap();
            super::allowed()
        });
        assert_eq!(found.join().unwrap(), [cpu]);
        assert!(super::pin(usize::MAX).is_err());
    }
}

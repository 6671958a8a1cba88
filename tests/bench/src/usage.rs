//! Usage of a process, as Linux reports it.

use std::error::Error;
use std::fs;
use std::time::Duration;

type Result<T> = std::result::Result<T, Box<dyn Error>>;

/// CPU time of all its threads so far.
pub fn cpu_time(process: u32) -> Result<Duration> {
    let mut nanoseconds = 0;
    for thread in fs::read_dir(format!("/proc/{process}/task"))? {
        let schedstat = fs::read_to_string(thread?.path().join("schedstat"))?;
        nanoseconds += schedstat.split(' ').next().unwrap_or_default().parse::<u64>()?;
    }
    Ok(Duration::from_nanos(nanoseconds))
}

/// The most memory that was resident so far, in bytes.
pub fn peak_memory(process: u32) -> Result<u64> {
    memory(process, "VmHWM")
}

/// The memory that is resident, in bytes.
pub fn resident_memory(process: u32) -> Result<u64> {
    memory(process, "VmRSS")
}

fn memory(process: u32, what: &str) -> Result<u64> {
    let status = fs::read_to_string(format!("/proc/{process}/status"))?;
    let mut lines = status.lines().filter_map(|line| line.split_once(':'));
    let (_, size) = lines.find(|(name, _)| *name == what).ok_or("no such line")?;
    Ok(size.trim().trim_end_matches(" kB").parse::<u64>()? * 1024)
}

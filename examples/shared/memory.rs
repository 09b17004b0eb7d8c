//! The memory of this process.

/// The most memory that the process has held so far, in GB. `None` where the system does not say (it is not Linux).
pub(crate) fn peak_gb() -> Option<f64> {
    let status = std::fs::read_to_string("/proc/self/status").ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmHWM:"))?;
    Some(line.trim().strip_suffix("kB")?.trim().parse::<f64>().ok()? * 1024.0 / 1e9)
}

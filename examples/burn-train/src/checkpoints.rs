//! The checkpoints in a folder: those of burn-train's file checkpointer.

use burn::module::Module;
use burn::optim::OptimizerRecord;
use burn::optim::lr_scheduler::LrSchedulerRecord;
use burn::store::ModuleRecord;
use std::fs;
use std::path::{Path, PathBuf};

/// The three files of a checkpoint.
const PARTS: [&str; 3] = ["model", "optim", "scheduler"];

/// The file of a part of the checkpoint after an epoch.
pub(crate) fn file(folder: &Path, part: &str, epoch: usize) -> PathBuf {
    folder.join("checkpoint").join(format!("{part}-{epoch}.bpk"))
}

/// The last epoch of which all three files are there.
pub(crate) fn last(folder: &Path) -> Result<usize, String> {
    let names = fs::read_dir(folder.join("checkpoint")).into_iter().flatten().flatten();
    let epochs = names.filter_map(|entry| {
        let name = entry.file_name().into_string().ok()?;
        name.strip_prefix("model-")?.strip_suffix(".bpk")?.parse::<usize>().ok()
    });
    let whole = epochs.filter(|&epoch| PARTS.iter().all(|part| file(folder, part, epoch).is_file()));
    whole.max().ok_or_else(|| format!("start without --resume: there is no checkpoint in {}", folder.display()))
}

/// Removes the checkpoints and the metrics of an earlier run. Burn would read the metrics as if they were of this one.
/// The number of epochs that are left: 0.
pub(crate) fn clear(folder: &Path) -> Result<usize, String> {
    for part in ["checkpoint", "train", "valid"] {
        let part = folder.join(part);
        if part.is_dir() {
            fs::remove_dir_all(&part).map_err(|trouble| format!("cannot remove {}: {trouble}", part.display()))?;
        }
    }
    fs::create_dir_all(folder).map_err(|trouble| format!("cannot make {}: {trouble}", folder.display()))?;
    Ok(0)
}

/// Checks that a checkpoint can be read and fits the model. Burn's learner panics where it does not.
pub(crate) fn check<M: Module>(folder: &Path, epoch: usize, model: M) -> Result<(), String> {
    let anew = |trouble: String| format!("start without --resume: {trouble}");
    load(folder, epoch, model).map_err(anew)?;
    let [_, optim, scheduler] = PARTS.map(|part| file(folder, part, epoch));
    OptimizerRecord::load(&optim).map_err(|trouble| anew(unreadable(&optim, &trouble)))?;
    LrSchedulerRecord::load(&scheduler).map_err(|trouble| anew(unreadable(&scheduler, &trouble)))?;
    Ok(())
}

/// The model of a checkpoint.
pub(crate) fn load<M: Module>(folder: &Path, epoch: usize, model: M) -> Result<M, String> {
    let path = file(folder, "model", epoch);
    let record = ModuleRecord::load(&path).map_err(|trouble| unreadable(&path, &trouble))?;
    model.try_load_record(record).map_err(|trouble| unreadable(&path, &trouble))
}

fn unreadable(path: &Path, trouble: &dyn std::fmt::Display) -> String {
    format!("{} is not a checkpoint of this model: {trouble}", path.display())
}

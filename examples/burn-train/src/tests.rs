//! A run that is stopped and resumed, and what a user may get wrong.

use super::neighbors::Sage;
use super::{Args, checkpoints, run};
use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::{Device, Tensor, TensorData};
use burn_train::LearnerSummary;
use clap::Parser;
use std::fs;
use std::path::Path;
use std::sync::{Mutex, MutexGuard};

/// The seed of a device is one for the process.
fn alone() -> MutexGuard<'static, ()> {
    static LOCK: Mutex<()> = Mutex::new(());
    LOCK.lock().unwrap_or_else(|poisoned| poisoned.into_inner())
}

fn args(task: &str, out: &Path, more: &[&str]) -> Args {
    let out = out.to_str().unwrap();
    Args::try_parse_from([&["burn-train", task, "--out", out, "--quiet"][..], more].concat()).unwrap()
}

/// The parameters of a checkpoint of the task `neighbors`.
fn parameters(out: &Path, epoch: usize) -> Vec<TensorData> {
    struct Values(Vec<TensorData>);
    impl ModuleVisitor for Values {
        fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
            self.0.push(param.val().into_data());
        }
    }
    let model = checkpoints::load(&out.join("neighbors"), epoch, Sage::new(5, &Device::flex())).unwrap();
    let mut values = Values(vec![]);
    model.visit(&mut values);
    values.0
}

/// The mean validation loss of each epoch.
fn losses(folder: &Path) -> Vec<f64> {
    let summary = LearnerSummary::new(folder, &["Loss"]).unwrap();
    summary.metrics.valid[0].entries.iter().map(|entry| entry.value).collect()
}

#[test]
fn a_resumed_run_has_the_bits_of_one_that_was_not_stopped() {
    let _alone = alone();
    let [whole, parts] = [tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap()];
    let at_once = run(&args("neighbors", whole.path(), &["--epochs", "4"])).unwrap();
    run(&args("neighbors", parts.path(), &["--epochs", "2", "--workers", "3"])).unwrap();
    let stopped = parameters(parts.path(), 2);
    let resumed = run(&args("neighbors", parts.path(), &["--epochs", "4", "--resume", "--workers", "0"])).unwrap();
    let [whole, parts] = [whole.path(), parts.path()];
    // Two layers, each with two weights and a bias.
    let last = parameters(parts, 4);
    assert_eq!(last.len(), 6);
    assert_ne!(last, stopped);
    assert_eq!(last, parameters(whole, 4));
    assert_eq!(losses(&parts.join("neighbors")), losses(&whole.join("neighbors")));
    assert_eq!((resumed.accuracy, resumed.best, resumed.epochs), (at_once.accuracy, at_once.best, at_once.epochs));
    // A class has a fifth of the nodes.
    assert!(resumed.accuracy > 0.6, "{resumed:?}");
}

#[test]
fn rows_go_on_from_the_checkpoint_and_stop_early() {
    let _alone = alone();
    let out = tempfile::tempdir().unwrap();
    let folder = out.path().join("rows");
    run(&args("rows", out.path(), &["--epochs", "1"])).unwrap();
    let first = losses(&folder)[0];
    run(&args("rows", out.path(), &["--epochs", "2", "--resume"])).unwrap();
    let both = losses(&folder);
    assert_eq!((both.len(), both[0]), (2, first));
    assert!(both[1] < first, "{both:?}");
    // With this learning rate the loss soon grows.
    let stopped = run(&args("rows", out.path(), &["--epochs", "50", "--lr", "3", "--patience", "2"])).unwrap();
    assert_eq!(stopped.epochs, stopped.best + 2, "{stopped:?}");
}

#[test]
fn what_cannot_be_resumed_is_an_error() {
    let _alone = alone();
    let out = tempfile::tempdir().unwrap();
    let fails = |more: &[&str], words: &[&str]| {
        let trouble = run(&args("neighbors", out.path(), more)).unwrap_err();
        assert!(words.iter().all(|word| trouble.contains(word)), "{trouble}");
    };
    fails(&["--resume"], &["start without --resume", "no checkpoint"]);
    run(&args("neighbors", out.path(), &["--epochs", "1"])).unwrap();
    fails(&["--resume", "--epochs", "1"], &["--epochs with more than 1"]);
    let folder = out.path().join("neighbors");
    for part in ["model", "optim", "scheduler"] {
        let file = checkpoints::file(&folder, part, 1);
        let whole = fs::read(&file).unwrap();
        // A constant learning rate has no state: the second half of its file is padding.
        let kept = if part == "scheduler" { 8 } else { whole.len() / 2 };
        fs::write(&file, &whole[..kept]).unwrap();
        fails(&["--resume"], &["start without --resume", file.to_str().unwrap()]);
        fs::write(&file, whole).unwrap();
    }
    fs::remove_file(checkpoints::file(&folder, "optim", 1)).unwrap();
    fails(&["--resume"], &["no checkpoint"]);
}

//! The program as a user runs it, in a pipe.

use std::process::{Command, Output};

fn burn_train(args: &[&str]) -> (Output, Vec<String>) {
    let output = Command::new(env!("CARGO_BIN_EXE_burn-train")).args(args).output().unwrap();
    let lines = String::from_utf8(output.stdout.clone()).unwrap().lines().map(str::to_string).collect();
    (output, lines)
}

#[test]
fn there_is_a_line_for_each_epoch_and_a_last_line() {
    let out = tempfile::tempdir().unwrap();
    let out = out.path().to_str().unwrap();
    let (output, lines) = burn_train(&["--epochs", "2", "--out", out]);
    assert!(output.status.success(), "{output:?}");
    assert_eq!(lines.len(), 3, "{lines:?}");
    for (line, start) in lines.iter().zip(["epoch 1/2  train:  loss ", "epoch 2/2  train:  loss "]) {
        assert!(line.starts_with(start) && line.contains("  valid:  loss ") && line.contains("accuracy "), "{line}");
    }
    let (output, more) = burn_train(&["--epochs", "3", "--resume", "--out", out]);
    assert!(output.status.success(), "{output:?}");
    assert!(more[0].starts_with("resumed after epoch 2") && more[1].starts_with("epoch 3/3"), "{more:?}");
    for line in [&lines[2], &more[2]] {
        let words: Vec<&str> = line.split(' ').collect();
        assert_eq!((&words[..2], words[3], words[4], words[6]), (&["test", "accuracy:"][..], "at", "epoch", "of"));
        assert!(words[2].parse::<f64>().unwrap() > 0.5, "{line}");
    }
}

#[test]
fn mistakes_are_one_line() {
    let out = tempfile::tempdir().unwrap();
    let (output, lines) = burn_train(&["neighbors", "--resume", "--out", out.path().to_str().unwrap()]);
    let text = String::from_utf8(output.stderr).unwrap();
    assert_eq!((output.status.code(), lines.len(), text.lines().count()), (Some(1), 0, 1));
    assert!(text.starts_with("error: start without --resume"), "{text}");
    for wrong in [&["--lr", "0"][..], &["--epochs", "0"], &["--batch-size", "x"], &["graphs"]] {
        assert_eq!(burn_train(wrong).0.status.code(), Some(2), "{wrong:?}");
    }
}

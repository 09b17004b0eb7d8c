//! Runs every program for a moment. With `SPARSE_DATA_DIR`; without it only what they say then.

use std::path::{Path, PathBuf};
use std::process::{Command, Output};

/// Every program of `src/bin`.
fn programs() -> Vec<PathBuf> {
    let folder = Path::new(env!("CARGO_BIN_EXE_gcn")).parent().expect("a program is in a folder");
    let sources = std::fs::read_dir(concat!(env!("CARGO_MANIFEST_DIR"), "/src/bin")).expect("src/bin");
    let name =
        |source: std::io::Result<std::fs::DirEntry>| folder.join(source.expect("a source").path().file_stem().unwrap());
    let mut all: Vec<PathBuf> = sources.map(name).collect();
    all.sort();
    all
}

fn quick(program: &Path, set: impl Fn(&mut Command) -> &mut Command) -> (Output, String) {
    let out = set(Command::new(program).arg("--quick")).output().expect("the program starts");
    let text = [&out.stdout[..], &out.stderr].concat();
    (out, String::from_utf8_lossy(&text).into_owned())
}

#[test]
fn every_program_ends_with_its_measure() {
    if std::env::var_os("SPARSE_DATA_DIR").is_none() {
        eprintln!("skipped: SPARSE_DATA_DIR names no folder");
        return;
    }
    let all = programs();
    assert!(all.len() >= 25);
    for program in all {
        let (out, text) = quick(&program, |command| command);
        assert!(out.status.success(), "{}: {text}", program.display());
        let last = text.lines().last().unwrap_or_default();
        let number = last.split("mean ").nth(1).and_then(|rest| rest.split(' ').next()?.parse::<f64>().ok());
        assert!(number.is_some_and(f64::is_finite) && last.contains("over 1 seeds"), "{}: {last}", program.display());
    }
}

#[test]
fn a_program_says_which_data_are_missing() {
    let gcn = Path::new(env!("CARGO_BIN_EXE_gcn"));
    let (out, text) = quick(gcn, |command| command.env_remove("SPARSE_DATA_DIR"));
    assert!(!out.status.success() && text.contains("SPARSE_DATA_DIR must name the folder"), "{text}");
    let (out, text) = quick(gcn, |command| command.env("SPARSE_DATA_DIR", env!("CARGO_MANIFEST_DIR")));
    assert!(!out.status.success() && text.contains("there is no such folder"), "{text}");
}

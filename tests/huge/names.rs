//! Every public operation ran, or is named here with the reason why it did not.

use crate::outcome::{FAILED, SEEN};
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Public functions that form no tensor.
const EXEMPT: &[(&str, &str)] = &[
    ("as_coo", "gives a reference"),
    ("as_csr", "gives a reference"),
    ("dense_limit", "a setting"),
    ("init", "makes the weights of a layer"),
    ("is_empty", "a number of an index"),
    ("layout", "a name"),
    ("set_dense_limit", "a setting, of the whole process"),
];

/// Fails for an operation that failed, one that is in no table, and for an exemption that is none.
pub fn check() {
    let failed = FAILED.lock().expect("a list");
    assert!(failed.is_empty(), "{} failed:\n{}", failed.len(), failed.join("\n"));
    let public = public();
    let seen = SEEN.lock().expect("no test failed");
    let exempt: BTreeSet<&str> = EXEMPT.iter().map(|(name, _)| *name).collect();
    let missing: Vec<_> =
        public.iter().filter(|(name, _)| !seen.contains(&name[..]) && !exempt.contains(&name[..])).collect();
    assert!(missing.is_empty(), "not run here, and not exempt: {missing:?}");
    let stale: Vec<_> = exempt.iter().filter(|name| !public.contains_key(**name) || seen.contains(*name)).collect();
    assert!(stale.is_empty(), "exempt, but run or gone: {stale:?}");
}

/// Names of public functions, `try_x` as `x`, and a file that has each.
fn public() -> BTreeMap<String, String> {
    let mut names = BTreeMap::new();
    for folder in ["src/ops", "src/nn"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join(folder);
        for entry in std::fs::read_dir(folder).expect("sources") {
            let path = entry.expect("a file").path();
            let source = std::fs::read_to_string(&path).expect("a source");
            for name in names_of(&source) {
                names.insert(name, path.file_name().expect("a name").to_string_lossy().into_owned());
            }
        }
    }
    names
}

/// The names that `pub fn` gives, and those given to macros that have a `pub fn $name`.
fn names_of(source: &str) -> BTreeSet<String> {
    let mut names = BTreeSet::new();
    let lines = || source.lines().map(str::trim).filter(|line| !line.starts_with("//"));
    let in_macros = lines().any(|line| line.contains("pub fn $"));
    for line in lines() {
        if let Some((_, rest)) = line.split_once("pub fn ").or_else(|| line.split_once("pub const fn ")) {
            names.extend(words(rest).next().filter(|_| !rest.starts_with('$')));
        } else if in_macros {
            names.extend(names_given(line));
        }
    }
    assert!(!in_macros || !names.is_empty(), "a macro makes functions whose names are not understood");
    names.iter().map(|name| name.strip_prefix("try_").unwrap_or(name).to_string()).collect()
}

/// Names in one line of a macro's call: `try_x x ..`, a line of names that begins so, or `x "what it does" ..`.
fn names_given(line: &str) -> Vec<String> {
    let all: Vec<String> = words(line).collect();
    if line.starts_with("try_") && line.chars().all(|c| c.is_ascii_alphanumeric() || c == '_' || c == ' ') {
        return all;
    }
    let pairs = all.windows(2).filter(|pair| pair[0].strip_prefix("try_") == Some(&pair[1]));
    let mut names: Vec<String> = pairs.map(|pair| pair[1].clone()).collect();
    if let Some((name, _)) = line.split_once(" \"").filter(|(name, _)| words(name).eq([name.to_string()])) {
        names.push(name.to_string());
    }
    names
}

fn words(text: &str) -> impl Iterator<Item = String> {
    let words = text.split(|c: char| !(c.is_ascii_alphanumeric() || c == '_'));
    words.filter(|word| word.starts_with(|c: char| c.is_ascii_lowercase())).map(str::to_string)
}

#[test]
fn names_are_found() {
    let source =
        "pub fn $name(&self)\n    along! { try_sum_dim sum_dim stored_sum\n    sin \"sin x\";\n    pub fn try_get(";
    assert_eq!(names_of(source).into_iter().collect::<Vec<_>>(), ["get", "sin", "sum_dim"]);
    let source = "pub fn $name(&self)\n    try_sum_dim sum_dim stored_sum\n    // pub fn not_this(\npub const fn this(";
    assert_eq!(names_of(source).into_iter().collect::<Vec<_>>(), ["stored_sum", "sum_dim", "this"]);
}

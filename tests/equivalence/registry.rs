//! Every public operation has an entry in the registry, or an exemption with its reason. What is public stands in
//! `docs/api`, which `.ci/api` keeps equal to the code.

use crate::operations::{Operation, exempt::EXEMPT};
use std::collections::{BTreeMap, BTreeSet};

/// The types that operations are methods of, and the modules of those that are functions.
const TYPES: [&str; 4] = ["SparseTensor", "ops::Stored", "ops::IndexPlan", "nn::GcnConv"];
const FUNCTIONS: [&str; 3] = ["", "ops", "nn"];

/// What is neither an entry nor exempt, or exempt without need, in words. `try_x` and `x_async` are covered by `x`.
pub fn troubles(table: &[Operation]) -> Vec<String> {
    let public = public(&sparse_dev::public_items());
    let drawn: BTreeSet<&str> = table.iter().filter_map(|operation| operation.name.split(' ').next()).collect();
    let mut exempt: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for (owner, _, names) in EXEMPT {
        exempt.entry(owner).or_default().extend(names.split_whitespace());
    }
    let mut troubles: Vec<String> = exempt
        .keys()
        .filter(|owner| !public.contains_key(**owner))
        .map(|owner| format!("{owner} is no type"))
        .collect();
    for (owner, names) in &public {
        let exempt = exempt.remove(owner).unwrap_or_default();
        let entry = |name: &str| match owner.strip_prefix("ops::") {
            Some(owner) => format!("{owner}::{name}"),
            None => name.to_string(),
        };
        let names: BTreeSet<&str> = names.iter().map(String::as_str).collect();
        let missing = names.difference(&exempt).filter(|name| !drawn.contains(entry(name).as_str()));
        troubles.extend(missing.map(|name| format!("{name} ({owner}) is neither in the registry nor exempt")));
        let gone = exempt.difference(&names);
        troubles.extend(gone.map(|name| format!("{name} ({owner}) is exempt but does not exist")));
        // Methods of the other types have the names of operations that they pass on to.
        if ["fn", "SparseTensor"].contains(owner) {
            let both = exempt.intersection(&drawn);
            troubles.extend(both.map(|name| format!("{name} ({owner}) is exempt but in the registry")));
        }
    }
    troubles
}

/// The public functions by type; "fn" stands for the free ones.
fn public(text: &str) -> BTreeMap<&'static str, BTreeSet<String>> {
    let mut public: BTreeMap<&str, BTreeSet<String>> = BTreeMap::new();
    // Methods of traits are listed below their `impl .. for ..`, inherent ones below their `impl ..`.
    let mut inherent = true;
    for line in text.lines() {
        if line.starts_with("impl") {
            inherent = !line.contains(" for ");
        }
        let Some(path) = function(line) else { continue };
        let (owner, name) = path.rsplit_once("::").unwrap_or(("", &path));
        let kept = name.strip_prefix("try_").unwrap_or(name);
        let kept = kept.strip_suffix("_async").unwrap_or(kept).to_string();
        if FUNCTIONS.contains(&owner) {
            public.entry("fn").or_default().insert(kept);
        } else if let (true, Some(owner)) = (inherent, TYPES.into_iter().find(|known| *known == owner)) {
            public.entry(owner).or_default().insert(kept);
        }
    }
    public
}

/// The path of the function that a line lists: one of this crate, or one of another crate under its name here.
fn function(line: &str) -> Option<String> {
    if let Some(path) = line.strip_prefix("pub use sparse_tensor::") {
        let name = path.rsplit("::").next()?;
        return name.starts_with(char::is_lowercase).then(|| path.to_string());
    }
    let (before, path) = line.split_once("fn sparse_tensor::")?;
    before.starts_with("pub ").then(|| without_generics(path))
}

/// `a::B::c` of `a::B<X, Y>::c<Z>(..)`.
fn without_generics(path: &str) -> String {
    let mut depth = 0;
    let mut plain = String::new();
    for char in path.chars() {
        match char {
            '<' => depth += 1,
            '>' => depth -= 1,
            '(' if depth == 0 => break,
            _ if depth == 0 => plain.push(char),
            _ => {}
        }
    }
    plain
}

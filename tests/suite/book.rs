//! What the examples of the book do not test: links, the list of chapters, the list of errors.

use std::collections::BTreeSet;
use std::fs::read_to_string;
use std::path::{Path, PathBuf};

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Name and text of every page, `README` included.
fn pages() -> Vec<(String, String)> {
    let files = std::fs::read_dir(root().join("docs/book")).unwrap();
    let paths: Vec<PathBuf> = files.map(|file| file.unwrap().path()).collect();
    let mut pages: Vec<_> = paths
        .iter()
        .map(|path| (path.file_stem().unwrap().to_str().unwrap().into(), read_to_string(path).unwrap()))
        .collect();
    pages.retain(|(name, _): &(String, String)| name != "links");
    assert!(pages.len() > 10, "{pages:?}");
    pages
}

/// The lines `[label]: target` of a page.
fn definitions(text: &str) -> Vec<(&str, &str)> {
    text.lines().filter(|line| line.starts_with('[')).filter_map(|line| line[1..].split_once("]: ")).collect()
}

/// The labels that a page uses: `[text][label]`, and `[label]` alone where the label is code.
fn labels(text: &str) -> BTreeSet<String> {
    let prose: String = text.split("```").step_by(2).collect();
    let is_definition = |line: &&str| line.starts_with('[') && line.contains("]: ");
    let prose: Vec<&str> = prose.lines().filter(|line| !is_definition(line)).collect();
    // Brackets in code are no links.
    let prose = prose.join(" ");
    let parts = prose.split('`').enumerate();
    let parts: Vec<&str> =
        parts.map(|(at, part)| if at % 2 == 1 && part.contains(['[', ']']) { "code" } else { part }).collect();
    let prose = parts.join("`");
    let mut labels = BTreeSet::new();
    for (at, _) in prose.match_indices('[') {
        let end = at + prose[at..].find(']').expect("a link ends");
        let label = &prose[at + 1..end];
        let is_second = prose[..at].ends_with(']');
        let has_other_target = prose[end + 1..].starts_with(['[', '(']);
        if is_second || (label.starts_with('`') && !has_other_target) {
            labels.insert(label.to_string());
        }
    }
    labels
}

/// On the web the links lead to files. In the documentation `links.md` has another target for each, which rustdoc
/// checks.
#[test]
fn links_lead_somewhere() {
    let links = read_to_string(root().join("docs/book/links.md")).unwrap();
    let known: BTreeSet<&str> = definitions(&links).into_iter().map(|(label, _)| label).collect();
    let mut all = BTreeSet::new();
    for (name, text) in pages() {
        let defined: BTreeSet<String> = definitions(&text).into_iter().map(|(label, _)| label.to_string()).collect();
        assert_eq!(labels(&text), defined, "links that {name} uses, and those that it defines");
        for (label, target) in definitions(&text) {
            assert!(known.contains(label), "{name}: [{label}] must be in links.md");
            assert!(root().join("docs/book").join(target).is_file(), "{name}: [{label}] leads to {target}");
        }
        all.extend(defined);
    }
    assert_eq!(all, known.into_iter().map(str::to_string).collect(), "links.md has what the pages use");
}

/// The table at the head of the page has the counts of its rows.
#[test]
fn the_programs_of_pyg_and_dgl_are_counted() {
    let page = read_to_string(root().join("docs/book/pyg.md")).unwrap();
    let sections = page.split("\n## ").skip(1);
    let programs: Vec<(&str, &str)> = sections
        .flat_map(|section| {
            let rows =
                section.lines().filter(|line| line.split(" | ").next().is_some_and(|cell| cell.ends_with(".py")));
            rows.map(|row| (&section[..3], row.trim_end_matches(" |").rsplit(" | ").next().expect("a status")))
        })
        .collect();
    assert_eq!(programs.len(), 152 + 16);
    for status in ["runs", "plumbing", "no"] {
        let count = |of| programs.iter().filter(|(kind, own)| *kind == of && own.starts_with(status)).count();
        let row = page.lines().find(|line| line.starts_with(&format!("| {status} |"))).expect("a row of each status");
        let told = format!(" | {} | {} |", count("PyG"), count("DGL"));
        assert!(row.ends_with(&told), "the rows have{told}, the table has {row}");
    }
}

#[test]
fn every_chapter_is_in_the_documentation_and_in_the_table() {
    let code = read_to_string(root().join("src/book.rs")).unwrap();
    let table = read_to_string(root().join("docs/book/README.md")).unwrap();
    let mut chapters = 0;
    for (name, text) in pages().into_iter().filter(|(name, _)| name != "README") {
        assert!(text.starts_with("# "), "{name} begins with its title");
        // A chapter may need a feature.
        let is_shown = |end: &str| code.contains(&format!("docs/book/{name}.md\"{end}]\npub mod {name} {{}}"));
        assert!(is_shown(")") || is_shown("))"), "{name} is in src/book.rs");
        assert!(table.contains(&format!("][{name}] |")), "{name} is in the table of docs/book/README.md");
        chapters += 1;
    }
    assert_eq!(code.matches("pub mod ").count(), chapters);
}

/// The first page says that every Rust example is a test.
#[test]
fn every_example_is_run() {
    for (name, text) in pages() {
        let blocks = text.split("```").skip(1).step_by(2);
        for language in blocks.map(|block| block.lines().next().unwrap()) {
            assert!(["rust", "sh", "toml", "text", "python"].contains(&language), "{name}: {language:?}");
        }
    }
}

/// Reads the kinds from the source of `SparseError::kind`, which the compiler checks to be complete.
#[test]
fn every_error_is_explained() {
    let code = read_to_string(root().join("crates/sparse-core/src/error.rs")).unwrap();
    let page = read_to_string(root().join("docs/book/errors.md")).unwrap();
    let (_, kinds) = code.split_once("pub fn kind(").unwrap();
    let (kinds, _) = kinds.split_once("\n    }\n").unwrap();
    let mut variants = 0;
    for arm in kinds.lines().filter(|line| line.contains("=>")) {
        let (left, kind) = arm.split_once("=>").unwrap();
        let kind = kind.trim().trim_matches(|c| c == '"' || c == ',');
        for variant in left.split("Self::").skip(1).map(|rest| rest.split(' ').next().unwrap()) {
            assert!(page.contains(&format!("| `{kind}` | `{variant}` |")), "{kind}, {variant}");
            variants += 1;
        }
    }
    assert!(variants > 15, "{variants}");
}

/// A link to a module behind a feature breaks `cargo doc` with the default ones, which no other check builds.
#[test]
fn links_need_no_feature() {
    let links = read_to_string(root().join("docs/book/links.md")).unwrap();
    let io = read_to_string(root().join("crates/sparse-files/src/io/mod.rs")).unwrap();
    let mut gated = 0;
    for (line, next) in io.lines().zip(io.lines().skip(1)) {
        let Some(module) = next.strip_prefix("pub mod ").and_then(|rest| rest.strip_suffix(';')) else { continue };
        if line.starts_with("#[cfg(feature") {
            gated += 1;
            assert!(
                !links.contains(&format!("crate::io::{module}")),
                "link to crate::io instead of crate::io::{module}"
            );
        }
    }
    assert_eq!(gated, 2, "npz and safetensors");
    assert!(!links.contains("crate::plot"), "link to the file on the web instead");
}

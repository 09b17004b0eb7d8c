//! The public API of the crates as text: `sparse-api check|added|write JSON PAGE [JSON PAGE]..`, where a JSON is what
//! rustdoc wrote of a crate and a page is the list of its items in `docs/api`. `.ci/api` runs it.
//!
//! `check` fails with the items that were added and removed, `added` with the former only. Both end with 77 if rustdoc
//! writes another format.

use public_api::Builder;
use std::collections::BTreeSet;
use std::fs;
use std::process::exit;

/// The format that this release of `public-api` reads.
const FORMAT: u64 = 57;

/// The format of a JSON, which is its last field.
fn format_of(json: &str) -> u64 {
    let text = fs::read_to_string(json).unwrap_or_else(|error| panic!("{json}: {error}"));
    let number = text.rsplit_once("\"format_version\":").and_then(|(_, rest)| {
        let digits: String = rest.trim_start().chars().take_while(char::is_ascii_digit).collect();
        digits.parse().ok()
    });
    number.unwrap_or_else(|| panic!("{json}: must have a format_version"))
}

fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let modes = ["check", "added", "write"];
    let Some((mode, pages)) = arguments.split_first().filter(|(mode, _)| modes.contains(&mode.as_str())) else {
        panic!("usage: sparse-api check|added|write JSON PAGE [JSON PAGE]..");
    };
    let mut differ = false;
    for pair in pages.chunks(2) {
        let [json, page] = pair else { panic!("each JSON needs a page") };
        let format = format_of(json);
        if format != FORMAT {
            eprintln!("{json} is of format {format}, and this program reads {FORMAT}");
            exit(77);
        }
        let api = Builder::from_rustdoc_json(json)
            .omit_blanket_impls(true)
            .omit_auto_trait_impls(true)
            .omit_auto_derived_impls(true)
            .build();
        let api = api.unwrap_or_else(|error| panic!("{json}: {error}"));
        // A method of a trait stands at the trait and at each type that has it.
        let mut seen = BTreeSet::new();
        let items: Vec<String> =
            api.items().map(ToString::to_string).filter(|item| seen.insert(item.clone())).collect();
        if mode == "write" {
            fs::write(page, items.join("\n") + "\n").unwrap_or_else(|error| panic!("{page}: {error}"));
            continue;
        }
        let text = fs::read_to_string(page).unwrap_or_else(|error| panic!("{page}: {error}"));
        let [had, has]: [BTreeSet<&str>; 2] = [text.lines().collect(), items.iter().map(String::as_str).collect()];
        for (sign, items) in [('-', had.difference(&has)), ('+', has.difference(&had))] {
            for item in items.filter(|_| sign == '+' || mode == "check") {
                differ = true;
                println!("{page}: {sign}{item}");
            }
        }
    }
    if differ {
        println!("the public API changed: `.ci/api --write` records it");
        exit(1);
    }
}

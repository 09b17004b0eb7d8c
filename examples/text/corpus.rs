//! Texts with labels: generated, or read from a file.

use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::IndexedRandom;
use rand::{RngExt, SeedableRng};
use std::path::Path;

const SENTENCES: usize = 4_000;
/// The share of words that say something of the topic.
const TOPICAL: f64 = 0.35;
/// How often such a word is of the sentence's own topic.
const OWN: f64 = 0.85;
/// The share of words that are rare: names and numbers, most of which occur once.
const RARE: f64 = 0.1;

const KITCHEN: &[&str] = &[
    "bake", "boil", "bread", "butter", "cake", "cheese", "cook", "cup", "dough", "flour", "fry", "garlic", "honey",
    "knife", "lemon", "oven", "pan", "pasta", "pepper", "plate", "recipe", "rice", "salt", "sauce", "soup", "spoon",
    "stir", "sugar", "taste", "tomato",
];
const SEA: &[&str] = &[
    "anchor",
    "bay",
    "beach",
    "boat",
    "captain",
    "coast",
    "compass",
    "crew",
    "deck",
    "fish",
    "fog",
    "harbour",
    "island",
    "knot",
    "lighthouse",
    "mast",
    "net",
    "oar",
    "port",
    "reef",
    "rope",
    "sail",
    "sailor",
    "shore",
    "storm",
    "tide",
    "wave",
    "whale",
    "wharf",
    "wind",
];
const COMMON: &[&str] = &[
    "a", "after", "again", "all", "and", "at", "before", "big", "but", "day", "every", "first", "for", "from", "good",
    "great", "he", "her", "his", "in", "it", "little", "long", "many", "morning", "new", "of", "old", "on", "over",
    "she", "some", "the", "then", "they", "three", "to", "two", "was", "we", "were", "with",
];

/// Texts, their classes, and the names of the classes.
pub(crate) struct Corpus {
    pub(crate) texts: Vec<String>,
    pub(crate) labels: Vec<usize>,
    pub(crate) classes: Vec<String>,
}

impl Corpus {
    /// Sentences of common words, of words of two topics, and of rare words.
    pub(crate) fn generate(seed: u64) -> Self {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let topics = [KITCHEN, SEA];
        let (mut texts, mut labels) = (vec![], vec![]);
        for sentence in 0..SENTENCES {
            let label = sentence % topics.len();
            let length = rng.random_range(8..16);
            let words: Vec<String> = (0..length)
                .map(|_| {
                    let kind = rng.random::<f64>();
                    if kind < RARE {
                        return format!("n{}", rng.random_range(0..100_000));
                    }
                    let list = if kind >= RARE + TOPICAL {
                        COMMON
                    } else if rng.random_bool(OWN) {
                        topics[label]
                    } else {
                        topics[1 - label]
                    };
                    list.choose(&mut rng).expect("a list of words").to_string()
                })
                .collect();
            texts.push(words.join(" "));
            labels.push(label);
        }
        Self { texts, labels, classes: vec!["kitchen".into(), "sea".into()] }
    }

    /// A line `label<TAB>text` for each text. Classes are numbered in the order in which they first occur.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let name = path.display();
        let file = std::fs::read_to_string(path).map_err(|trouble| format!("{name}: cannot be read, got {trouble}"))?;
        let mut corpus = Self { texts: vec![], labels: vec![], classes: vec![] };
        for (number, line) in file.lines().enumerate().filter(|(_, line)| !line.trim().is_empty()) {
            let Some((label, text)) = line.split_once('\t') else {
                let got: String = line.chars().take(60).collect();
                return Err(format!("{name}: line {}: \"label<TAB>text\" is due, got {got:?}", number + 1));
            };
            let known = corpus.classes.iter().position(|class| class == label);
            let class = known.unwrap_or_else(|| {
                corpus.classes.push(label.into());
                corpus.classes.len() - 1
            });
            corpus.labels.push(class);
            corpus.texts.push(text.into());
        }
        Ok(corpus)
    }
}

/// The words of a text, in lower case.
pub(crate) fn words(text: &str) -> impl Iterator<Item = String> + '_ {
    text.split(|letter: char| !letter.is_alphanumeric()).filter(|word| !word.is_empty()).map(str::to_lowercase)
}

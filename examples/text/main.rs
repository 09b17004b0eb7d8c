//! Classifies texts by logistic regression on hashed words: a sparse matrix of 2^20 columns, of which a step reads few.
//!
//! ```text
//! cargo run --release --example text                        # sentences generated from two topics
//! cargo run --release --example text -- --data texts.tsv    # a line "label<TAB>text" for each text
//! cargo run --release --example text -- --help
//! ```
//!
//! The picture shows the loss of each step, and how many words the texts have.

#[path = "../shared/console.rs"]
mod console;
mod corpus;
#[path = "../shared/numbers.rs"]
mod numbers;
#[path = "../shared/picture.rs"]
mod picture;

use burn::module::Module;
use burn::nn::Initializer;
use burn::tensor::activation::log_softmax;
use burn::tensor::{Device, Int, Tensor};
use clap::Parser;
use console::{finish, progress, say};
use corpus::{Corpus, words};
use numbers::above_zero;
use picture::{make_folder, save};
use rand::SeedableRng;
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::SliceRandom;
use sparse_tensor::CsrTensor;
use sparse_tensor::data::{FeatureHasher, random_split};
use sparse_tensor::nn::{RowAdagradConfig, RowOptimizer, RowTable, RowTableConfig};
use sparse_tensor::plot::{Plot, curves, grid, histogram};
use std::collections::HashMap;
use std::path::PathBuf;
use std::process::ExitCode;
use std::time::{Duration, Instant};

/// A word in so many texts may be printed.
const COMMON: usize = 5;
/// Words printed for each class.
const SHOWN: usize = 8;
/// A word of every text, whose weights are the bias.
const BIAS: &str = "(bias)";

/// Trains a sparse logistic regression on hashed words.
///
/// A word's column is a hash of the word, so there is no vocabulary. A batch is a few rows of a sparse matrix, and the
/// weights are a table with a row for each column: a step reads and changes only the rows of the words in its batch.
/// Four fifths of the texts are for training, the others are for testing. The picture shows the loss of each step and
/// the number of words of the texts. The last line of the output is `test accuracy: A over N texts, T ms/step`.
#[derive(Parser, Debug)]
#[command(name = "text")]
struct Args {
    /// File with a line "label<TAB>text" for each text, UTF-8
    #[arg(long, value_name = "FILE")]
    data: Option<PathBuf>,
    /// Number of columns, as a power of two
    #[arg(long, value_name = "N", default_value_t = 20, value_parser = clap::value_parser!(u32).range(1..=31))]
    bits: u32,
    /// Passes over the training texts
    #[arg(long, value_name = "N", default_value_t = 5, value_parser = clap::value_parser!(u32).range(1..=100_000))]
    epochs: u32,
    /// Texts in a step
    #[arg(long, value_name = "N", default_value_t = 64, value_parser = clap::value_parser!(u32).range(1..=1 << 20))]
    batch: u32,
    /// Learning rate of Adagrad
    #[arg(long, default_value_t = 0.1, value_parser = above_zero)]
    lr: f64,
    /// Seed of the generated sentences, the split and the batches
    #[arg(long, default_value_t = 0)]
    seed: u64,
    /// Folder for the picture, text.svg and text.png
    #[arg(long, value_name = "DIR", default_value = "target/text")]
    out: PathBuf,
    /// Print the last line only
    #[arg(long)]
    quiet: bool,
}

fn main() -> ExitCode {
    finish(run(&Args::parse()))
}

fn run(args: &Args) -> Result<(), String> {
    let device = Device::default().autodiff();
    make_folder(&args.out)?;
    let corpus = match &args.data {
        Some(path) => Corpus::read(path)?,
        None => Corpus::generate(args.seed),
    };
    let splits = random_split(corpus.texts.len(), 0.8, 0.0, args.seed).map_err(|trouble| trouble.to_string())?;
    if splits.train.is_empty() || splits.test.is_empty() {
        return Err(format!("there must be at least 5 texts, got {}", corpus.texts.len()));
    }
    let hasher = FeatureHasher::new(1 << args.bits).map_err(|trouble| trouble.to_string())?;
    if !args.quiet {
        let (texts, classes) = (corpus.texts.len(), corpus.classes.join(", "));
        say(&format!("{texts} texts of the classes {classes}; for example: {:?}", corpus.texts[0]));
    }
    let (table, step, losses) = train(args, &corpus, &hasher, &splits.train, &device)?;
    let plain = table.valid();
    if !args.quiet {
        print_words(&corpus, &hasher, &splits.train, &plain);
    }
    let (x, labels) = corpus_matrix(&corpus, &hasher, &splits.test, &device.inner())?;
    let right = plain.matmul(&x).0.argmax(1).equal(labels.unsqueeze_dim(1)).int().sum().into_scalar::<i64>();
    let saved = save(&draw(&corpus, &losses), &args.out, "text")?;
    if !args.quiet {
        say(&saved);
    }
    let (count, step) = (splits.test.len(), step.as_secs_f64() * 1e3);
    say(&format!("test accuracy: {:.4} over {count} texts, {step:.3} ms/step", right as f64 / count as f64));
    Ok(())
}

/// The loss of each step, and the texts by their number of words.
fn draw(corpus: &Corpus, losses: &[f32]) -> Plot {
    let lengths: Vec<usize> = corpus.texts.iter().map(|text| words(text).count()).collect();
    let mut counts = vec![0; lengths.iter().max().map_or(0, |most| most + 1)];
    lengths.into_iter().for_each(|length| counts[length] += 1);
    let loss = curves(&[("each step", losses)]).with_title("Training loss").with_axes("step", "cross-entropy");
    let lengths = histogram(&counts).with_title("Lengths of the texts").with_axes("words", "texts");
    grid(&[loss, lengths], 2)
}

/// The weights `[columns, classes]`, the median time of a step, and the loss of each.
fn train(
    args: &Args,
    corpus: &Corpus,
    hasher: &FeatureHasher,
    texts: &[usize],
    device: &Device,
) -> Result<(RowTable, Duration, Vec<f32>), String> {
    let (x, labels) = corpus_matrix(corpus, hasher, texts, device)?;
    let config = RowTableConfig::new(hasher.columns(), corpus.classes.len()).with_initializer(Initializer::Zeros);
    let mut table = config.init(device);
    let mut optimizer = RowAdagradConfig::new().init(&table);
    let mut order: Vec<i64> = (0..texts.len() as i64).collect();
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(args.seed);
    let bar = progress(args.quiet, u64::from(args.epochs) * order.len().div_ceil(args.batch as usize) as u64, "steps");
    let (mut times, mut losses) = (vec![], vec![]);
    for epoch in 1..=args.epochs {
        order.shuffle(&mut rng);
        let (mut rows_sum, before) = (0, losses.len());
        for chosen in order.chunks(args.batch as usize) {
            let start = Instant::now();
            let chosen = Tensor::<1, Int>::from_ints(chosen, device);
            let (logits, read) = table.matmul(&x.select(0, chosen.clone()));
            let target = labels.clone().select(0, chosen).unsqueeze_dim(1);
            let loss = log_softmax(logits, 1).gather(1, target).mean().neg();
            let grad = read.grad(&loss.backward()).expect("the loss reads the table");
            rows_sum += grad.ids().dims()[0];
            table = optimizer.step(args.lr, table, grad);
            losses.push(loss.into_scalar::<f32>());
            times.push(start.elapsed());
            bar.inc(1);
        }
        if !args.quiet {
            let of_epoch = &losses[before..];
            let (steps, all) = (of_epoch.len(), hasher.columns());
            let (loss, rows) = (of_epoch.iter().sum::<f32>() / steps as f32, rows_sum / steps);
            bar.suspend(|| say(&format!("epoch {epoch}: loss {loss:.4}, {rows} of {all} rows changed in a step")));
        }
    }
    bar.finish_and_clear();
    times.sort_unstable();
    Ok((table, times[times.len() / 2], losses))
}

/// The counts of hashed words `[texts, columns]`, and the class of each text.
fn corpus_matrix(
    corpus: &Corpus,
    hasher: &FeatureHasher,
    texts: &[usize],
    device: &Device,
) -> Result<(CsrTensor<2>, Tensor<1, Int>), String> {
    let lists: Vec<Vec<String>> =
        texts.iter().map(|&text| words(&corpus.texts[text]).chain([BIAS.to_string()]).collect()).collect();
    let counts = hasher.counts(&lists, device).map_err(|trouble| trouble.to_string())?;
    let labels: Vec<i64> = texts.iter().map(|&text| corpus.labels[text] as i64).collect();
    Ok((counts, Tensor::from_ints(labels.as_slice(), device)))
}

/// For each class the words that speak for it most.
fn print_words(corpus: &Corpus, hasher: &FeatureHasher, texts: &[usize], table: &RowTable) {
    let mut counts: HashMap<String, usize> = HashMap::new();
    for word in texts.iter().flat_map(|&text| words(&corpus.texts[text])) {
        *counts.entry(word).or_default() += 1;
    }
    let mut known: Vec<String> =
        counts.into_iter().filter(|&(_, count)| count >= COMMON).map(|(word, _)| word).collect();
    known.sort_unstable();
    if known.is_empty() {
        return;
    }
    let columns: Vec<i64> = known.iter().map(|word| hasher.column(word).0 as i64).collect();
    let (weights, _) = table.select(Tensor::from_ints(columns.as_slice(), &table.weight.val().device()));
    // What a word adds to the logit of a class, more than to the others.
    let weights: Vec<f32> = (weights.clone() - weights.mean_dim(1)).into_data().iter().collect();
    for (class, name) in corpus.classes.iter().enumerate() {
        let weight = |word: usize| weights[word * corpus.classes.len() + class] * hasher.column(&known[word]).1;
        let mut order: Vec<usize> = (0..known.len()).collect();
        order.sort_by(|&a, &b| weight(b).total_cmp(&weight(a)));
        let speak = order.iter().take(SHOWN).take_while(|&&word| weight(word) > 0.0);
        let best = speak.map(|&word| format!("{} {:.2}", known[word], weight(word)));
        say(&format!("words for {name}: {}", best.collect::<Vec<_>>().join(", ")));
    }
}

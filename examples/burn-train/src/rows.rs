//! Documents as sparse rows: a data set, a batcher that makes CSR tensors, and a linear model.

use crate::training::{Loaders, Outcome, Settings, train};
use burn::data::dataloader::DataLoaderBuilder;
use burn::data::dataloader::batcher::Batcher;
use burn::data::dataset::InMemDataset;
use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor, TensorData};
use burn_train::{ClassificationOutput, InferenceStep, TrainOutput, TrainStep};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_tensor::CsrTensor;

/// Number of different words.
const WORDS: usize = 5_000;
const TOPICS: usize = 4;

/// An item of the data set: a row with as many elements as the document has different words.
#[derive(Clone, Debug)]
pub(crate) struct Document {
    /// Words with their counts.
    words: Vec<(usize, f32)>,
    topic: usize,
}

/// Some documents as one sparse matrix.
#[derive(Clone, Debug)]
pub(crate) struct DocumentBatch {
    /// `[documents, words]`.
    counts: CsrTensor<2>,
    /// `[documents]`.
    topics: Tensor<1, Int>,
}

#[derive(Clone)]
struct DocumentBatcher;

impl Batcher<Document, DocumentBatch> for DocumentBatcher {
    fn batch(&self, items: Vec<Document>, device: &Device) -> DocumentBatch {
        let rows: Vec<&[(usize, f32)]> = items.iter().map(|document| document.words.as_slice()).collect();
        let topics: Vec<i64> = items.iter().map(|document| document.topic as i64).collect();
        // A batcher has no way to return an error, and every word is below WORDS.
        let counts = CsrTensor::from_rows(&rows, WORDS, device).unwrap_or_else(|trouble| panic!("{trouble}"));
        DocumentBatch { counts, topics: Tensor::from_data(TensorData::new(topics, [items.len()]), device) }
    }
}

/// Logistic regression: a weight for each word and topic.
#[derive(Module, Debug)]
struct TopicModel {
    linear: Linear,
}

impl TopicModel {
    fn forward(&self, batch: DocumentBatch) -> ClassificationOutput {
        let logits = batch.counts.matmul(self.linear.weight.val());
        let logits = match &self.linear.bias {
            Some(bias) => logits + bias.val().unsqueeze(),
            None => logits,
        };
        let loss = CrossEntropyLossConfig::new().init(&logits.device()).forward(logits.clone(), batch.topics.clone());
        ClassificationOutput::new(loss, logits, batch.topics)
    }
}

impl TrainStep for TopicModel {
    type Input = DocumentBatch;
    type Output = ClassificationOutput;

    fn step(&self, batch: DocumentBatch) -> TrainOutput<ClassificationOutput> {
        let out = self.forward(batch);
        TrainOutput::new(self, out.loss.backward(), out)
    }
}

impl InferenceStep for TopicModel {
    type Input = DocumentBatch;
    type Output = ClassificationOutput;

    fn step(&self, batch: DocumentBatch) -> ClassificationOutput {
        self.forward(batch)
    }
}

/// Burn's loader shuffles from the start when it is made anew. So a resumed run goes on with other orders than a run
/// that was never stopped.
pub(crate) fn run(settings: &Settings) -> Result<Outcome, String> {
    let loader = || {
        let loader = DataLoaderBuilder::new(DocumentBatcher).batch_size(settings.batch_size);
        loader.num_workers(settings.workers).set_device(settings.device.clone())
    };
    let loaders = Loaders {
        train: loader().shuffle(settings.seed.wrapping_add(settings.done as u64)).build(documents(4_000, 1)),
        valid: loader().build(documents(500, 2)),
        test: loader().build(documents(1_000, 3)),
    };
    let model = TopicModel { linear: LinearConfig::new(WORDS, TOPICS).init(&settings.device) };
    train(settings, model, loaders)
}

/// Generated documents of 20 to 60 words. Most words are common to all topics; one of five is from the topic's own part
/// of the vocabulary.
fn documents(count: usize, seed: u64) -> InMemDataset<Document> {
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut document = || {
        let (topic, length) = (rng.random_range(0..TOPICS), rng.random_range(20..60));
        let mut word = || match rng.random_range(0..5) {
            0 => topic * 500 + rng.random_range(0..500),
            _ => rng.random_range(0..WORDS),
        };
        // A word that is drawn twice is counted by `from_rows`.
        Document { words: (0..length).map(|_| (word(), 1.0)).collect(), topic }
    };
    InMemDataset::new((0..count).map(|_| document()).collect())
}

//! What users took: generated, or read from a file.

use crate::adjacency::{Opened, open};
use burn::tensor::{Device, Tensor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::seq::index::sample;
use rand::{RngExt, SeedableRng};
use sparse_tensor::CsrTensor;
use sparse_tensor::data::random_split;
use sparse_tensor::io::edge_list::Options;
use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

/// Generated users that took something, if there are so many.
const ACTIVE: usize = 2_000;
const ITEMS: usize = 500;
/// Groups of items; each user likes one.
const GROUPS: usize = 20;
/// Items that a user takes.
const TAKEN: usize = 12;
/// The probability that an item is of the group that the user likes.
const TASTE: f64 = 0.8;
/// The share of the pairs that are kept for the test.
const TEST: f64 = 0.2;

/// Pairs of a user and an item. Users that took something are numbered from 0.
pub(crate) struct Log {
    /// Users that exist: rows of their table.
    pub(crate) users: usize,
    pub(crate) items: usize,
    pub(crate) train: Vec<(usize, usize)>,
    pub(crate) test: Vec<(usize, usize)>,
    /// The row of each user who took something.
    rows: Vec<usize>,
}

impl Log {
    /// Users who like one group of items each. Those who took something are spread over the table.
    pub(crate) fn generate(users: usize, seed: u64) -> Result<Self, String> {
        let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
        let active = ACTIVE.min(users);
        let rows = sample(&mut rng, users, active).into_vec();
        let mut pairs = BTreeSet::new();
        for user in 0..active {
            let group = rng.random_range(0..GROUPS);
            for _ in 0..TAKEN {
                let liked = rng.random_bool(TASTE);
                let item = rng.random_range(0..ITEMS);
                // The items of a group are those with the same number modulo the number of groups.
                pairs.insert((user, if liked { item - item % GROUPS + group } else { item }));
            }
        }
        Self::split(users, ITEMS, pairs, rows, seed)
    }

    /// A line of the file, or an element of its matrix, for each pair. Numbers may have gaps: only those that occur get
    /// a row.
    pub(crate) fn read(path: &Path, seed: u64, quiet: bool) -> Result<Self, String> {
        let opened = open(path, &Options::new(), quiet, &Device::default()).map_err(|trouble| trouble.to_string())?;
        let pairs: Vec<(usize, usize)> = match opened {
            Opened::Edges(list) => list.edges,
            Opened::Matrix(matrix) => {
                let (users, items, _) = matrix.to_triplets::<f32>();
                users.into_iter().zip(items).collect()
            }
        };
        let users = numbered(pairs.iter().map(|&(user, _)| user));
        let items = numbered(pairs.iter().map(|&(_, item)| item));
        let pairs = pairs.iter().map(|(user, item)| (users[user], items[item])).collect();
        Self::split(users.len(), items.len(), pairs, (0..users.len()).collect(), seed)
    }

    fn split(
        users: usize,
        items: usize,
        pairs: BTreeSet<(usize, usize)>,
        rows: Vec<usize>,
        seed: u64,
    ) -> Result<Self, String> {
        let pairs: Vec<(usize, usize)> = pairs.into_iter().collect();
        let split = random_split(pairs.len(), 1.0 - TEST, 0.0, seed).map_err(|trouble| trouble.to_string())?;
        let [train, test] = [split.train, split.test].map(|ids| ids.into_iter().map(|id| pairs[id]).collect());
        let log = Self { users, items, train, test, rows };
        if log.train.is_empty() || log.test.is_empty() {
            return Err(format!("there must be some pairs to train on and some to test, got {} in all", pairs.len()));
        }
        Ok(log)
    }

    /// How many users took something (of a file: how many there are).
    pub(crate) fn active(&self) -> usize {
        self.rows.len()
    }

    /// The row of a user's embedding.
    pub(crate) fn row(&self, user: usize) -> usize {
        self.rows[user]
    }

    /// How many items were taken by 0, 1, .. users.
    pub(crate) fn popularity(&self) -> Vec<usize> {
        let mut users = vec![0; self.items];
        self.train.iter().chain(&self.test).for_each(|&(_, item)| users[item] += 1);
        let mut counts = vec![0; users.iter().max().map_or(0, |most| most + 1)];
        users.into_iter().for_each(|users| counts[users] += 1);
        counts
    }

    /// The pairs of the first users as a matrix `[tested, items]`.
    pub(crate) fn matrix(
        &self,
        pairs: &[(usize, usize)],
        tested: usize,
        device: &Device,
    ) -> Result<CsrTensor<2>, String> {
        let pairs: Vec<(usize, usize)> = pairs.iter().copied().filter(|&(user, _)| user < tested).collect();
        let ones = Tensor::<1>::ones([pairs.len()], device);
        CsrTensor::from_edges(&pairs, ones, [tested, self.items]).map_err(|trouble| trouble.to_string())
    }

    /// The recall of a list of `top` items at random, about: what a user knows is not offered.
    pub(crate) fn chance(&self, top: usize) -> f64 {
        let known = self.train.len() as f64 / self.active() as f64;
        (top as f64 / (self.items as f64 - known)).min(1.0)
    }
}

/// A number from 0 for each different id, in their order.
fn numbered(ids: impl Iterator<Item = usize>) -> BTreeMap<usize, usize> {
    let distinct: BTreeSet<usize> = ids.collect();
    distinct.into_iter().enumerate().map(|(number, id)| (id, number)).collect()
}

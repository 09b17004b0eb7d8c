//! Features across the parts of a graph.

use super::message::{Step, malformed, put, take, together};
use super::part::Partition;
use crate::mapped::features::FeatureStore;
use crate::mapped::hot::HotRows;
use burn::tensor::{Tensor, TensorCreationOptions};
use sparse_macros::or_panic;
use sparse_ops::extend::check_ids;
use sparse_ops::{Kind, Result, SparseError};
use sparse_ranks::Collective;
use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

/// The features of all nodes of a graph in parts. [`Partition::features`] opens them.
///
/// A batch takes rows of its own part from the mapped file, and others from their owners, in two exchanges: 8 bytes for
/// each row that is asked for, and the rows. [`with_hot_rows`](Self::with_hot_rows) keeps rows of other parts that were
/// used lately, so that they do not travel again. Features are constants: nothing here forgets a changed one.
#[derive(Clone)]
pub struct PartFeatures {
    part: Partition,
    own: Arc<FeatureStore>,
    hot: Arc<HotRows>,
}

impl Partition {
    /// The features of the graph's nodes.
    ///
    /// # Errors
    ///
    /// `invalid` if the graph was prepared without features.
    pub fn features(&self) -> Result<PartFeatures> {
        const OP: &str = "Partition::features";
        match self.0.features.clone() {
            Some(own) => Ok(PartFeatures { part: self.clone(), own, hot: Arc::new(HotRows::none()) }),
            None => {
                Err(SparseError::invalid(OP, "the graph must have features, got a folder that was prepared without"))
            }
        }
    }
}

impl PartFeatures {
    /// Keeps the last `rows` rows of other parts that were used in memory; 0 keeps none. The memory is taken as it
    /// fills.
    pub fn with_hot_rows(mut self, rows: usize) -> Self {
        self.hot = Arc::new(HotRows::new(rows, self.own.width()));
        self
    }

    /// Number of rows: that of nodes.
    pub fn rows(&self) -> usize {
        self.part.nodes()
    }

    /// How many rows of other parts came from memory, and how many from their owners. Both are 0 without hot rows.
    pub fn served(&self) -> (u64, u64) {
        self.hot.served()
    }

    /// Fetches rows ahead, such as those of [`Partition::halo`]: the first ones, as many as are kept. Own rows are left
    /// out. All ranks must call it.
    ///
    /// # Errors
    ///
    /// As [`gather`](Self::try_gather).
    pub fn warm<C: Collective + ?Sized>(&self, ranks: &mut C, ids: &[usize]) -> Result<()> {
        let owned = self.part.owned();
        // In reverse, so that the first ones are those that were used last.
        let mut ids: Vec<usize> = ids.iter().copied().filter(|id| !owned.contains(id)).take(self.hot.rows()).collect();
        ids.reverse();
        self.read("PartFeatures::warm", ranks, &ids, Ok(())).map(drop)
    }

    /// The rows of these ids `[ids, ..]` on a device: `&device`, or `(&device, dtype)` to convert them. Ids may repeat,
    /// and be of any part. All ranks must call it; one that needs no rows asks for none.
    ///
    /// # Errors
    ///
    /// - those of [`FeatureStore::gather`](FeatureStore::try_gather);
    /// - `invalid` if another rank has an error, or calls another function;
    /// - those of the collective.
    #[or_panic]
    pub fn try_gather<C: Collective + ?Sized, const D: usize, K: Kind>(
        &self,
        ranks: &mut C,
        ids: &[usize],
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Tensor<D, K>> {
        const OP: &str = "PartFeatures::gather";
        let options = options.into();
        // What a tensor of no rows says holds for all. The other ranks must hear of it.
        let fits = || self.own.tensor::<D, K>(OP, vec![], 0, options.clone()).map(drop);
        let fits = self.own.check_rank::<D>(OP).and_then(|()| fits());
        let bytes = self.read(OP, ranks, ids, fits)?;
        self.own.tensor(OP, bytes, ids.len(), options)
    }

    /// The bytes of these rows, one after the other, unless this rank has an error already.
    fn read<C: Collective + ?Sized>(
        &self,
        op: &'static str,
        ranks: &mut C,
        ids: &[usize],
        fits: Result<()>,
    ) -> Result<Vec<u8>> {
        let (part, width) = (&*self.part.0, self.own.width());
        let plan = fits.and_then(|()| check_ids(op, ids, self.rows())).and_then(|()| self.plan(op, ids));
        let (plan, asks) = match plan {
            Ok(plan) => {
                let asks = plan.asked.iter().map(|ids| list(ids)).collect();
                (plan, Ok(asks))
            }
            Err(error) => (Plan::default(), Err(error)),
        };
        let asks = together(ranks, part.opened(), op, Step::AskRows, asks)?;
        let Plan { mut out, asked, places } = plan;
        let answers = asks.iter().enumerate().map(|(rank, ask)| {
            let rows = self.asked_for(ask.bytes()).ok_or_else(|| malformed(op, rank))?;
            self.own.read(op, &rows)
        });
        let answers = together(ranks, part.opened(), op, Step::AnswerRows, answers.collect())?;
        for (rank, answer) in answers.iter().enumerate() {
            if answer.bytes().len() != asked[rank].len() * width {
                return Err(malformed(op, rank));
            }
        }
        for &(k, owner, row) in &places {
            out[k * width..][..width].copy_from_slice(&answers[owner].bytes()[row * width..][..width]);
        }
        let others = places.iter().filter(|(_, owner, _)| *owner != part.rank);
        self.hot.keep(others.map(|&(k, ..)| (ids[k], &out[k * width..][..width])));
        Ok(out)
    }

    /// The own rows that a rank asks for. None if no rank of this release asks that: it names each row once.
    fn asked_for(&self, mut ask: &[u8]) -> Option<Vec<usize>> {
        let owned = self.part.owned();
        let ids = take::<u64>(&mut ask).filter(|ids| ask.is_empty() && ids.len() <= owned.len())?;
        let local = |id: u64| usize::try_from(id).ok().filter(|id| owned.contains(id)).map(|id| id - owned.start);
        ids.into_iter().map(local).collect()
    }

    fn plan(&self, op: &'static str, ids: &[usize]) -> Result<Plan> {
        let (part, owned) = (&*self.part.0, self.part.owned());
        let mut out = vec![0; self.own.length(op, ids.len())?];
        let (mine, others): (Vec<usize>, Vec<usize>) = (0..ids.len()).partition(|&k| owned.contains(&ids[k]));
        let cold = self.hot.take(ids, &others, &mut out);
        let mut asked = vec![Vec::new(); part.parts()];
        let mut seen = HashMap::with_capacity(mine.len() + cold.len());
        let places = mine.into_iter().chain(cold).map(|k| {
            let owner = part.owner(ids[k]);
            let row = *seen.entry(ids[k]).or_insert_with(|| {
                asked[owner].push(ids[k] as u64);
                asked[owner].len() - 1
            });
            (k, owner, row)
        });
        let places = places.collect();
        Ok(Plan { out, asked, places })
    }
}

/// Where the rows of a batch come from.
#[derive(Default)]
struct Plan {
    /// The rows, those from memory in place.
    out: Vec<u8>,
    /// The ids that each rank is asked for, this one too, each once.
    asked: Vec<Vec<u64>>,
    /// For each position that is not from memory the rank that has its row, and which one of the asked it is.
    places: Vec<(usize, usize, usize)>,
}

fn list(ids: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ids.len() * 8 + 8);
    put(&mut bytes, ids);
    bytes
}

impl fmt::Debug for PartFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartFeatures({:?}, {} hot rows)", self.part, self.hot.rows())
    }
}

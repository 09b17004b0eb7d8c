//! Features across the parts of a graph.

use super::super::collective::Collective;
use super::message::{Step, put, take, together};
use super::part::{Inner, Partition, invalid};
use crate::base::kind::Kind;
use crate::data::host::check_ids;
use crate::data::mapped::features::FeatureStore;
use crate::data::mapped::hot::HotRows;
use burn::tensor::{Tensor, TensorCreationOptions};
use sparse_core::{Result, SparseError};
use sparse_macros::or_panic;
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
    /// The features of the graph's nodes. Each rank must open them before one of them gathers.
    ///
    /// # Errors
    ///
    /// `invalid` if the graph was prepared without features, or the file cannot be read.
    pub fn features(&self) -> Result<PartFeatures> {
        const OP: &str = "Partition::features";
        let Some(path) = &self.0.features else {
            return Err(invalid(OP, "the graph must have features, got a folder that was prepared without"));
        };
        let own = FeatureStore::open_npy(path)?;
        let (expected, got) = (self.owned().len(), own.rows());
        if expected != got {
            return Err(SparseError::LengthMismatch { op: OP, what: "the features of the part", expected, got });
        }
        Ok(PartFeatures { part: self.clone(), own: Arc::new(own), hot: Arc::new(HotRows::none()) })
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
        // Read in reverse, so that the first ones are kept longest.
        let mut ids: Vec<usize> = ids.iter().copied().filter(|id| !owned.contains(id)).take(self.hot.rows()).collect();
        ids.reverse();
        self.read("PartFeatures::warm", ranks, &ids).map(drop)
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
        let bytes = self.read(OP, ranks, ids)?;
        self.own.check_rank::<D>(OP)?;
        self.own.tensor(OP, bytes, ids.len(), options.into())
    }

    /// The bytes of these rows, one after the other.
    fn read<C: Collective + ?Sized>(&self, op: &'static str, ranks: &mut C, ids: &[usize]) -> Result<Vec<u8>> {
        let (part, width) = (&*self.part.0, self.own.width());
        let plan = check_ids(op, ids, self.rows()).and_then(|()| Plan::new(op, part, &self.hot, width, ids));
        let asks = match &plan {
            Ok(plan) => Ok(plan.asked.iter().map(|ids| list(ids)).collect()),
            Err(error) => Err(error.clone()),
        };
        let asks = together(ranks, op, Step::AskRows, asks)?;
        let Plan { mut out, asked, own, places } = plan?;
        let owned = part.owned();
        let rows = asks.iter().enumerate().map(|(rank, ask)| {
            let ids = take::<u64>(&mut ask.bytes()).ok_or_else(|| malformed(op, rank))?;
            let local = |id: &u64| {
                let id = usize::try_from(*id).ok().filter(|id| owned.contains(id));
                id.map(|id| id - owned.start)
            };
            let ids: Option<Vec<usize>> = ids.iter().map(local).collect();
            self.own.read(op, &ids.ok_or_else(|| malformed(op, rank))?)
        });
        // Own rows have no message to go by.
        let rows = rows.collect::<Result<Vec<_>>>().and_then(|rows| {
            let local: Vec<usize> = own.iter().map(|&k| ids[k] - owned.start).collect();
            Ok((rows, self.own.read(op, &local)?))
        });
        let (rows, mine) = rows.map_or_else(|error| (Err(error), vec![]), |(rows, mine)| (Ok(rows), mine));
        let answers = together(ranks, op, Step::AnswerRows, rows)?;
        for (&k, row) in own.iter().zip(mine.chunks_exact(width)) {
            out[k * width..][..width].copy_from_slice(row);
        }
        for (rank, answer) in answers.iter().enumerate() {
            if answer.bytes().len() != asked[rank].len() * width {
                return Err(malformed(op, rank));
            }
        }
        for (k, owner, row) in places {
            out[k * width..][..width].copy_from_slice(&answers[owner].bytes()[row * width..][..width]);
        }
        for (ids, answer) in asked.iter().zip(&answers) {
            self.hot.keep(ids.iter().map(|&id| id as usize).zip(answer.bytes().chunks_exact(width)));
        }
        Ok(out)
    }
}

/// Where the rows of a batch come from.
struct Plan {
    /// The rows, those from memory in place.
    out: Vec<u8>,
    /// The ids that each rank is asked for, each once. None of the own ones.
    asked: Vec<Vec<u64>>,
    /// The positions of own rows.
    own: Vec<usize>,
    /// For each other position the rank that has its row, and which one of the asked it is.
    places: Vec<(usize, usize, usize)>,
}

impl Plan {
    fn new(op: &'static str, part: &Inner, hot: &HotRows, width: usize, ids: &[usize]) -> Result<Self> {
        let length = ids.len().checked_mul(width).filter(|&length| length <= isize::MAX as usize);
        let length = length.ok_or(SparseError::Overflow {
            op,
            what: "the bytes of the rows",
            limit: isize::MAX as u128,
            got: ids.len() as u128 * width as u128,
        })?;
        let owned = part.owned();
        let (own, others): (Vec<usize>, Vec<usize>) = (0..ids.len()).partition(|&k| owned.contains(&ids[k]));
        let mut out = vec![0; length];
        let cold = hot.take(ids, &others, &mut out);
        let mut asked = vec![Vec::new(); part.nodes.len() - 1];
        let mut seen = HashMap::with_capacity(cold.len());
        let places = cold.into_iter().map(|k| {
            let owner = part.owner(ids[k]);
            let row = *seen.entry(ids[k]).or_insert_with(|| {
                asked[owner].push(ids[k] as u64);
                asked[owner].len() - 1
            });
            (k, owner, row)
        });
        let places = places.collect();
        Ok(Self { out, asked, own, places })
    }
}

fn list(ids: &[u64]) -> Vec<u8> {
    let mut bytes = Vec::with_capacity(ids.len() * 8 + 8);
    put(&mut bytes, ids);
    bytes
}

fn malformed(op: &'static str, rank: usize) -> SparseError {
    invalid(op, format!("ranks must run the same release, got a message of another form from rank {rank}"))
}

impl fmt::Debug for PartFeatures {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "PartFeatures({:?}, {} hot rows)", self.part, self.hot.rows())
    }
}

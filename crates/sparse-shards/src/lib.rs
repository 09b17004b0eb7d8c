//! The folder of a prepared graph: what `sparse-prepare` writes and training reads. No Burn.
//!
//! A graph is cut into *parts*. Each has its own arrays in a folder `part-00000`, `part-00001`, ..:
//!
//! | file | dtype and shape | what |
//! |---|---|---|
//! | `row_ptr.npy` | i64 `[n + 1]` | where the edges of each node of the part start; the first is 0 |
//! | `col_idx.npy` | i32 or i64 `[e]` | the other ends, as dense ids of the whole graph, ascending strictly in a row |
//! | `values.npy` | f32 `[e]` | weights of the edges, if they have any |
//! | `features.npy` | f32 `[n, F]` | a row for each node, if there are features |
//! | `ids.npy` | i64 `[n]` | the original ids, ascending |
//! | `id_offsets.npy`, `id_bytes.npy` | i64 `[n + 1]`, u8 | instead of `ids.npy` if ids are strings: UTF-8, by bytes |
//!
//! `n` and `e` are the part's numbers of nodes and edges. **The dense ids of a part are contiguous**: part `p` owns
//! `start_p..end_p`, in the order of the parts, and in a part in the order of the original ids. So the owner of a node
//! is found by a binary search ([`Manifest::owner`]), and no table of other parts' nodes is stored. The columns are
//! i32 if every dense id fits one, so up to 2^31 nodes ([`Dtype::of_ids`]).
//!
//! `manifest.json` ([`Manifest`]) says all this, with the length and the checksum of each file. It is written last and
//! renamed into place: a folder without one is unfinished, and is never read.
//!
//! Arrays are NumPy's `.npy`, little-endian, in C order, with a header of 128 bytes: `numpy.load` reads them, and so do
//! `MappedGraph::open_npy` and `FeatureStore::open_npy` of sparse-tensor, which takes a folder of one part as it is.
//!
//! ```
//! use sparse_shards::{About, Dtype, IdKind, Kind, Manifest, Part, ShardWriter};
//!
//! # fn main() -> sparse_shards::Result<()> {
//! # let own = std::env::temp_dir().join(format!("sparse-shards-{}", std::process::id()));
//! # let folder = own.as_path();
//! // 7 -> 9, 9 -> 7: two nodes, two edges, one part.
//! let mut files = Vec::new();
//! for (kind, numbers) in [(Kind::Ids, vec![7i64, 9]), (Kind::RowPtr, vec![0, 1, 2])] {
//!     let mut file = ShardWriter::<i64>::create(folder, 0, kind, None)?;
//!     file.write(&numbers)?;
//!     files.push(file.finish()?);
//! }
//! let mut file = ShardWriter::<i32>::create(folder, 0, Kind::ColIdx, None)?;
//! file.write(&[1, 0])?;
//! files.push(file.finish()?);
//!
//! let about = About { symmetric: true, col_idx: Dtype::I32, ids: IdKind::Int, ..About::default() };
//! Manifest::new(about, vec![Part { nodes: 0..2, edges: 2, files }]).write(folder)?;
//!
//! let manifest = Manifest::open(folder)?;
//! manifest.verify()?;
//! assert_eq!((manifest.nodes, manifest.edges, manifest.owner(1), manifest.owner(2)), (2, 2, Some(0), None));
//! assert!(manifest.path(0, Kind::RowPtr).unwrap().ends_with("part-00000/row_ptr.npy"));
//! # std::fs::remove_dir_all(folder).unwrap();
//! # Ok(())
//! # }
//! ```

#![forbid(unsafe_code)]

mod disk;
mod error;
mod ids;
mod layout;
mod manifest;
mod npy;
mod verify;
mod writer;

pub use disk::{remove_manifest, sync_folder};
pub use error::{Result, ShardError};
pub use ids::Ids;
pub use layout::{About, FORMAT, Features, IdKind, Kind, MANIFEST, Part, ShardFile, VERSION};
pub use manifest::Manifest;
pub use npy::{Dtype, Element, HEADER};
pub use writer::ShardWriter;

//! For people who write operations, layers and file formats of their own.
pub use crate::base::checks::{creation_dtype, expect, has_dtype, same_device, same_elements};
pub use crate::base::coordinates::along;
pub use crate::base::data::converted;
pub use crate::base::empty::{cat_rows, nothing};
pub use crate::base::exact::Exact;
pub use crate::base::float::wide;
pub use crate::base::index::{
    cast_integers, check_ids, index_below, index_dtype, index_tensor, ints, narrow_index, numbers, read_all, signed,
};
pub use crate::base::kind::{associate, is_16_bit, of_kind};
pub use crate::base::lazy::Lazy;
pub use crate::base::limits::{Allowed, check_dim, check_rows, too_long};
pub use crate::base::scalar::int_range;
pub use crate::base::sizes::{cells, offsets};
pub mod kernel {
    pub use crate::kernel::*;
}
pub use crate::kernel::{Arrays, Compressed, Drops, Put};
pub use crate::module::record::CONTAINER;
pub use crate::ops::attention::{Scores, attend};
pub use crate::ops::broadcast::read_rows;
pub use crate::ops::graph::check_square;
pub use crate::ops::linear::{biased, linear};
pub use crate::ops::put_along_axis::{put, run, target};
pub use crate::pattern::diagonal::{off_diagonal, with_diagonal};
pub use crate::pattern::layout::Structure;
pub use crate::pattern::maps::axis_map;
pub use crate::pattern::memo::{Made, Memo};
pub use crate::rows::zip::zip;
pub use crate::rows::{RowMap, expand, move_rows, sum_dim};
pub use crate::tensor::construct::host::{from_entries, host_values};
pub use crate::tensor::plain::FILE_HINTS;
pub use sparse_autograd::{Erased, record};
pub use sparse_burn::replay::{is_dropped, lookup};
pub use sparse_burn::{Activation, BinaryOp, index_dtype_for, is_gpu, read_data};
pub use sparse_core::split_row_ptr;

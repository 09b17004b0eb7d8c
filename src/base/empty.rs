//! Operations that Burn, or one of its devices, does not support for empty tensors.

use super::kind::Kind;
use burn::tensor::Tensor;

/// Concatenates tensors along dim 0. Empty ones are left out: some devices cannot concatenate them.
pub(crate) fn cat_rows<K: Kind>(parts: impl IntoIterator<Item = Tensor<2, K>>) -> Tensor<2, K> {
    let (mut full, mut none): (Vec<_>, Vec<_>) = parts.into_iter().partition(|rows| rows.dims()[0] > 0);
    match full.len() {
        0 => none.pop().expect("at least one part"),
        1 => full.pop().expect("one part"),
        _ => Tensor::cat(full, 0),
    }
}

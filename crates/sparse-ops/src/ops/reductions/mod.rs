//! Reductions along dims, dense or sparse results; running sums; softmax.

pub(crate) mod along;
pub(crate) mod any_all;
pub(crate) mod argmax;
pub(crate) mod blocks;
pub(crate) mod count;
pub(crate) mod cumsum;
pub(crate) mod extremum;
pub(crate) mod fold_lines;
pub(crate) mod folds;
pub(crate) mod line_products;
pub(crate) mod line_sums;
pub(crate) mod norm;
pub(crate) mod reduce;
pub(crate) mod row_sums;
pub(crate) mod softmax;

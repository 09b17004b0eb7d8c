//! No operation forms a dense tensor of the full shape: everything that can stay sparse runs on
//! [1_000_000, 1_000_000], on a batch of two of them and on blocks of 4 elements, forward and backward, within 2 GiB;
//! what cannot names the number of elements.
//!
//! The last step holds the names of all public operations against those that ran (`huge/names.rs`), so a new operation
//! needs a line in one of the tables.

#[path = "huge/elementwise.rs"]
mod elementwise;
#[path = "huge/files.rs"]
mod files;
#[path = "huge/inputs.rs"]
mod inputs;
#[path = "huge/names.rs"]
mod names;
#[path = "huge/outcome.rs"]
mod outcome;
#[path = "huge/products.rs"]
mod products;
#[path = "huge/reductions.rs"]
mod reductions;
#[path = "huge/structure.rs"]
mod structure;

use sparse_tensor::SparseTensor;
use sparse_tensor::pattern::Pattern;

/// What every layout and rank can do.
fn any_layout<P: Pattern, const D: usize>(a: &SparseTensor<P, D>, b: &SparseTensor<P, D>) {
    elementwise::all(a, b);
    reductions::all(a, b);
    structure::parts(a, b);
    structure::sets(a, b);
}

#[test]
fn nothing_densifies() {
    let (a, b) = (inputs::matrix(977), inputs::matrix(13));
    any_layout(&a, &b);
    any_layout(&a.to_csr(), &b.to_csr());
    any_layout(&inputs::batch(&a, &b), &inputs::batch(&b, &a));
    any_layout(&inputs::hybrid(977), &inputs::hybrid(13));

    products::all(&a, &b);
    products::all(&a.to_csr(), &b.to_csr());
    products::all(&inputs::batch(&a, &b), &inputs::batch(&b, &a));
    products::graph(&a.to_csr());
    products::dense_tensors();
    structure::matrices(&a, &b);
    structure::matrices(&a.to_csr(), &b.to_csr());
    structure::layouts(&a, &b);
    structure::rows(&a.to_csr(), &inputs::batch(&a, &b));
    structure::one_axis(&a);
    files::all(&a);
    files::all(&a.to_csr());

    names::check();
}

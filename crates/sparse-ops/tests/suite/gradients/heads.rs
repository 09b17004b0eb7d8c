//! Products with dense dims and with batches of dense operands, and attention made of them.

use burn::tensor::{Tensor, TensorData};
use proptest::prelude::*;
use sparse_dev::draw::{Plain, plain, value};
use sparse_dev::gradients::check;
use sparse_tensor::ops::{self, Epilogue, Reduce};
use sparse_tensor::{CooTensor, CsrTensor, Fill};

/// A pattern, and numbers for operands of several heads.
#[derive(Clone, Debug)]
struct Case {
    edges: Plain,
    heads: usize,
    f: usize,
    /// `[nnz, heads]`, `[m, heads, f]` and `[n, heads, f]`.
    values: TensorData,
    x: TensorData,
    y: TensorData,
}

fn case(duplicates: bool) -> impl Strategy<Value = Case> {
    let edges = (1usize..4, 1usize..4).prop_flat_map(move |(m, n)| plain(vec![m, n], duplicates));
    let numbers = move |count: usize| proptest::collection::vec(value(), count);
    (edges, prop_oneof![Just(1usize), Just(2), Just(3)], 1usize..4).prop_flat_map(move |(edges, heads, f)| {
        let (nnz, m, n) = (edges.values.len(), edges.shape[0], edges.shape[1]);
        let drawn = (numbers(nnz * heads), numbers(m * heads * f), numbers(n * heads * f));
        drawn.prop_map(move |(values, x, y)| Case {
            edges: edges.clone(),
            heads,
            f,
            values: TensorData::new(values, [nnz, heads]),
            x: TensorData::new(x, [m, heads, f]),
            y: TensorData::new(y, [n, heads, f]),
        })
    })
}

impl Case {
    fn coo(&self, values: Tensor<2>) -> CooTensor<3> {
        let [m, n] = [self.edges.shape[0], self.edges.shape[1]];
        let indices = self.edges.indices(&values.device().inner());
        CooTensor::new(indices, values, [m, n, self.heads]).expect("valid coordinates")
    }

    fn csr(&self, values: Tensor<2>) -> CsrTensor<3> {
        self.coo(values).to_csr()
    }
}

proptest! {
    #[test]
    fn products_with_heads(
        a in case(true), pick in 0usize..4, csr: bool, fill in proptest::collection::vec(value(), 3),
    ) {
        let fill = TensorData::new(fill[..a.heads].to_vec(), [a.heads]);
        check(pick, &[a.values.clone(), a.y.clone(), fill], |xs| {
            let coo = a.coo(xs[0].tensor()).with_fill(Fill::tensor(xs[2].tensor::<1>()));
            let y: Tensor<3> = xs[1].tensor();
            if csr { coo.to_csr().matmul(y) } else { coo.matmul(y) }
        })?;
    }

    #[test]
    fn a_batch_of_operands(a in case(true), pick in 0usize..4, csr: bool) {
        check(pick, &[a.values.clone(), a.y.clone()], |xs| {
            let y: Tensor<3> = xs[1].tensor();
            let y: Tensor<4> = Tensor::stack(vec![y.clone(), y.powi_scalar(2)], 0);
            if csr { a.csr(xs[0].tensor()).matmul(y) } else { a.coo(xs[0].tensor()).matmul(y) }
        })?;
    }

    /// Far above or below zero, where ReLU has a slope.
    #[test]
    fn a_batch_of_operands_and_an_epilogue(a in case(true), pick in 0usize..4, relu: bool) {
        let bias = (0..a.f).map(|k| if k % 2 == 0 { 50.0 } else { -50.0 }).collect();
        check(pick, &[a.edges.data(), a.y.clone(), TensorData::new(bias, [a.f])], |xs| {
            let matrix = a.edges.coo::<2>(xs[0].tensor()).unsqueeze_dim::<3>(0);
            let operands = xs[1].tensor::<3>().swap_dims(0, 1);
            matrix.matmul_then(operands, Epilogue { bias: Some(xs[2].tensor()), relu })
        })?;
    }

    /// One value for all heads, and one operand for all of them.
    #[test]
    fn heads_that_broadcast(a in case(false), pick in 0usize..4) {
        check(pick, &[a.values.clone(), a.y.clone()], |xs| {
            let (values, y): (Tensor<2>, Tensor<3>) = (xs[0].tensor(), xs[1].tensor());
            let all = a.csr(values.clone()).matmul(y.clone().narrow(1, 0, 1));
            let edges = a.edges.coo::<2>(a.edges.leaf(&values.device())).detach().to_csr();
            let one: CsrTensor<3> = edges.with_head_values(values.clone().narrow(1, a.heads - 1, 1));
            let pairs: CsrTensor<4> = edges.with_head_values(values.unsqueeze_dim::<3>(1));
            let read = Tensor::<3>::stack::<4>(vec![y.clone(), y.clone() * 2.0], 1);
            let sums: Tensor<3> = pairs.matmul(read).sum_dim(1).squeeze_dim(1);
            all + one.matmul(y) + sums
        })?;
    }

    #[test]
    fn messages(a in case(false), pick in 0usize..4) {
        let count = a.edges.values.len() * a.heads * a.f;
        let values = (0..count).map(|k| (k % 7) as f64 / 3.0 - 1.0).collect();
        let values = TensorData::new(values, [a.edges.values.len(), a.heads, a.f]);
        check(pick, &[values, a.y.clone()], |xs| {
            let edges = a.edges.coo::<2>(a.edges.leaf(&xs[1].tensor::<3>().device())).detach();
            let messages: CooTensor<4> = edges.with_head_values(xs[0].tensor::<3>());
            messages.matmul(xs[1].tensor::<3>())
        })?;
    }

    #[test]
    fn sampled_products(a in case(true), pick in 0usize..4, csr: bool) {
        check(pick, &[a.x.clone(), a.y.clone()], |xs| {
            let (x, y): (Tensor<3>, Tensor<3>) = (xs[0].tensor(), xs[1].tensor());
            let device = x.device().inner();
            let edges = a.edges.coo::<2>(a.edges.leaf(&device));
            if csr {
                ops::head_sddmm(x, y, &edges.to_csr()).values::<2>()
            } else {
                ops::head_sddmm(x, y, &edges).values::<2>()
            }
        })?;
    }

    /// Scores, softmax over the edges of each row, and the weighted sum, all with the same operands.
    #[test]
    fn attention(a in case(false), pick in 0usize..4) {
        check(pick, &[a.x.clone(), a.y.clone(), a.values.clone()], |xs| {
            let (x, y): (Tensor<3>, Tensor<3>) = (xs[0].tensor(), xs[1].tensor());
            let edges = a.csr(xs[2].tensor());
            let scores = ops::head_sddmm(x, y.clone(), &edges).values::<2>() * 0.3 + edges.values::<2>();
            let scores: CsrTensor<3> = edges.with_values(scores).with_fill(Fill::Undefined);
            scores.softmax(1).matmul(y)
        })?;
    }

    /// The same in one rule, over elements of which some are twice at a place.
    #[test]
    fn attention_in_one_rule(a in case(true), pick in 0usize..4, csr: bool) {
        let value = TensorData::new(a.y.iter::<f64>().map(|y| 1.0 - y * y).collect(), a.y.shape().clone());
        check(pick, &[a.x.clone(), a.y.clone(), value], |xs| {
            let [query, key, value] = [0, 1, 2].map(|k| xs[k].tensor::<3>());
            let edges = a.edges.coo::<2>(a.edges.leaf(&query.device().inner()));
            if csr {
                ops::attention(query, key, value, &edges.to_csr(), Some(0.3), 0.0)
            } else {
                ops::attention(query, key, value, &edges, Some(0.3), 0.0)
            }
        })?;
    }

    #[test]
    fn other_reductions(a in case(false), pick in 0usize..4, reduce in 0usize..4) {
        let reduce = [Reduce::Mean, Reduce::Amax, Reduce::Amin, Reduce::Mul][reduce];
        // Numbers of their own: a tie is a kink.
        let apart = |data: &TensorData, from: usize, step: f64| {
            let list = (0..data.num_elements()).map(|k| 1.0 + ((k * 37 + from) % 101) as f64 * step).collect();
            TensorData::new(list, data.shape().clone())
        };
        let (values, y) = (apart(&a.values, 5, 0.0137), apart(&a.y, 50, 0.0171));
        check(pick, &[values, y], |xs| a.csr(xs[0].tensor()).matmul_reduce(xs[1].tensor::<3>(), reduce))?;
    }

    #[test]
    fn a_batch_from_the_left(a in case(true), pick in 0usize..4) {
        check(pick, &[a.values.clone(), a.x.clone()], |xs| {
            let values: Tensor<2> = xs[0].tensor();
            let edges = a.edges.coo::<2>(values.narrow(1, 0, 1).flatten(0, 1));
            edges.rmatmul(xs[1].tensor::<3>().permute([1, 2, 0]))
        })?;
    }
}

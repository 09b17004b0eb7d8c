//! What an operation gave, in a form that can be compared.

use crate::case::Number;
use crate::inputs::{Context, read};
use burn::tensor::{Scalar, Tensor};
use sparse_tensor::{Fill, FillValue, Kind, SparseTensor, dtype_name, pattern::Pattern};

/// Stored structure of a sparse output.
pub struct Stored {
    pub layout: &'static str,
    /// `[sparse_dims][nnz]`.
    pub indices: Vec<Vec<i64>>,
    pub values: Vec<Number>,
    /// `None` for an undefined fill; else one value or one for each element of a block.
    pub fill: Option<Vec<Number>>,
    /// Elements of a value block.
    pub block: usize,
}

pub struct Produced {
    pub shape: Vec<usize>,
    pub dtype: String,
    /// The dense equivalent; 0 where a fill is undefined.
    pub dense: Vec<Number>,
    pub stored: Option<Stored>,
    /// `sum(cotangent * dense(output))`, or of the stored values.
    pub loss: Option<Tensor<1>>,
}

/// `sum(cotangent * tensor)`, where there is a cotangent.
fn loss<const D: usize, K: Kind>(context: &Context, tensor: &Tensor<D, K>) -> Option<Tensor<1>> {
    let cotangent = context.cotangent.as_ref()?;
    let float = Tensor::<D>::from_dispatch(tensor.clone().into_dispatch());
    assert_eq!(cotangent.len(), float.shape().num_elements(), "the cotangent fits the output");
    let weights: Tensor<D> = context.tensor(cotangent, tensor.dims(), "f64");
    // An infinity or NaN that the cotangent does not look at must not spoil the sum of the others.
    Some((float * weights).sum())
}

impl Produced {
    pub fn dense<const D: usize, K: Kind>(context: &Context, tensor: &Tensor<D, K>) -> Self {
        Self {
            shape: tensor.dims().to_vec(),
            dtype: dtype_name(tensor.dtype()),
            dense: read(tensor.clone().inner().into_data()),
            stored: None,
            loss: loss(context, tensor),
        }
    }

    pub fn sparse<P: Pattern, const D: usize, K: Kind>(context: &Context, tensor: &SparseTensor<P, D, K>) -> Self {
        let dense = if tensor.fill().is_undefined() { tensor.to_dense_or(0) } else { tensor.to_dense() };
        let coordinates = tensor.pattern().coordinates().clone();
        let [dims, nnz] = coordinates.dims();
        let flat: Vec<i64> = read(coordinates.into_data()).into_iter().map(Number::int).collect();
        let (values, value_loss) = match tensor.dense_dims() {
            0 => rows(context, tensor.values::<1>()),
            1 => rows(context, tensor.values::<2>()),
            _ => rows(context, tensor.values::<3>()),
        };
        let fill = match tensor.fill() {
            Fill::Undefined => None,
            Fill::Zero => Some(vec![Number::Int(0)]),
            Fill::Value(FillValue::Scalar(value)) => Some(vec![match value {
                Scalar::Float(value) => Number::Float(*value),
                value => Number::Int(value.elem()),
            }]),
            Fill::Value(FillValue::Block(block)) => Some(read(block.row().clone().inner().into_data())),
        };
        let block = tensor.dims()[tensor.sparse_dims()..].iter().product();
        let indices = (0..dims).map(|dim| flat[dim * nnz..(dim + 1) * nnz].to_vec()).collect();
        let stored = Stored { layout: P::LAYOUT, indices, values, fill, block };
        Self {
            shape: tensor.dims().to_vec(),
            dtype: dtype_name(tensor.dtype()),
            dense: read(dense.clone().inner().into_data()),
            stored: Some(stored),
            loss: if context.cotangent_on_values { value_loss() } else { loss(context, &dense) },
        }
    }
}

type ValueLoss<'a> = Box<dyn FnOnce() -> Option<Tensor<1>> + 'a>;

fn rows<'a, const R: usize, K: Kind>(context: &'a Context, values: Tensor<R, K>) -> (Vec<Number>, ValueLoss<'a>) {
    (read(values.clone().inner().into_data()), Box::new(move || loss(context, &values)))
}

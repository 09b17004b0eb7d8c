//! The kinds that inputs are drawn of.

use super::{Build, Draw, Fills, Host, Input, SharedFill, Values, Variant};
use burn::tensor::{Bool, BoolStore, DType, Device, Float, FloatDType, Int, Scalar, Tensor, TensorData};
use sparse_tensor::{Fill, Kind, SparseTensor};

/// Kinds that inputs are drawn of.
pub trait Drawn: Kind {
    const IS_FLOAT: bool;
    /// Whether there is arithmetic.
    const NUMERIC: bool;

    /// A fill that inputs with blocks of `block` elements may share.
    type Shared;

    /// A number of the host.
    fn scalar(number: f64) -> Scalar;

    /// The reference as floats: the tensor itself where it is one.
    fn real<const D: usize>(reference: Tensor<D, Self>) -> Tensor<D>;

    /// A fill for blocks of the dense dims; where `single`, one number whatever the block is.
    fn shared(draw: &mut Draw, block: usize, values: Values, fills: Fills, single: bool) -> Self::Shared;

    fn input<P: Build, const D: usize>(
        draw: &mut Draw,
        shape: [usize; D],
        sparse_dims: usize,
        values: Values,
        fill: &Self::Shared,
    ) -> Input<P, D, Self>;

    fn variant<const D: usize>(draw: &mut Draw, shape: [usize; D], values: Values) -> Variant<D, Self>;

    /// A reference of one number, like another.
    fn number<const D: usize>(number: f64, shape: [usize; D], like: &Tensor<D, Self>) -> Tensor<D, Self> {
        let zeros = Tensor::zeros(shape, (&like.device().inner(), like.dtype()));
        let all = Tensor::<D, Bool>::ones(shape, &like.device().inner());
        zeros.mask_fill(all, number)
    }
}

impl Drawn for Float {
    const IS_FLOAT: bool = true;
    const NUMERIC: bool = true;
    type Shared = SharedFill;

    fn scalar(number: f64) -> Scalar {
        Scalar::Float(number)
    }

    fn real<const D: usize>(reference: Tensor<D>) -> Tensor<D> {
        reference
    }

    fn shared(draw: &mut Draw, block: usize, values: Values, fills: Fills, single: bool) -> SharedFill {
        draw.fill(block, values, fills, single)
    }

    fn input<P: Build, const D: usize>(
        draw: &mut Draw,
        shape: [usize; D],
        sparse_dims: usize,
        values: Values,
        fill: &SharedFill,
    ) -> Input<P, D> {
        draw.filled(shape, sparse_dims, values, fill)
    }

    fn variant<const D: usize>(draw: &mut Draw, shape: [usize; D], values: Values) -> Variant<D> {
        draw.dense_float(shape, values)
    }
}

/// Kinds that have no gradient: numbers of the host say all of them.
macro_rules! plain {
    ($($kind:ident $numeric:literal $own:expr, $reference:expr,
        $element:ident: $of:expr, $fill:expr, $host:expr;)*) => {$(
        impl Drawn for $kind {
            const IS_FLOAT: bool = false;
            const NUMERIC: bool = $numeric;
            type Shared = f64;

            fn scalar(number: f64) -> Scalar {
                let of: fn(&f64) -> $element = $of;
                of(&number).into()
            }

            fn real<const D: usize>(reference: Tensor<D, Self>) -> Tensor<D> {
                reference.float().cast(FloatDType::F64)
            }

            fn shared(draw: &mut Draw, _: usize, values: Values, fills: Fills, _: bool) -> f64 {
                let values = if values == Values::Special { Values::Any } else { values };
                let number: fn(f64) -> f64 = $fill;
                if fills == Fills::Any && draw.coin() { number(draw.value(values)) } else { 0.0 }
            }

            fn input<P: Build, const D: usize>(
                draw: &mut Draw,
                shape: [usize; D],
                sparse_dims: usize,
                values: Values,
                fill: &f64,
            ) -> Input<P, D, Self> {
                let values = if values == Values::Special { Values::Any } else { values };
                let block = shape[sparse_dims..].iter().product();
                let mut host = draw.host(&shape, sparse_dims, values, &vec![*fill; block], true);
                let number: fn(f64) -> f64 = $host;
                host.values.iter_mut().for_each(|value| *value = number(*value));
                draw.inputs.push(format!("{} {host:?}", P::LAYOUT));
                let list = |values: &[f64]| values.iter().map($of).collect::<Vec<$element>>();
                let own: fn(&Draw) -> DType = $own;
                let dtype = own(draw);
                let make = |shape: &[usize]| TensorData::new(list(&host.values), shape.to_vec()).convert_dtype(dtype);
                let sparse = assemble_plain(&host, &make, &draw.device, dtype);
                let data = TensorData::new(list(&host.dense()), shape);
                let dense = Tensor::from_data(data, (&draw.reference, $reference));
                let number: fn(&f64) -> $element = $of;
                Input { sparse: sparse.with_fill(Fill::scalar(number(fill))), dense, host }
            }

            fn variant<const D: usize>(draw: &mut Draw, shape: [usize; D], values: Values) -> Variant<D, Self> {
                let list: Vec<f64> = draw.values(shape.iter().product(), values).into_iter().map($host).collect();
                draw.inputs.push(format!("dense {shape:?} {list:?}"));
                draw.has_empty |= shape.contains(&0);
                let data = || TensorData::new(list.iter().map($of).collect::<Vec<$element>>(), shape);
                let own: fn(&Draw) -> DType = $own;
                Variant {
                    own: Tensor::from_data(data().convert_dtype(own(draw)), (&draw.device, own(draw))),
                    reference: Tensor::from_data(data(), (&draw.reference, $reference)),
                }
            }
        }
    )*};
}
plain! {
    Int true |draw| draw.int, DType::I64, i64: |&value| value as i64, f64::trunc, f64::trunc;
    // Of duplicates any counts, which a sum of truths says too where it is not negative.
    Bool false |_| DType::Bool(BoolStore::Native), DType::Bool(BoolStore::Native), bool: |&value| value != 0.0, |_| 1.0,
        |value| f64::from(value > 0.0);
}

/// A sparse tensor of a kind that has no gradient.
fn assemble_plain<P: Build, const D: usize, K: Kind>(
    host: &Host,
    make: &dyn Fn(&[usize]) -> TensorData,
    device: &Device,
    dtype: DType,
) -> SparseTensor<P, D, K> {
    let (nnz, index) = (host.coordinates.len(), host.index_dtype());
    match host.shape[host.sparse_dims..] {
        [] => P::build::<D, 1, K>(host, Tensor::from_data(make(&[nnz]), (device, dtype)), index),
        [a] => P::build::<D, 2, K>(host, Tensor::from_data(make(&[nnz, a]), (device, dtype)), index),
        [a, b] => P::build::<D, 3, K>(host, Tensor::from_data(make(&[nnz, a, b]), (device, dtype)), index),
        _ => panic!("at most two dense dims"),
    }
}

//! Every kernel, declared once.
//!
//! A declaration names the arguments and the result of a kernel, as tensors of a user. The macro makes from it
//! - the struct of its arguments, generic over the type of their tensors;
//! - its [`Kernel`], so that the one method of [`SparseBackend`] serves it;
//! - its typed call, a function of the kernel's name;
//! - with the feature `remote`, how its arguments and its result are sent to another process, and the list of all
//!   kernels for a server.
//!
//! Each kernel also needs two bodies, which are methods of its arguments. `host` in `backends/host/` works on
//! [`HostTensor`]s. `gpu` in `backends/cube/` works on `CubeTensor`s, or returns the arguments, and then the host runs
//! the kernel.
//!
//! Index tensors of one call have the same dtype (i32 or i64). Values are `[nnz, block]`. An *index map* has the old
//! row of each new row, or the number of old rows for "missing". Sizes that determine the shape of a result are
//! arguments. So only the structure kernels (validation, coalesce, merges) ever read the device.

use crate::backend::{Kernel, SparseBackend};
use crate::host_tensor::HostTensor;
use crate::kernel_args::{IntoArg, KernelValue, Kind, Of, Sent};
use crate::kernel_views::{Epilogue, PatternArrays, Put, RowsView};
use crate::options::{ConcatAxis, MergeRule, PutTarget};
use burn::backend::Dispatch;
use burn::tensor::{DType, Float, Int, Tensor, TensorData};
use sparse_core::{
    Activation, AdamStep, BinaryOp, ColumnPass, Dropout, Extremum, Incomplete, ProductPlan, Result, ShiftedRows, Term,
    Triangle, TrianglePlan,
};

#[cfg(feature = "gpu")]
use crate::backend::Gpu;
#[cfg(feature = "remote")]
use crate::backend::InferOutput;
#[cfg(feature = "remote")]
use crate::codec::{Decoder, Encoder, Meta};
#[cfg(feature = "gpu")]
use burn_cubecl::tensor::CubeTensor;

// Types of a user.
type Ints = Tensor<1, Int>;
type Rows = RowsView<Tensor<1, Int>>;
type Arrays = PatternArrays<Tensor<1, Int>, Tensor<2, Int>>;

// For the structs of arguments, where kinds and ranks make no difference.
type K = Float;
const D: usize = 1;
const DI: usize = 1;

macro_rules! kernels {
    ($(
        $(#[$about:meta])*
        $name:ident $Args:ident $([$($generic:tt)*])? ($($field:ident: $ty:ty),* $(,)?) -> $out:ty;
    )*) => {$(
        #[doc(hidden)] // The call of its name is what users see.
        #[derive(Clone, Debug)]
        #[allow(missing_docs)]
        pub struct $Args<T> {
            $(pub $field: Of<$ty, T>),*
        }

        impl Kernel for $Args<()> {
            const NAME: &'static str = stringify!($name);
            type Args<T> = $Args<T>;
            type Output = $out;

            fn map<T, U>(args: $Args<T>, f: &mut impl FnMut(T) -> U) -> $Args<U> {
                $Args { $($field: <$ty as KernelValue>::map(args.$field, f)),* }
            }

            fn first<T>(args: &$Args<T>) -> &T {
                let first = None$(.or_else(|| <$ty as KernelValue>::first(&args.$field)))*;
                first.expect("a kernel takes a tensor")
            }

            fn host(args: $Args<HostTensor>) -> Of<$out, TensorData> {
                args.host()
            }

            #[cfg(feature = "gpu")]
            fn gpu(args: $Args<CubeTensor>) -> Gpu<Of<$out, CubeTensor>, $Args<CubeTensor>> {
                args.gpu()
            }

            #[cfg(feature = "remote")]
            fn encode<T>(args: &$Args<T>, encoder: &mut Encoder) {
                $(<$ty as KernelValue>::encode::<T>(&args.$field, encoder);)*
            }

            #[cfg(feature = "remote")]
            fn decode<T>(decoder: &mut Decoder<T>) -> $Args<T> {
                $Args { $($field: <$ty as KernelValue>::decode(decoder)),* }
            }

            #[cfg(feature = "remote")]
            fn infer_output(args: &mut $Args<Meta>) -> Option<Of<$out, Meta>> {
                args.infer_output()
            }
        }

        #[cfg(feature = "remote")]
        impl InferOutput for $Args<Meta> {
            type Output = $out;
        }

        impl $Args<Sent> {
            // In this crate and not in the caller's, so that bodies are compiled together with it.
            #[inline(never)]
            fn call(self) -> Of<$out, Sent> {
                <Dispatch as SparseBackend>::run::<$Args<()>>(self)
            }
        }

        $(#[$about])*
        #[allow(clippy::too_many_arguments)]
        pub fn $name $(<$($generic)*>)? ($($field: impl IntoArg<$ty>),*) -> $out {
            <$out as KernelValue>::receive($Args { $($field: <$ty as KernelValue>::send($field.into_arg())),* }.call())
        }
    )*

        /// Every declaration, as text.
        #[cfg(feature = "remote")]
        pub(crate) const DECLARATIONS: &[&str] = &[
            $(concat!(stringify!($name), $("|", stringify!($field), ":", stringify!($ty),)* "->", stringify!($out))),*
        ];

        /// Shows every kernel to a visitor.
        #[cfg(feature = "remote")]
        pub(crate) fn visit(visitor: &mut impl Visitor) {
            $(visitor.visit::<$Args<()>>();)*
        }
    };
}

/// Something to be done with every kernel.
#[cfg(feature = "remote")]
pub(crate) trait Visitor {
    fn visit<K: Kernel + 'static>(&mut self);
}

kernels! {
    /// Checks COO coordinates `[sparse_dims, nnz]` against `shape`. Returns whether they ascend strictly (are
    /// coalesced).
    validate_coo ValidateCoo(op: &'static str, indices: Tensor<2, Int>, shape: Vec<usize>) -> Result<bool>;

    /// Checks row pointers `[rows + 1]` and columns.
    validate_csr ValidateCsr(op: &'static str, row_ptr: Ints, col_idx: Ints, rows: usize, cols: usize) -> Result<()>;

    /// The distinct coordinates in lexicographic order, and the old elements of each: `(indices, order, ptr)`.
    coalesce Coalesce(indices: Tensor<2, Int>, shape: Vec<usize>) -> (Tensor<2, Int>, Ints, Ints);

    /// Groups positions by key in `[0, groups)`, stably: `(order, ptr)`.
    group_by GroupBy(keys: Ints, groups: usize) -> (Ints, Ints);

    /// The same, and the others in that order: `(order, ptr, others)`. With columns as keys and rows as the others this
    /// is a transpose.
    group_with GroupWith(keys: Ints, others: Ints, groups: usize) -> (Ints, Ints, Ints);

    /// Exclusive prefix sums of counts, followed by their total: `counts.len() + 1` entries.
    scan Scan(counts: Ints) -> Ints;

    /// The group of every element: the inverse of `compress`.
    expand_ptr ExpandPtr(ptr: Ints, nnz: usize) -> Ints;

    /// The same indices in the other index dtype. One that does not fit wraps.
    cast_ids CastIds(ids: Ints) -> Ints;

    /// Integers in another integer dtype, as the backend's own cast gives them. For remote devices: Burn 0.22's servers
    /// have no cast of integers, and end the session.
    cast_ints CastInts[const D: usize](values: Tensor<D, Int>, dtype: DType) -> Tensor<D, Int>;

    /// The least and the largest of some integers, of which there is one at least: two numbers.
    extremes Extremes(ints: Ints) -> Ints;

    /// Group boundaries of ascending group ids.
    compress Compress(ids: Ints, groups: usize) -> Ints;

    /// Row `k` of the result is row `map[k]` of `values`, or `fill` (`[1, block]`) where it is missing.
    move_rows MoveRows[K: Kind](values: Tensor<2, K>, fill: Tensor<2, K>, map: Ints) -> Tensor<2, K>;

    /// Row `rows[k]` of the result is row `k` of `values`; the others of its `size` rows are zero. `rows` ascend
    /// strictly.
    place_rows PlaceRows[K: Kind](values: Tensor<2, K>, rows: Ints, size: usize) -> Tensor<2, K>;

    /// Rows `[outer, inner]` in the order `[inner, outer]`: row `j * outer + i` of the result is row `i * inner + j` of
    /// `values`.
    swap_rows SwapRows[K: Kind](values: Tensor<2, K>, outer: usize) -> Tensor<2, K>;

    /// Row `s` of the result is the sum of rows `order[ptr[s]..ptr[s + 1]]`, in that order. Without `order` these are
    /// rows `ptr[s]..ptr[s + 1]`. For Bool: whether any is true.
    segment_sum SegmentSum[K: Kind](values: Tensor<2, K>, order: Option<Ints>, ptr: Ints) -> Tensor<2, K>;

    /// Running sums within segments. Row `k` of the result, in segment `s`, is the sum of rows `order[j]` (`j` without
    /// an order) over `j` from `ptr[s]` to `k`, or with `reverse` from `k` to `ptr[s + 1] - 1`. Every row is in a
    /// segment.
    segment_cumsum SegmentCumsum[K: Kind](
        values: Tensor<2, K>, order: Option<Ints>, ptr: Ints, reverse: bool,
    ) -> Tensor<2, K>;

    /// The softmax, or its logarithm, of each column within each segment of rows. Every row is in a segment. 16-bit
    /// floats are computed in f32.
    segment_softmax SegmentSoftmax(values: Tensor<2>, ptr: Ints, log: bool) -> Tensor<2>;

    /// The gradient of the values of `segment_softmax`, from its result and the gradient of that.
    segment_softmax_backward SegmentSoftmaxBackward(
        out: Tensor<2>, grad: Tensor<2>, ptr: Ints, log: bool,
    ) -> Tensor<2>;

    /// Sparse x dense: `out[r, :] = sum_k values[k] * dense[idx[k], :]`. Values are `[nnz, heads]`: the columns of
    /// `dense` are cut into `heads` parts of the same width, and value `h` multiplies part `h`. The same holds for the
    /// other products of a sparse and a dense matrix. There are `batch` operands `[cols, features]`, which lie one
    /// below the other, and so do the results. The bits of an epilogue are those of separate passes. The plan is of the
    /// view; it is used for one operand of one column on a CPU, with the same bits.
    spmm Spmm[K: Kind](
        view: Rows, plan: Option<ShiftedRows>, values: Tensor<2, K>, dense: Tensor<2, K>, batch: usize,
        epilogue: Epilogue<Tensor<2, K>>,
    ) -> Tensor<2, K>;

    /// The plan of `spmm` for a vector, where it pays. For CPUs.
    shifted_rows ShiftRows(view: Rows) -> Option<ShiftedRows>;

    /// Each value times 0 where it is dropped, and else times `1 / (1 - p)`. This is its own gradient too. It uses the
    /// memory of the values if nobody else does, as the next four kernels do. All of these are for CPUs.
    dropout DropValues[const D: usize](values: Tensor<D>, rule: Dropout) -> Tensor<D>;

    /// A bias `[1, features]` added to each row, and then ReLU, which leaves NaN.
    bias_relu BiasRelu(values: Tensor<2>, bias: Option<Tensor<2>>, relu: bool) -> Tensor<2>;

    /// The gradient where the result of ReLU is above zero or NaN, else 0.
    relu_backward ReluBackward(out: Tensor<2>, grad: Tensor<2>) -> Tensor<2>;

    /// An activation of each number.
    activate Activate[const D: usize](values: Tensor<D>, how: Activation) -> Tensor<D>;

    /// The gradient of what `activate` took, from that and the gradient of the result.
    activate_backward ActivateBackward[const D: usize](
        x: Tensor<D>, grad: Tensor<D>, how: Activation,
    ) -> Tensor<D>;

    /// A step of Adam on a CPU, for f32 and f64: the parameters and their moments after it. It uses the memory of the
    /// gradient and of the moments.
    adam_step StepAdam[const D: usize](
        x: Tensor<D>, first: Tensor<D>, second: Tensor<D>, grad: Tensor<D>, step: AdamStep,
    ) -> (Tensor<D>, Tensor<D>, Tensor<D>);

    /// Dense x dense on a CPU, in memory that is used again: `x` `[m, k]` and `y` `[k, n]`, or their transposes where
    /// `transposed` says so; then `rows` `[m, n]` are added. For f32 and f64. The bits of this and of an epilogue are
    /// those of separate passes.
    matmul Matmul(
        x: Tensor<2>, y: Tensor<2>, transposed: [bool; 2], rows: Option<Tensor<2>>, epilogue: Epilogue<Tensor<2>>,
    ) -> Tensor<2>;

    /// `spmm` of values of one head and then `matmul`, some rows at a time, which stay in the cache between the two:
    /// `(view values dense) weight` and what follows it. Also returns the rows between, to `keep` them. The bits are
    /// those of both kernels. For f32 and f64 on CPUs; on a GPU callers run the kernels of the parts.
    spmm_matmul SpmmMatmul(
        view: Rows, values: Tensor<2>, dense: Tensor<2>, weight: Tensor<2>, epilogue: Epilogue<Tensor<2>>, keep: bool,
    ) -> (Tensor<2>, Option<Tensor<2>>);

    /// Both gradients of [`spmm`] for floats, of the dense operand and of the values, in one walk on a CPU. `view` is
    /// the transpose, and `places` the inverse of its permutation. `rows` and `cols` have the row and the column of
    /// each element, in the order of the values.
    spmm_backward SpmmBackward(
        view: Rows, places: Option<Ints>, values: Tensor<2>, dense: Tensor<2>, grad: Tensor<2>, rows: Ints, cols: Ints,
    ) -> (Tensor<2>, Tensor<2>);

    /// Sparse x dense with an extremum in place of the sum: `out[r, :] = max_k values[k] * dense[idx[k], :]`. NaN wins.
    /// A row without elements gives 0. With `Term::Sum` it is `max_k values[k] + dense[idx[k], :]`, and a row without
    /// elements gives the lowest number (of a minimum the highest), which is an infinity of floats.
    spmm_extremum SpmmExtremum[K: Kind](
        extremum: Extremum, term: Term, view: Rows, values: Tensor<2, K>, dense: Tensor<2, K>,
    ) -> Tensor<2, K>;

    /// The first half of the gradient of `spmm_extremum`. `reads` are `[values, dense, out]`: its operands and its
    /// result. Returns `shares`, the gradient divided by the number of products that equal the result. With
    /// `need_values` also returns the gradient of the values: `sum_f shares[r, f] * dense[idx[k], f]` over these
    /// products of a head. Elements are in the order of their rows, and `rows` has the row of each. Of sums no operand
    /// is a factor: the gradient of a value is a sum of shares.
    extremum_rows_backward ExtremumRowsBackward(
        term: Term, rows: Ints, view: Rows, reads: [Tensor<2>; 3], grad: Tensor<2>, need_values: bool,
    ) -> (Tensor<2>, Option<Tensor<2>>);

    /// The second half, the gradient of the dense operand: `sum_k shares[idx[k], :] * values[k]` over the elements of
    /// each column whose product equals the result. `view` is the transpose. `reads` are `[values, dense, out]`.
    extremum_cols_backward ExtremumColsBackward(
        term: Term, view: Rows, reads: [Tensor<2>; 3], shares: Tensor<2>,
    ) -> Tensor<2>;

    /// Dense x dense, sampled at some elements: `out[k] = <x[rows[k], :], y[cols[k], :]>`. The columns of both are cut
    /// into `heads` parts of the same width, and `out` `[nnz, heads]` has the product of each.
    sddmm Sddmm[K: Kind](rows: Ints, cols: Ints, x: Tensor<2, K>, y: Tensor<2, K>, heads: usize) -> Tensor<2, K>;

    /// Attention over the rows of `view`, whose values are in order: `out[r, :] = sum_k w[k] * value[idx[k], :]`. The
    /// weights `w` are the softmax of `scores` `[nnz, heads]`, or of `scale` times the `sddmm` of a query and a key,
    /// and then dropout if there is any. Also returns the weights before that, to `keep` them. One walk for CPUs; on a
    /// GPU callers run the kernels of its parts.
    attend Attend(
        view: Rows, scores: Option<Tensor<2>>, factors: Option<[Tensor<2>; 2]>, scale: f64, heads: usize,
        value: Tensor<2>, drops: Option<Dropout>, keep: bool,
    ) -> (Tensor<2>, Option<Tensor<2>>);

    /// Sparse x sparse, pattern and values: compressed rows of width `cols`, columns ascending. An element is stored
    /// at the position of every product.
    spgemm Spgemm[K: Kind](
        a: (Rows, Tensor<2, K>), b: (Rows, Tensor<2, K>), cols: usize,
    ) -> Result<(Rows, Tensor<2, K>)>;

    /// The values of a sparse x sparse product whose compressed rows `c` (pointers and columns) are known, `cols` wide.
    /// A plan of these patterns makes it faster on a CPU.
    spgemm_values SpgemmValues[K: Kind](
        c: (Ints, Ints), a: (Rows, Tensor<2, K>), b: (Rows, Tensor<2, K>), cols: usize, plan: Option<ProductPlan>,
    ) -> Tensor<2, K>;

    /// A plan for `spgemm_values`, and with `mask` = A, X = C and Y = B for `spgemm_sampled`. `None` where it would not
    /// pay. For CPUs only.
    spgemm_plan SpgemmPlan(c: (Ints, Ints), a: Rows, b: Rows, cols: usize) -> Option<ProductPlan>;

    /// `out[e] = sum_j x[i, j] * y[k, j]` for each element `e = (i, k)` of the compressed rows `mask` (pointers and
    /// columns). `x` and `y` have `cols` columns.
    spgemm_sampled SpgemmSampled[K: Kind](
        mask: (Ints, Ints), x: (Rows, Tensor<2, K>), y: (Rows, Tensor<2, K>), cols: usize, plan: Option<ProductPlan>,
    ) -> Tensor<2, K>;

    /// `spgemm_sampled` with an extremum in place of the sum, of products or of sums as in `spmm_extremum`. Where no
    /// elements meet, it is what that gives for a row without elements. On a GPU it runs on the host.
    sampled_extremum SampledExtremum[K: Kind](
        extremum: Extremum, term: Term, mask: (Ints, Ints), x: (Rows, Tensor<2, K>), y: (Rows, Tensor<2, K>),
        cols: usize,
    ) -> Tensor<2, K>;

    /// The gradient of the `x` of `sampled_extremum`, in the order of its rows. `results` are the result and its
    /// gradient, at the positions that the mask names. That of `y` is the same with both swapped and the mask
    /// transposed.
    sampled_extremum_backward SampledExtremumBackward(
        term: Term, mask: Rows, x: (Rows, Tensor<2>), y: (Rows, Tensor<2>), cols: usize, results: [Tensor<2>; 2],
    ) -> Tensor<2>;

    /// `spgemm_values` with an extremum in place of the sum, of products or of sums as in `spmm_extremum`. On a GPU it
    /// runs on the host.
    spgemm_extremum SpgemmExtremum[K: Kind](
        extremum: Extremum, term: Term, c: (Ints, Ints), a: (Rows, Tensor<2, K>), b: (Rows, Tensor<2, K>), cols: usize,
    ) -> Tensor<2, K>;

    /// The gradient of the `a` of `spgemm_extremum`, in the order of its rows. `results` are the result and its
    /// gradient, at the positions that `c` names. That of `b` is the same for the transposed product.
    spgemm_extremum_backward SpgemmExtremumBackward(
        term: Term, c: Rows, a: (Rows, Tensor<2>), b: (Rows, Tensor<2>), cols: usize, results: [Tensor<2>; 2],
    ) -> Tensor<2>;

    /// The rows of the lower or the `upper` triangle of a square matrix in the order in which threads can share them.
    /// `None` where it would not pay. For CPUs only.
    triangle_plan SortTriangle(view: Rows, upper: bool) -> Option<TrianglePlan>;

    /// The rows of the lower or the `upper` triangle of a square matrix level by level: a row needs rows of the levels
    /// before its own only. Where each level begins and where the last one ends, then the rows, as one list; the former
    /// again; and the most elements beside the diagonal that a row of each has. For GPUs. Reads the device.
    triangle_levels LevelTriangle(view: Rows, upper: bool) -> (Ints, Vec<usize>, Vec<usize>);

    /// `x` with `A x = b`, where `A` is a triangle of the matrix of `view`: values `[nnz, 1]` of f32 or f64, `b` and
    /// `x` `[rows, features]`. The columns of each row ascend. An error names a row whose diagonal is zero: a GPU reads
    /// whether there is one, unless the diagonal is `known` to have none. A CPU takes a plan, a GPU the result of
    /// `triangle_levels`, without which it runs on the host.
    solve_triangular SolveTriangular(
        op: &'static str, view: Rows, values: Tensor<2>, triangle: Triangle, known: bool, plan: Option<TrianglePlan>,
        levels: Option<(Ints, Vec<usize>, Vec<usize>)>, b: Tensor<2>,
    ) -> Result<Tensor<2>>;

    /// Linear combinations of columns `[systems, n, F]` of f32 or f64, and dot products of them, in one pass; a scale
    /// is `[systems, 1, F]`. The results that are kept, on a CPU over vectors that nobody else uses, then for each pair
    /// its dot products `[systems, 1, F]`.
    column_pass PassColumns(
        pass: ColumnPass, vectors: Vec<Tensor<3>>, scales: Vec<Tensor<3>>,
    ) -> Vec<Tensor<3>>;

    /// `[B_1 B_2 ..] C` for each matrix `C`, of blocks `[n, k_i]` and matrices `[k_1 + k_2 + .., q]` of f32 or f64, in
    /// one pass.
    combine_columns CombineColumns(blocks: Vec<Tensor<2>>, matrices: Vec<Tensor<2>>) -> Vec<Tensor<2>>;

    /// Incomplete factors of a square matrix, or inverses of its blocks, as one matrix: values `[nnz, 1]` of f32 or
    /// f64. The columns of each row ascend. An error names a row whose pivot is of no use.
    incomplete Factorize(
        op: &'static str, view: Rows, values: Tensor<2>, how: Incomplete,
    ) -> Result<(Rows, Tensor<2>)>;

    /// Union or intersection of two coalesced patterns of one layout and shape. Also returns an index map into each
    /// side; a row that a side lacks has that side's number of elements.
    merge Merge(rule: MergeRule, a: Arrays, b: Arrays) -> (Arrays, Ints, Ints);

    /// For every element of `a`, its position in `b`, or the `nnz` of `b` if it is not there.
    locate Locate(a: Arrays, b: Arrays) -> Ints;

    /// Joins several patterns. Also returns the index map into the concatenated rows of the parts, or `None` if no row
    /// moves.
    concat_patterns ConcatPatterns(parts: Vec<Arrays>, axis: ConcatAxis) -> (Arrays, Option<Ints>);

    /// `concat_patterns` together with the values, in one pass. For values that need no gradient, and so no index map.
    concat Concat[K: Kind](parts: Vec<Arrays>, values: Vec<Tensor<2, K>>, axis: ConcatAxis) -> (Arrays, Tensor<2, K>);

    /// `out[k] = op(a[map_a[k]], b[map_b[k]])`. Missing rows are read as the fill rows `[1, block]`. Without a map a
    /// row stays in place.
    zip_rows ZipRows[K: Kind](
        op: BinaryOp, values: [Tensor<2, K>; 2], fills: [Tensor<2, K>; 2], maps: [Option<Ints>; 2],
    ) -> Tensor<2, K>;

    /// `merge` to the union and `zip_rows` in one pass. For values that need no gradient, and so no index maps.
    union_zip UnionZip[K: Kind](
        op: BinaryOp, patterns: [Arrays; 2], values: [Tensor<2, K>; 2], fills: [Tensor<2, K>; 2],
    ) -> (Arrays, Tensor<2, K>);

    /// Checks that every index is in `[-size, size)`.
    check_indices CheckIndices[const D: usize](
        op: &'static str, axis: usize, size: usize, index: Tensor<D, Int>,
    ) -> Result<()>;

    /// Reduces values into `arr`. Its buffer is reused if it is given by value and nobody shares it. With `record` a
    /// backend may also return which values were chosen. Only the gradient on the same backend reads this. On the host
    /// it is the winners `[outer * len * inner]` and the steps where a tie was seen, or the numbers of values of a mean
    /// (`sparse_core::Record`). On GPUs it is the values grouped by cell, `order` and `ptr`. If the second array is
    /// empty, the gradient needs neither the array nor the values nor the result.
    put PutRows[const D: usize, const DI: usize, K: Kind](
        put: Put<Tensor<DI, Int>, Ints>, arr: Tensor<D, K>, values: Tensor<D, K>, record: bool,
    ) -> (Tensor<D, K>, Option<(Ints, Ints)>);

    /// Gradients of `put` with respect to the array and the values, flat, as `needs` says. `reads` are the array, the
    /// values and the result. Each is given if `sparse_core::backward_reads` says so, unless there is a record without
    /// ties.
    put_backward PutBackward[const D: usize, const DI: usize](
        put: Put<Tensor<DI, Int>, Ints>, grad: Tensor<D>, record: Option<(Ints, Ints)>, reads: [Option<Tensor<D>>; 3],
        needs: [bool; 2],
    ) -> [Option<Tensor<1>>; 2];

    /// `out[o, k, i] = x[o, index, i]`, flat `[outer * count * inner]`.
    gather Gather[const D: usize, const DI: usize, K: Kind](
        x: Tensor<D, K>, index: Tensor<DI, Int>, target: PutTarget,
    ) -> Tensor<1, K>;
}

//! Clusters of points.

use burn::tensor::{Bool, Int, Tensor};
use rand::rngs::Xoshiro256PlusPlus;
use rand::{RngExt, SeedableRng};
use sparse_macros::or_panic;
use sparse_ops::extend::{Exact, index_below, read_all, read_data};
use sparse_ops::ops::{IndexPlan, Reduce};
use sparse_ops::{Result, SparseError};

/// Clusters of points. [`k_means`] finds them.
#[derive(Clone, Debug)]
pub struct KMeans {
    /// `[k, F]`: the mean of each cluster.
    pub centres: Tensor<2>,
    /// `[N]`: the cluster of each point.
    pub clusters: Tensor<1, Int>,
    /// The sum of the squared distances of all points to their centres.
    pub inertia: f64,
}

/// The clusters of points `x` `[N, F]` by Lloyd's algorithm: each point goes to the nearest of `k` centres, each centre
/// to the mean of its points, until no point changes its cluster, or 300 times.
///
/// The first centre is a random point, and each further one is drawn with a probability in proportion to its squared
/// distance to the nearest centre so far (k-means++). A centre without points stays where it is. The result is off the
/// autodiff tape. Cost: `O(N k F)` and one number for each point, read from the device, in each round. (scikit-learn's
/// `KMeans(k, n_init=1)`, which tries a few points for each centre.)
///
/// Source: Arthur, Vassilvitskii, *k-means++: the advantages of careful seeding*, SODA 2007.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use sparse_tensor::data::k_means;
///
/// let x = Tensor::<2>::from_floats([[0.0, 0.0], [9.0, 9.0], [0.0, 1.0], [9.0, 8.0]], &Device::flex());
/// let found = k_means(x, 2, 7);
/// let clusters: Vec<i64> = found.clusters.into_data().iter().collect();
/// assert!(clusters[0] == clusters[2] && clusters[1] == clusters[3] && clusters[0] != clusters[1]);
/// assert!((found.inertia - 1.0).abs() < 1e-5);
/// ```
///
/// # Errors
///
/// `invalid` unless `1 <= k <= N`, and for points that are not finite.
#[or_panic]
pub fn try_k_means(x: Tensor<2>, k: usize, seed: u64) -> Result<KMeans> {
    const OP: &str = "k_means";
    let (x, [count, width]) = (x.clone().inner(), x.dims());
    if k == 0 || k > count {
        return Err(SparseError::invalid(OP, format!("k must be in [1, {count}], the number of points, got {k}")));
    }
    let row = |at: usize| x.clone().narrow(0, at, 1);
    let mut rng = Xoshiro256PlusPlus::seed_from_u64(seed);
    let mut centres = row(rng.random_range(0..count));
    while centres.dims()[0] < k {
        let (_, far) = nearest(&x, &centres);
        let total: f64 = far.iter().sum();
        let mut left = rng.random::<f64>() * total;
        // Rounding may leave a rest; a point that is a centre has no distance.
        let drawn = far.iter().position(|&distance| {
            left -= distance;
            left < 0.0
        });
        let last = || far.iter().rposition(|&distance| distance > 0.0).unwrap_or(count - 1);
        centres = Tensor::cat(vec![centres, row(drawn.unwrap_or_else(last))], 0);
    }
    let mut old = vec![];
    for _ in 0..ROUNDS {
        let (clusters, far) = nearest(&x, &centres);
        if far.iter().any(|distance| !distance.is_finite()) {
            return Err(SparseError::invalid(OP, "points must be finite, got a distance that is not"));
        }
        if clusters == old {
            break;
        }
        let plan = IndexPlan::new(index_below(&clusters, k, &x.device()), k)?;
        let means = plan.try_put(centres.zeros_like(), 0, x.clone(), Reduce::Mean, false)?;
        let mut own = vec![false; k];
        clusters.iter().for_each(|&cluster| own[cluster] = true);
        let own = Tensor::<1, Bool>::from_data(own.as_slice(), &x.device()).reshape(Exact([k, 1]));
        centres = centres.mask_where(own.expand([k, width]), means);
        old = clusters;
    }
    let (clusters, far) = nearest(&x, &centres);
    Ok(KMeans { clusters: index_below(&clusters, k, &x.device()), centres, inertia: far.iter().sum() })
}

const ROUNDS: usize = 300;

/// The nearest centre of each point, the first of equal ones, and its squared distance.
fn nearest(x: &Tensor<2>, centres: &Tensor<2>) -> (Vec<usize>, Vec<f64>) {
    let k = centres.dims()[0];
    // The difference itself: |x|^2 - 2 x c + |c|^2 loses the digits of small distances.
    let far = (0..k).map(|at| (x.clone() - centres.clone().narrow(0, at, 1)).powi_scalar(2).sum_dim(1));
    let (least, nearest) = Tensor::cat(far.collect(), 1).min_dim_with_indices(1);
    let clusters = read_all(nearest.reshape(Exact([x.dims()[0]]))).into_iter().map(|at| at as usize).collect();
    (clusters, read_data(least).iter::<f64>().collect())
}

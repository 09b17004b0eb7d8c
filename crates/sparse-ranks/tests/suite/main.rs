//! Collectives of threads: broadcast, weighted means, errors of ranks.
#![allow(deprecated)] // NdArray is, and is tested all the same.

mod parallel;

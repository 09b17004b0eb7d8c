//! CubeCL: CUDA, ROCm, Vulkan, Metal and WebGPU.

use crate::{HostAccess, SparseBackend};
use burn_cubecl::CubeBackend;
use burn_fusion::{Fusion, FusionBackend};

impl SparseBackend for CubeBackend {}
impl HostAccess for CubeBackend {}

// Any crate of a build may turn Burn's fusion on, and then Dispatch's Cube is this type.
impl<B: FusionBackend + SparseBackend> SparseBackend for Fusion<B> {}
impl<B: FusionBackend> HostAccess for Fusion<B> {}

//! A graph that is larger than a machine, in parts, of which each rank owns one.

mod features;
mod message;
mod part;
mod sampler;

pub use features::PartFeatures;
pub use part::Partition;
pub use sampler::PartSampler;

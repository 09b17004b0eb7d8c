//! Two tables of embeddings, with row-sparse gradients and with dense ones.

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Initializer};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::activation::log_sigmoid;
use burn::tensor::{Device, Int, Tensor};
use sparse_tensor::nn::{RowAdam, RowAdamConfig, RowOptimizer, RowTable, RowTableConfig};

const START: Initializer = Initializer::Normal { mean: 0.0, std: 0.1 };

pub(crate) trait Model: Sized {
    const NAME: &'static str;

    /// The model after one step, and the loss before it. `users` is `[B]`; `items` `[2 B]` are those that they took,
    /// then those to compare with.
    fn step(self, lr: f64, users: Tensor<1, Int>, items: Tensor<1, Int>) -> (Self, f32);
}

/// The mean of `-log sigmoid(score of the item taken - score of the other one)`, from the rows of users `[B, D]` and of
/// items `[2 B, D]`.
fn loss(users: Tensor<2>, items: Tensor<2>) -> Tensor<1> {
    let count = users.dims()[0];
    let difference = items.clone().narrow(0, 0, count) - items.narrow(0, count, count);
    log_sigmoid((users * difference).sum_dim(1)).mean().neg()
}

/// Gradients have the rows of the batch, and a step changes these.
pub(crate) struct RowModel {
    pub(crate) users: RowTable,
    pub(crate) items: RowTable,
    optimizers: [RowAdam; 2],
}

impl RowModel {
    pub(crate) fn new(users: usize, items: usize, dim: usize, device: &Device) -> Self {
        let table = |rows| RowTableConfig::new(rows, dim).with_initializer(START).init(device);
        let (users, items) = (table(users), table(items));
        let optimizers = [&users, &items].map(|table| RowAdamConfig::new().init(table));
        Self { users, items, optimizers }
    }
}

impl Model for RowModel {
    const NAME: &'static str = "row-sparse";

    fn step(self, lr: f64, users: Tensor<1, Int>, items: Tensor<1, Int>) -> (Self, f32) {
        let Self { users: user_table, items: item_table, optimizers: [mut user_adam, mut item_adam] } = self;
        let (users, user_rows) = user_table.select(users);
        let (items, item_rows) = item_table.select(items);
        let loss = loss(users, items);
        let grads = loss.backward();
        let [user_grad, item_grad] = [user_rows, item_rows].map(|rows| rows.grad(&grads).expect("the loss reads it"));
        // The tables are moved, so that their rows change in place.
        let users = user_adam.step(lr, user_table, user_grad);
        let items = item_adam.step(lr, item_table, item_grad);
        (Self { users, items, optimizers: [user_adam, item_adam] }, loss.into_scalar::<f32>())
    }
}

/// Burn's tables: gradients have all rows, and a step changes all of them.
#[derive(Module, Debug)]
struct Tables {
    users: Embedding,
    items: Embedding,
}

pub(crate) struct DenseModel {
    tables: Tables,
    optimizer: ModuleOptimizer,
}

impl DenseModel {
    pub(crate) fn new(users: usize, items: usize, dim: usize, device: &Device) -> Self {
        let table = |rows| EmbeddingConfig::new(rows, dim).with_initializer(START).init(device);
        let tables = Tables { users: table(users), items: table(items) };
        Self { tables, optimizer: AdamConfig::new().with_epsilon(1e-8).init() }
    }
}

impl Model for DenseModel {
    const NAME: &'static str = "dense";

    fn step(self, lr: f64, users: Tensor<1, Int>, items: Tensor<1, Int>) -> (Self, f32) {
        let Self { tables, mut optimizer } = self;
        let users = tables.users.forward(users.unsqueeze()).squeeze_dim(0);
        let items = tables.items.forward(items.unsqueeze()).squeeze_dim(0);
        let loss = loss(users, items);
        let grads = GradientsParams::from_grads(loss.backward(), &tables);
        let tables = optimizer.step(lr, tables, grads);
        (Self { tables, optimizer }, loss.into_scalar::<f32>())
    }
}

//! Steps of recurrent networks in the dtype of their rows.

use burn::nn::{GateController, Gru, Lstm};
use burn::tensor::Tensor;
use burn::tensor::activation::sigmoid;

/// One step of an LSTM from its state, `[hidden, cell]`, in the dtype of the rows. (Burn's own steps join their outputs
/// in the default dtype of the device.)
pub(super) fn lstm_step(lstm: &Lstm, x: Tensor<2>, [hidden, cell]: [Tensor<2>; 2]) -> [Tensor<2>; 2] {
    let gate = |gate: &GateController| gate.gate_product(x.clone(), hidden.clone());
    let forget = lstm.forget_gate.as_ref().expect("gates of their own");
    let [input, forget, output] = [&lstm.input_gate, forget, &lstm.output_gate].map(|own| sigmoid(gate(own)));
    let cell = forget * cell + input * gate(&lstm.cell_gate).tanh();
    [output * cell.clone().tanh(), cell]
}

/// One step of a GRU from its state, in the dtype of the rows. (Burn's own writes it into a tensor of the default dtype
/// of the device.)
pub(super) fn gru_step(gru: &Gru, x: Tensor<2>, hidden: Tensor<2>) -> Tensor<2> {
    let gate = |gate: &GateController| sigmoid(gate.gate_product(x.clone(), hidden.clone()));
    let (reset, update) = (gate(&gru.reset_gate), gate(&gru.update_gate));
    let new = &gru.new_gate;
    let new = (new.input_transform.forward(x.clone()) + reset * new.hidden_transform.forward(hidden.clone())).tanh();
    new.clone() + update * (hidden - new)
}

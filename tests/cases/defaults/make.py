"""Writes what PyTorch's defaults do: defaults.json, a list of numbers for each name. Needs torch.

    python tests/cases/defaults/make.py

tests/suite/defaults.rs compares Burn with them, and docs/book/coming_from.md has the table.
"""
import json, pathlib
import torch
from torch import nn, optim

torch.manual_seed(0)
torch.set_default_dtype(torch.float64)
found = {"torch": torch.__version__}


def steps(optimizer, gradient, **options):
    """A parameter 1 after each of three steps with rate 0.1 and one gradient."""
    x = torch.ones(1, requires_grad=True)
    stepper, seen = optimizer([x], lr=0.1, **options), []
    for _ in range(3):
        x.grad = torch.full((1,), gradient)
        stepper.step()
        seen.append(x.item())
    return seen


for name in ["Adam", "AdamW", "RMSprop", "Adagrad", "SGD"]:
    found[f"{name}, gradient 1e-6"] = steps(getattr(optim, name), 1e-6)
    found[f"{name}, gradient 0.5"] = steps(getattr(optim, name), 0.5)
found["SGD, momentum 0.9"] = steps(optim.SGD, 0.5, momentum=0.9)
found["SGD, weight decay 0.1"] = steps(optim.SGD, 0.5, weight_decay=0.1)
found["Adam, weight decay 0.1"] = steps(optim.Adam, 0.01, weight_decay=0.1)

two = [torch.zeros(1, requires_grad=True) for _ in range(2)]
for x, gradient in zip(two, [3.0, 4.0]):
    x.grad = torch.tensor([gradient])
nn.utils.clip_grad_norm_(two, 1.0)
found["clip_grad_norm_"] = [x.grad.item() for x in two]


def rates(scheduler, *options):
    stepper = optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    schedule, seen = scheduler(stepper, *options), []
    for _ in range(6):
        seen += schedule.get_last_lr()
        stepper.step()
        schedule.step()
    return seen


found["CosineAnnealingLR"] = rates(optim.lr_scheduler.CosineAnnealingLR, 4)
found["StepLR"] = rates(optim.lr_scheduler.StepLR, 2)
found["ExponentialLR"] = rates(optim.lr_scheduler.ExponentialLR, 0.5)
found["LinearLR"] = rates(optim.lr_scheduler.LinearLR, 0.25, 1.0, 3)

# Norms of small numbers, so that the epsilon counts.
x = torch.tensor([[0.001], [0.002], [0.006]])
batch = nn.BatchNorm1d(1)
found["BatchNorm1d"] = batch(x).flatten().tolist()
batch = nn.BatchNorm1d(1)
batch(1000 * x)
found["BatchNorm1d, running"] = [batch.running_mean.item(), batch.running_var.item()]
found["LayerNorm"] = nn.LayerNorm(3)(x.T).flatten().tolist()
found["GroupNorm"] = nn.GroupNorm(1, 3)(x.T).flatten().tolist()
found["RMSNorm"] = nn.RMSNorm(3, dtype=torch.float32)(x.T.float()).flatten().tolist()
found["InstanceNorm1d, parameters"] = [sum(p.numel() for p in nn.InstanceNorm1d(3).parameters())]

logits = torch.tensor([[1.0, 2.0, 0.5], [0.0, 0.3, 3.0]])
found["CrossEntropyLoss"] = [nn.CrossEntropyLoss()(logits, torch.tensor([1, 0])).item()]
found["CrossEntropyLoss, ignored"] = [nn.CrossEntropyLoss()(logits, torch.tensor([1, -100])).item()]
found["CrossEntropyLoss, label_smoothing 0.1"] = [
    nn.CrossEntropyLoss(label_smoothing=0.1)(logits, torch.tensor([1, 0])).item()]
found["BCELoss"] = [nn.BCELoss()(torch.tensor([0.2, 0.9]), torch.tensor([0.0, 1.0])).item()]

# The largest weight and the largest bias of many, which are uniform.
largest = lambda layer: [layer.weight.abs().max().item(), layer.bias.abs().max().item()]
found["Linear"] = largest(nn.Linear(400, 300))
found["Conv2d"] = largest(nn.Conv2d(4, 64, 5))
found["LSTM"] = [max(p.abs().max().item() for p in nn.LSTM(10, 100).parameters())]
found["GRU"] = [max(p.abs().max().item() for p in nn.GRU(10, 100).parameters())]
table = nn.Embedding(1000, 50).weight
found["Embedding"] = [table.mean().item(), table.std().item()]
table = nn.EmbeddingBag(1000, 50).weight
found["EmbeddingBag"] = [table.mean().item(), table.std().item()]

attention = nn.MultiheadAttention(100, 4)
found["MultiheadAttention, dropout"] = [attention.dropout]
found["MultiheadAttention"] = [attention.in_proj_weight.abs().max().item(), attention.in_proj_bias.abs().max().item()]
found["TransformerEncoderLayer, of -1"] = nn.TransformerEncoderLayer(4, 2).activation(torch.tensor([-1.0])).tolist()

path = pathlib.Path(__file__).with_name("defaults.json")
path.write_text("{\n" + ",\n".join(f"{json.dumps(k)}: {json.dumps(v)}" for k, v in found.items()) + "\n}\n")

"""Writes what PyTorch Geometric computes with events in time, in f64: temporal.jsonl, one case a line.

    python tests/cases/graphs/temporal.py

Cases of `TGNMemory` are those of ../layers/more.py. One thing differs from PyTorch Geometric: nodes without an event
that waits keep their memory and their time, as in the paper. The other cases have plain lists. Needs torch and
torch_geometric; the tests of sparse-graphs and sparse-nn read the file.
"""
import json, pathlib, sys

sys.path[:0] = [str(pathlib.Path(__file__).parents[1] / "layers")]
import torch
from torch_geometric.data import TemporalData
from torch_geometric.nn.models import tgn

from more import CASES, GRU, case, linear, numbers, packed, recurrent, short

# Three users, four items; item 6 has no event.
NODES = 7
SOURCES = torch.tensor([0, 1, 0, 2, 1, 0, 0, 2, 1, 2])
TARGETS = torch.tensor([3, 3, 4, 3, 5, 4, 3, 4, 5, 5])
TIMES = torch.tensor([1, 2, 4, 5, 8, 9, 12, 15, 16, 20])
MESSAGES = short(torch.randn(10, 2, generator=torch.Generator().manual_seed(5)))


class Memory(tgn.TGNMemory):
    def _get_updated_memory(self, n_id):
        memory, last = super()._get_updated_memory(n_id)
        waits = torch.tensor([len(self.msg_s_store[i][0]) + len(self.msg_d_store[i][0]) > 0 for i in n_id.tolist()])
        memory = torch.where(waits.view(-1, 1), memory, self.memory[n_id])
        return memory, torch.where(waits, last, self.last_update[n_id])


class Run(torch.nn.Module):
    """Reads all nodes after two batches of training; then two of evaluation and what they leave; then codes."""

    def __init__(self, aggregator):
        super().__init__()
        self.memory = Memory(NODES, 2, 3, 3, tgn.IdentityMessage(2, 3, 3), aggregator)

    def take(self, begin, end):
        with torch.no_grad():
            self.memory.update_state(*(x[begin:end] for x in [SOURCES, TARGETS, TIMES, MESSAGES]))

    def forward(self):
        memory, nodes = self.memory, torch.arange(NODES)
        memory.train()
        memory.reset_state()
        self.take(0, 3)
        self.take(3, 6)
        read, last = memory(nodes)
        assert last.tolist() == [9, 8, 5, 5, 9, 8, 0]
        with torch.no_grad():
            memory.eval()
        self.take(6, 8)
        self.take(8, 10)
        return torch.cat([read, memory(nodes)[0].clone(), memory.time_enc(torch.tensor([0.0, 1.5, -7.0]))])


def memories():
    CASES.append({"id": "tgn/messages", "messages": numbers(MESSAGES)})
    for name, aggregator in [("last", tgn.LastAggregator()), ("mean", tgn.MeanAggregator())]:
        run = Run(aggregator)
        params, call = packed(run, recurrent("gru", "memory.gru.{}", GRU))
        case(f"tgn/{name}", call, params | linear("time", run.memory.time_enc.lin))


def lists(name, **given):
    plain = lambda x: x.tolist() if torch.is_tensor(x) else x
    CASES.append({"id": name, **{key: plain(value) for key, value in given.items()}})


def splits():
    times = torch.randint(0, 25, (40,), generator=torch.Generator().manual_seed(3)).sort().values
    data = TemporalData(src=torch.zeros(40).long(), dst=torch.zeros(40).long(), t=times, msg=torch.zeros(40, 1))
    shares = [[0.15, 0.15], [0.0, 0.0], [0.3, 0.45], [0.5, 0.5], [0.0, 1.0]]
    lists("events/split", times=times, shares=shares,
          out=[[part.num_events for part in data.train_val_test_split(*share)] for share in shares])


def last_events():
    loader = tgn.LastNeighborLoader(NODES, 3)
    out = []
    for begin, end in [(0, 4), (4, 5), (5, 10)]:
        loader.insert(SOURCES[begin:end], TARGETS[begin:end])
        for roots in [[3, 0, 6], [4, 5, 2, 1]]:
            nodes, (neighbours, roots_of), events = loader(torch.tensor(roots))
            # Root, neighbour and event of each edge.
            edges = sorted(zip(nodes[roots_of].tolist(), nodes[neighbours].tolist(), events.tolist()))
            out.append({"end": end, "roots": roots, "nodes": nodes.tolist(), "edges": edges})
    lists("events/last", sources=SOURCES, targets=TARGETS, times=TIMES, out=out)


CASES.clear()
for make in [memories, splits, last_events]:
    make()
path = pathlib.Path(__file__).with_suffix(".jsonl")
path.write_text("".join(json.dumps(one, separators=(",", ":")) + "\n" for one in CASES))
print(f"{len(CASES)} cases, {path.stat().st_size} bytes")

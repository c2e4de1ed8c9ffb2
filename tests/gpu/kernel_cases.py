"""Programs whose kernels are compared: each is a function that returns a function, the step."""

import functools

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)

    def forward(self, x):
        shape = (*x.shape[:2], 3, self.heads, -1)
        q, k, v = self.qkv(x).view(shape).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.out(y.transpose(1, 2).reshape(x.shape))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.attention = Attention(width, heads)
        self.mlp = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.mlp(self.norm2(x))


class GPT(nn.Module):
    def __init__(self, layers=4, width=256, heads=8, words=1000, checkpoints=False):
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.layers = nn.ModuleList(Layer(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, words)
        self.checkpoints = checkpoints

    def forward(self, tokens):
        x = self.embedding(tokens)
        for layer in self.layers:
            x = checkpoint(layer, x, use_reentrant=False) if self.checkpoints else layer(x)
        return self.head(self.norm(x))


def tokens():
    return torch.randint(0, 1000, (4, 128), device="cuda")


def train_step(model, inputs, loss_of=None, autocast=False):
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=True)

    def step():
        optimizer.zero_grad(set_to_none=True)
        with torch.autocast("cuda", dtype=torch.bfloat16, enabled=autocast):
            out = model(inputs)
            loss = loss_of(out) if loss_of else out.float().square().mean()
        loss.backward()
        optimizer.step()

    return step


def no_grad(model, *inputs):
    def step():
        with torch.no_grad():
            return model(*inputs)

    return step


def torchvision_model(name, train):
    import torchvision

    model = getattr(torchvision.models, name)(weights=None).cuda()
    x = torch.randn(2, 3, 224, 224, device="cuda")
    return train_step(model, x) if train else no_grad(model.eval(), x)


def gpt_autocast():
    return train_step(GPT().cuda(), tokens(), autocast=True)


def gpt_compiled():
    return train_step(torch.compile(GPT().cuda()), tokens(), autocast=True)


def gpt_reduce_overhead():
    return no_grad(torch.compile(GPT().cuda().eval(), mode="reduce-overhead"), tokens())


def gpt_reduce_overhead_training():
    compiled = torch.compile(GPT().cuda(), mode="reduce-overhead")
    return train_step(compiled, tokens(), autocast=True)


def gpt_checkpointed():
    return train_step(GPT(checkpoints=True).cuda(), tokens())


def graph_of_training():
    model, x = GPT(layers=2).cuda(), tokens()
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3)

    def work():
        optimizer.zero_grad(set_to_none=False)
        model(x).float().square().mean().backward()
        optimizer.step()

    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(3):
            work()
    torch.cuda.current_stream().wait_stream(side)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        work()

    def step():
        graph.replay()

    step.kept = work  # its tensors: the graph has their addresses only
    return step


def lstm():
    return train_step(LSTM().cuda(), torch.randn(16, 20, 64, device="cuda"))


class LSTM(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(64, 128, num_layers=2, batch_first=True)
        self.head = nn.Linear(128, 10)

    def forward(self, x):
        return self.head(self.lstm(x)[0][:, -1])


def two_streams():
    first, second = nn.Linear(1024, 1024).cuda(), nn.Linear(512, 512).cuda()
    x, y = torch.randn(64, 1024, device="cuda"), torch.randn(64, 512, device="cuda")
    streams = torch.cuda.Stream(), torch.cuda.Stream()

    def step():
        for stream, layer, inputs in zip(streams, (first, second), (x, y), strict=True):
            with torch.cuda.stream(stream), torch.no_grad():
                for _ in range(5):
                    layer(inputs).relu_()
        for stream in streams:
            torch.cuda.current_stream().wait_stream(stream)

    return step


class Squares(torch.utils.data.Dataset):
    def __len__(self):
        return 64

    def __getitem__(self, index):
        return torch.full((64,), float(index))


def loader_workers():
    model = nn.Sequential(nn.Linear(64, 128), nn.ReLU(), nn.Linear(128, 8)).cuda()
    loader = torch.utils.data.DataLoader(Squares(), batch_size=16, num_workers=2)

    def step():
        for batch in loader:
            model(batch.cuda()).sum().backward()

    return step


class Blocks(nn.Module):
    """Two identical blocks of different width, so that the size of a kernel shows its block."""

    def __init__(self):
        super().__init__()
        self.small = nn.Sequential(nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256))
        self.large = nn.Sequential(nn.Linear(2048, 2048), nn.ReLU(), nn.Linear(2048, 2048))

    def forward(self, x):
        return self.large(F.pad(self.small(x), (0, 1792)))


def two_blocks():
    return train_step(Blocks().cuda(), torch.randn(64, 256, device="cuda"))


CASES = {
    "resnet50 forward": functools.partial(torchvision_model, "resnet50", False),
    "resnet50 training": functools.partial(torchvision_model, "resnet50", True),
    "vit_b_16 forward": functools.partial(torchvision_model, "vit_b_16", False),
    "vit_b_16 training": functools.partial(torchvision_model, "vit_b_16", True),
    "gpt with autocast": gpt_autocast,
    "gpt with autocast, compiled": gpt_compiled,
    "gpt forward, reduce-overhead": gpt_reduce_overhead,
    "gpt with autocast, reduce-overhead": gpt_reduce_overhead_training,
    "gpt with checkpointing": gpt_checkpointed,
    "graph of a training step": graph_of_training,
    "lstm": lstm,
    "two streams": two_streams,
    "loader workers": loader_workers,
    "two blocks": two_blocks,
}

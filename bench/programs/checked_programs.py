"""Programs that check the costs of profiler_cost.def. No cost is a fit to them, but their results
were looked at when limits were chosen; those of unseen_programs.py were not. `make(device)` returns
the function that runs one step; CHECKED names the options with which bench/profiler_cost.py records
each.
"""

import itertools

import numpy
import torch
from profiler_programs import training_step
from torch import nn
from torch.nn import functional


class Mobile(nn.Module):
    """An inverted bottleneck with a depthwise convolution."""

    def __init__(self, width):
        super().__init__()
        wide = 4 * width
        self.body = nn.Sequential(
            nn.Conv2d(width, wide, 1, bias=False),
            nn.BatchNorm2d(wide),
            nn.Hardswish(),
            nn.Conv2d(wide, wide, 3, padding=1, groups=wide, bias=False),
            nn.BatchNorm2d(wide),
            nn.Hardswish(),
            nn.Conv2d(wide, width, 1, bias=False),
            nn.BatchNorm2d(width),
        )

    def forward(self, x):
        return x + self.body(x)


def make_mobile(device):
    model = nn.Sequential(nn.Conv2d(3, 16, 3, 2, 1), *[Mobile(16) for _ in range(6)])
    return training_step(model, torch.randn(2, 3, 64, 64), device, torch.optim.SGD)


class Patches(nn.Module):
    """A vision transformer of torch's own layers."""

    def __init__(self):
        super().__init__()
        self.embed = nn.Conv2d(3, 96, 8, 8)
        self.token = nn.Parameter(torch.zeros(1, 1, 96))
        self.place = nn.Parameter(torch.zeros(1, 65, 96))
        layer = nn.TransformerEncoderLayer(96, 3, 384, activation="gelu", norm_first=True,
                                           batch_first=True)  # fmt: skip
        self.blocks = nn.TransformerEncoder(layer, 5, enable_nested_tensor=False)
        self.head = nn.Linear(96, 10)

    def forward(self, images):
        x = self.embed(images).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.place
        return self.head(self.blocks(x)[:, 0])


def make_patches(device):
    return training_step(Patches(), torch.randn(4, 3, 64, 64), device)


def make_waves(device):
    """Dilated convolutions over a signal, with gates."""

    class Waves(nn.Module):
        def __init__(self):
            super().__init__()
            self.filters = nn.ModuleList(nn.Conv1d(24, 48, 2, dilation=2**i) for i in range(8))
            self.skips = nn.ModuleList(nn.Conv1d(24, 24, 1) for _ in range(8))

        def forward(self, x):
            total = 0
            for layer, skip in zip(self.filters, self.skips, strict=True):
                left, right = layer(x).chunk(2, 1)
                gated = torch.tanh(left) * torch.sigmoid(right)
                x = x[..., -gated.shape[-1] :] + gated
                total = total + skip(gated).mean(-1)
            return total

    return training_step(Waves(), torch.randn(4, 24, 600), device, torch.optim.Adam)


def make_adversarial(device):
    """Two networks and two optimizers."""
    maker = nn.Sequential(nn.Linear(32, 128), nn.LeakyReLU(), nn.Linear(128, 256)).to(device)
    judge = nn.Sequential(nn.Linear(256, 128), nn.LeakyReLU(), nn.Linear(128, 1)).to(device)
    optimizers = [torch.optim.Adam(part.parameters(), lr=1e-4) for part in (maker, judge)]
    real = torch.randn(64, 256, device=device)

    def step():
        fake = maker(torch.randn(64, 32, device=device))
        loss = functional.softplus(judge(fake.detach())) + functional.softplus(-judge(real))
        optimizers[1].zero_grad()
        loss.mean().backward()
        optimizers[1].step()
        optimizers[0].zero_grad()
        functional.softplus(-judge(fake)).mean().backward()
        optimizers[0].step()

    return step


def make_contrast(device):
    """Two towers whose outputs are compared with each other."""

    class Towers(nn.Module):
        def __init__(self):
            super().__init__()
            self.left = nn.Sequential(nn.Linear(128, 256), nn.GELU(), nn.Linear(256, 64))
            self.right = nn.Sequential(nn.Linear(96, 256), nn.GELU(), nn.Linear(256, 64))

        def forward(self, both):
            left = functional.normalize(self.left(both[:, :128]), dim=-1)
            right = functional.normalize(self.right(both[:, 128:]), dim=-1)
            scores = left @ right.T / 0.07
            wanted = torch.arange(len(scores), device=scores.device)
            return functional.cross_entropy(scores, wanted)

    return training_step(Towers(), torch.randn(512, 224), device)


def make_clusters(device):
    """k-means: no module and no gradient."""
    points = torch.randn(2000, 16, device=device)

    @torch.no_grad()
    def step():
        centers = points[:20].clone()
        for _ in range(10):
            nearest = torch.cdist(points, centers).argmin(1)
            sums = torch.zeros_like(centers).index_add_(0, nearest, points)
            counts = torch.bincount(nearest, minlength=20).clamp(min=1)
            centers = sums / counts[:, None]
        return centers

    return step


def make_transport(device):
    """Sinkhorn's iteration, which is many reductions of one matrix."""
    costs = torch.rand(128, 128, device=device)

    @torch.inference_mode()
    def step():
        rows = columns = torch.zeros(128, device=device)
        for _ in range(60):
            rows = -torch.logsumexp(columns[None] - costs * 20, 1)
            columns = -torch.logsumexp(rows[:, None] - costs * 20, 0)
        return (rows[:, None] + columns[None] - costs * 20).exp()

    return step


def make_beams(device):
    """A search that keeps the best sequences, in Python around small ops."""
    table = nn.Embedding(200, 32).to(device)
    cell = nn.LSTMCell(32, 32).to(device)
    head = nn.Linear(32, 200).to(device)

    @torch.no_grad()
    def step():
        beams = [([0], 0.0, (torch.zeros(1, 32, device=device),) * 2)]
        for _ in range(8):
            grown = []
            for tokens, score, state in beams:
                last = torch.tensor([tokens[-1]], device=device)
                state = cell(table(last), state)
                values, ids = head(state[0]).log_softmax(-1).topk(3)
                for value, index in zip(values[0].tolist(), ids[0].tolist(), strict=True):
                    grown.append(([*tokens, index], score + value, state))
            beams = sorted(grown, key=lambda beam: -beam[1])[:3]
        return beams[0][0]

    return step


def make_fields(device):
    """A field of sines that fits an image, as one deep network of narrow layers."""

    class Sine(nn.Module):
        def __init__(self, inputs, outputs):
            super().__init__()
            self.linear = nn.Linear(inputs, outputs)

        def forward(self, x):
            return torch.sin(30 * self.linear(x))

    layers = [Sine(2, 64), *[Sine(64, 64) for _ in range(10)], nn.Linear(64, 3)]
    return training_step(nn.Sequential(*layers), torch.rand(400, 2), device, torch.optim.Adam)


def make_sets(device):
    """Attention over sets, written with einsum."""

    class Mixer(nn.Module):
        def __init__(self, width, heads):
            super().__init__()
            self.weights = nn.ParameterList(
                torch.randn(width, heads, width // heads) * 0.1 for _ in range(3)
            )
            self.back = nn.Parameter(torch.randn(heads, width // heads, width) * 0.1)

        def forward(self, x):
            query, key, value = (torch.einsum("bnw,whd->bhnd", x, w) for w in self.weights)
            scores = torch.einsum("bhnd,bhmd->bhnm", query, key).softmax(-1)
            return x + torch.einsum("bhnm,bhmd,hdw->bnw", scores, value, self.back)

    model = nn.Sequential(*[Mixer(64, 4) for _ in range(4)])
    return training_step(model, torch.randn(8, 50, 64), device)


def make_sampler(device):
    """A diffusion sampler: one small network many times, with schedules in Python."""
    network = nn.Sequential(nn.Linear(65, 128), nn.SiLU(), nn.Linear(128, 128), nn.SiLU(),
                            nn.Linear(128, 64)).to(device)  # fmt: skip

    @torch.no_grad()
    def step():
        x = torch.randn(16, 64, device=device)
        for i in range(30):
            level = 1 - i / 30
            time = torch.full((16, 1), level, device=device)
            noise = network(torch.cat([x, time], 1))
            x = (x - noise * 0.1 * level).clamp(-4, 4) + 0.01 * torch.randn_like(x)
        return x

    return step


def make_volumes(device):
    """Convolutions in three dimensions: few ops, much work."""
    model = nn.Sequential(
        nn.Conv3d(1, 8, 3, padding=1), nn.ReLU(), nn.MaxPool3d(2), nn.Conv3d(8, 16, 3, padding=1),
        nn.ReLU(), nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(16, 2),
    )  # fmt: skip
    return training_step(model, torch.randn(2, 1, 16, 16, 16), device, torch.optim.SGD)


def make_classifier(device):
    """A small perceptron that is trained with the data loader."""
    generator = torch.Generator().manual_seed(0)
    rows = torch.randn(4096, 20, generator=generator)
    dataset = torch.utils.data.TensorDataset(rows, (rows.sum(1) > 0).long())
    loader = torch.utils.data.DataLoader(dataset, batch_size=32, shuffle=True)
    model = nn.Sequential(nn.Linear(20, 64), nn.ReLU(), nn.Linear(64, 64), nn.ReLU(),
                          nn.Linear(64, 2)).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = endless(loader)

    def step():
        inputs, wanted = next(batches)
        optimizer.zero_grad()
        functional.cross_entropy(model(inputs.to(device)), wanted.to(device)).backward()
        optimizer.step()

    return step


def endless(loader):
    while True:
        yield from loader


class Reader(nn.Module):
    """A transformer that reads tokens, with its own attention."""

    def __init__(self, width, heads, depth):
        super().__init__()
        self.heads = heads
        self.table = nn.Embedding(500, width)
        self.mixes = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(depth))
        self.outputs = nn.ModuleList(nn.Linear(width, width) for _ in range(depth))
        self.norms = nn.ModuleList(nn.RMSNorm(width) for _ in range(depth))
        self.head = nn.Linear(width, 500)

    def forward(self, tokens):
        x = self.table(tokens)
        for mix, output, norm in zip(self.mixes, self.outputs, self.norms, strict=True):
            query, key, value = (
                part.unflatten(-1, (self.heads, -1)).transpose(1, 2)
                for part in mix(norm(x)).chunk(3, -1)
            )
            scores = (query @ key.transpose(-2, -1) / 8).softmax(-1)
            x = x + output((scores @ value).transpose(1, 2).flatten(2))
        return self.head(x)


def make_reader(device):
    model = Reader(128, 4, 6).to(device).eval()
    tokens = torch.randint(500, (2, 48), device=device)
    return torch.inference_mode()(lambda: model(tokens))


def make_compiled(device):
    """A model that torch.compile has turned into few large pieces."""
    layers = [nn.Sequential(nn.Linear(192, 192), nn.GELU(), nn.LayerNorm(192)) for _ in range(6)]
    model = torch.compile(nn.Sequential(*layers))
    return training_step(model, torch.randn(64, 192), device, torch.optim.Adam)


def make_single_tensor(device):
    """An optimizer that updates one parameter after the other."""
    layers = [nn.Sequential(nn.Linear(96, 96), nn.SiLU()) for _ in range(12)]
    return training_step(
        nn.Sequential(*layers), torch.randn(64, 96), device, torch.optim.Adam, foreach=False
    )


def make_arrays(device):
    """Steps of numpy between the ops, as in many simulations and data pipelines."""
    network = nn.Sequential(nn.Linear(30, 64), nn.ReLU(), nn.Linear(64, 30)).to(device)
    start = numpy.random.default_rng(0).normal(size=(40, 30)).astype("float32")

    @torch.no_grad()
    def step():
        state = start
        for _ in range(15):
            change = network(torch.from_numpy(state).to(device)).cpu().numpy()
            state = numpy.tanh(state + 0.1 * change)
            state = state - state.mean(axis=0)
        return state

    return step


def make_language(device):
    """An LSTM, cell by cell, that learns to name the next token."""

    class Language(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(300, 48)
            self.cell = nn.LSTMCell(48, 96)
            self.head = nn.Linear(96, 300)

        def forward(self, tokens):
            state, losses = None, []
            for now, wanted in itertools.pairwise(tokens):
                state = self.cell(self.table(now), state)
                losses.append(functional.cross_entropy(self.head(state[0]), wanted))
            return torch.stack(losses)

    return training_step(Language(), torch.randint(300, (20, 16)), device, torch.optim.Adam)


def make_large(device):
    """Few products, each of which takes long."""
    model = nn.Sequential(nn.Linear(768, 1024), nn.ReLU(), nn.Linear(1024, 768))
    return training_step(model, torch.randn(256, 768), device, torch.optim.SGD)


# name: (make, options of the recording)
CHECKED = {
    "classifier": (make_classifier, "usual"),
    "reader": (make_reader, "plain"),
    "reader_stacks": (make_reader, "usual"),
    "language": (make_language, "shapes"),
    "compiled": (make_compiled, "usual"),
    "single_tensor": (make_single_tensor, "usual"),
    "arrays": (make_arrays, "stacks"),
    "large": (make_large, "all"),
    "mobile": (make_mobile, "usual"),
    "patches": (make_patches, "all"),
    "waves": (make_waves, "shapes"),
    "adversarial": (make_adversarial, "usual"),
    "contrast": (make_contrast, "memory"),
    "clusters": (make_clusters, "plain"),
    "transport": (make_transport, "usual"),
    "beams": (make_beams, "usual"),
    "fields": (make_fields, "stacks"),
    "sets": (make_sets, "usual"),
    "sampler": (make_sampler, "all"),
    "volumes": (make_volumes, "memory"),
}

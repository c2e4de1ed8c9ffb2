"""Programs for bench/profiler_cost.py. `make(device)` returns the function that runs one step.

The costs in src/analyze/host/profiler_cost.def are a fit to all of them: to FIRST alone at first,
and then to both tables. So no program here tests the fit. Those of checked_programs.py and
unseen_programs.py do, because they took no part in it.
"""

import collections

import torch
from torch import nn
from torch.nn import functional


class Block(nn.Module):
    """A block of a transformer."""

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.inputs = nn.Linear(width, 3 * width)
        self.output = nn.Linear(width, width)
        self.rest = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        parts = self.inputs(self.norms[0](x)).unflatten(-1, (3, self.heads, -1))
        query, key, value = parts.permute(2, 0, 3, 1, 4)
        mixed = functional.scaled_dot_product_attention(query, key, value, is_causal=True)
        x = x + self.output(mixed.transpose(1, 2).flatten(2))
        return x + self.rest(self.norms[1](x))


def training_step(model, inputs, device, make_optimizer=torch.optim.AdamW, **options):
    model.to(device)
    inputs = inputs.to(device)
    optimizer = make_optimizer(model.parameters(), lr=1e-4, **options)

    def step():
        optimizer.zero_grad()
        model(inputs).square().mean().backward()
        optimizer.step()

    return step


def make_gpt(device):
    return training_step(
        nn.Sequential(*[Block(128, 4) for _ in range(8)]), torch.randn(4, 64, 128), device
    )


def make_convolutions(device):
    def block(channels):
        return nn.Sequential(
            nn.Conv2d(channels, channels, 3, padding=1), nn.BatchNorm2d(channels), nn.ReLU()
        )

    model = nn.Sequential(nn.Conv2d(3, 32, 3), *[block(32) for _ in range(16)])
    return training_step(model, torch.randn(4, 3, 34, 34), device)


def make_perceptron(device):
    layers = [nn.Sequential(nn.Linear(256, 256), nn.ReLU()) for _ in range(24)]
    return training_step(nn.Sequential(*layers), torch.randn(128, 256), device)


def make_decoder(device):
    """Inference of one token after the other: the smallest ops."""
    model = nn.Sequential(*[Block(256, 8) for _ in range(12)]).to(device).eval()
    token = torch.randn(1, 1, 256, device=device)
    return torch.no_grad()(lambda: model(token))


def make_recurrent(device):
    cell = nn.GRUCell(64, 64).to(device)
    inputs = torch.randn(48, 32, 64, device=device)

    def step():
        state = torch.zeros(32, 64, device=device)
        for x in inputs:
            state = cell(x, state)
        state.square().mean().backward()
        cell.zero_grad()

    return step


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.second = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.norms = nn.ModuleList(nn.GroupNorm(4, width) for _ in range(2))

    def forward(self, x):
        y = functional.silu(self.norms[0](self.first(x)))
        return functional.silu(x + self.norms[1](self.second(y)))


def make_residual(device):
    model = nn.Sequential(nn.Conv2d(3, 16, 3), *[Residual(16) for _ in range(6)])
    return training_step(
        model, torch.randn(2, 3, 32, 32), device, torch.optim.SGD, momentum=0.9, foreach=False
    )


def make_encoder(device):
    """Inference of torch's own encoder."""
    layer = nn.TransformerEncoderLayer(96, 4, 192, batch_first=True)
    model = nn.TransformerEncoder(layer, 6, enable_nested_tensor=False).to(device).eval()
    tokens = torch.randn(8, 40, 96, device=device)
    return torch.no_grad()(lambda: model(tokens))


class Recommender(nn.Module):
    def __init__(self):
        super().__init__()
        self.tables = nn.ModuleList(nn.EmbeddingBag(500, 16, mode="sum") for _ in range(20))
        self.top = nn.Sequential(nn.Linear(20 * 16, 64), nn.ReLU(), nn.Linear(64, 1))

    def forward(self, ids):
        return self.top(torch.cat([table(ids[:, i]) for i, table in enumerate(self.tables)], 1))


def make_recommender(device):
    ids = torch.randint(500, (64, 20, 4))
    return training_step(Recommender(), ids, device, torch.optim.Adagrad)


def make_graph_network(device):
    """Message passing with an index_add per layer, in functions instead of modules."""
    weights = [torch.randn(32, 32, device=device, requires_grad=True) for _ in range(10)]
    nodes = torch.randn(300, 32, device=device)
    source, target = torch.randint(300, (2, 1200), device=device)

    def step():
        x = nodes
        for weight in weights:
            messages = functional.leaky_relu(x[source] @ weight)
            x = x + torch.zeros_like(x).index_add(0, target, messages)
            x = x / x.norm(dim=1, keepdim=True).clamp(min=1)
        gradients = torch.autograd.grad(x.square().mean(), weights)
        with torch.no_grad():
            for weight, gradient in zip(weights, gradients, strict=True):
                weight -= 0.01 * gradient

    return step


def make_policy(device):
    """A game in plain Python whose policy is a tiny network."""
    policy = nn.Sequential(nn.Linear(4, 32), nn.Tanh(), nn.Linear(32, 2)).to(device)
    optimizer = torch.optim.Adam(policy.parameters(), lr=0.01)

    def move(state, action):
        x, v, angle, w = state
        force = 1.0 if action else -1.0
        return [x + 0.02 * v, v + 0.02 * force, angle + 0.02 * w, w + 0.02 * (angle - force)]

    def step():
        state, scores = [0.0, 0.0, 0.02, 0.0], []
        for _ in range(40):
            values = policy(torch.tensor(state, device=device))
            chosen = torch.distributions.Categorical(logits=values, validate_args=False)
            action = chosen.sample()
            scores.append(chosen.log_prob(action))
            state = move(state, action.item())
        optimizer.zero_grad()
        torch.stack(scores).sum().neg().backward()
        optimizer.step()

    return step


def make_autoencoder(device):
    class Autoencoder(nn.Module):
        def __init__(self):
            super().__init__()
            self.encode = nn.Sequential(nn.Linear(400, 200), nn.ELU(), nn.Linear(200, 40))
            self.decode = nn.Sequential(nn.Linear(20, 200), nn.ELU(), nn.Linear(200, 400))

        def forward(self, x):
            mean, log_variance = self.encode(x).chunk(2, -1)
            sample = mean + torch.randn_like(mean) * (0.5 * log_variance).exp()
            return functional.mse_loss(torch.sigmoid(self.decode(sample)), x)

    return training_step(Autoencoder(), torch.rand(32, 400), device, torch.optim.RMSprop)


def make_generation(device):
    """Tokens one by one, with a cache of keys and values that grows."""
    width, heads, layers = 128, 4, 4
    project = nn.ModuleList(nn.Linear(width, 3 * width) for _ in range(layers)).to(device)
    output = nn.ModuleList(nn.Linear(width, width) for _ in range(layers)).to(device)
    first = torch.randn(2, 1, width, device=device)

    @torch.inference_mode()
    def step():
        caches = collections.defaultdict(list)
        x = first
        for _ in range(12):
            for i in range(layers):
                parts = project[i](x).view(2, 1, 3, heads, -1).permute(2, 0, 3, 1, 4)
                caches[i].append(parts[1:])
                keys, values = torch.cat(caches[i], -2)
                x = functional.scaled_dot_product_attention(parts[0], keys, values)
                x = output[i](x.transpose(1, 2).reshape(2, 1, width))
        return x

    return step


def make_denoiser(device):
    """A small U-Net that runs forward only."""
    down = nn.ModuleList(nn.Conv2d(2**i * 8, 2**i * 16, 3, 2, 1) for i in range(3)).to(device)
    up = nn.ModuleList(
        nn.ConvTranspose2d(2**i * 16, 2**i * 8, 4, 2, 1) for i in reversed(range(3))
    ).to(device)
    image = torch.randn(2, 8, 48, 48, device=device)

    @torch.no_grad()
    def step():
        x, kept = image, []
        for layer in down:
            kept.append(x)
            x = functional.gelu(layer(x))
        for layer in up:
            x = functional.gelu(layer(x)) + kept.pop()
        return x

    return step


def make_second_order(device):
    """A gradient of a gradient."""
    model = nn.Sequential(*[nn.Sequential(nn.Linear(48, 48), nn.Tanh()) for _ in range(6)])
    model.to(device)
    points = torch.randn(64, 48, device=device, requires_grad=True)

    def step():
        value = model(points).sum()
        (slope,) = torch.autograd.grad(value, points, create_graph=True)
        (slope.square().mean() + value.square() * 1e-6).backward()
        model.zero_grad()

    return step


def make_lstm(device):
    class Tagger(nn.Module):
        def __init__(self):
            super().__init__()
            self.table = nn.Embedding(1000, 64)
            self.lstm = nn.LSTM(64, 64, 2, batch_first=True, bidirectional=True)
            self.head = nn.Linear(128, 10)

        def forward(self, tokens):
            return functional.log_softmax(self.head(self.lstm(self.table(tokens))[0]), -1)

    return training_step(Tagger(), torch.randint(1000, (8, 24)), device, torch.optim.Adam)


def make_mixture(device):
    """Experts that are chosen per token, each called with its own tokens."""
    experts = nn.ModuleList(
        nn.Sequential(nn.Linear(64, 128), nn.SiLU(), nn.Linear(128, 64)) for _ in range(8)
    ).to(device)
    gate = nn.Linear(64, 8).to(device)
    tokens = torch.randn(256, 64, device=device)

    @torch.no_grad()
    def step():
        x = tokens
        for _ in range(4):
            weight, chosen = gate(x).softmax(-1).topk(2)
            mixed = torch.zeros_like(x)
            for i, expert in enumerate(experts):
                rows, slots = torch.where(chosen == i)
                mixed.index_add_(0, rows, expert(x[rows]) * weight[rows, slots, None])
            x = functional.layer_norm(x + mixed, (64,))
        return x

    return step


FIRST = {
    "gpt": make_gpt,
    "convolutions": make_convolutions,
    "perceptron": make_perceptron,
    "decoder": make_decoder,
    "recurrent": make_recurrent,
}
LATER = {
    "residual": make_residual,
    "encoder": make_encoder,
    "recommender": make_recommender,
    "graph_network": make_graph_network,
    "policy": make_policy,
    "autoencoder": make_autoencoder,
    "generation": make_generation,
    "denoiser": make_denoiser,
    "second_order": make_second_order,
    "lstm": make_lstm,
    "mixture": make_mixture,
}

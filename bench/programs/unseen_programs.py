"""Programs that test the costs of profiler_cost.def. They ran for the first time when all costs,
factors and limits were fixed. `make(device)` returns the function that runs one step; UNSEEN names
the options with which bench/profiler_cost.py records each.
"""

import numpy
import torch
from profiler_programs import training_step
from torch import nn
from torch.nn import functional


def make_tables(device):
    """Matrix factorization: two tables, a product, and an optimizer that updates every row."""

    class Factors(nn.Module):
        def __init__(self):
            super().__init__()
            self.users = nn.Embedding(2000, 24)
            self.items = nn.Embedding(3000, 24)
            self.biases = nn.Embedding(3000, 1)

        def forward(self, pairs):
            users, items = pairs.unbind(1)
            scores = (self.users(users) * self.items(items)).sum(-1)
            return torch.sigmoid(scores + self.biases(items).squeeze(-1))

    return training_step(Factors(), torch.randint(2000, (256, 2)), device, torch.optim.Adam)


def make_translation(device):
    """Inference of a recurrent encoder and decoder, one token after the other."""
    table = nn.Embedding(400, 64).to(device)
    encoder = nn.GRU(64, 96, batch_first=True).to(device)
    decoder = nn.GRUCell(64, 96).to(device)
    head = nn.Linear(96, 400).to(device)
    tokens = torch.randint(400, (4, 16), device=device)

    @torch.no_grad()
    def step():
        state = encoder(table(tokens))[1][0]
        token, found = tokens[:, 0], []
        for _ in range(16):
            state = decoder(table(token), state)
            token = head(state).argmax(-1)
            found.append(token)
        return torch.stack(found, 1)

    return step


class Coupling(nn.Module):
    """A layer of a normalizing flow."""

    def __init__(self, width):
        super().__init__()
        self.network = nn.Sequential(
            nn.Linear(width // 2, 48), nn.ReLU(), nn.Linear(48, 2 * (width - width // 2))
        )

    def forward(self, x):
        kept, changed = x.chunk(2, -1)
        log_scale, shift = self.network(kept).chunk(2, -1)
        log_scale = torch.tanh(log_scale)
        changed = changed * log_scale.exp() + shift
        return torch.cat([changed, kept], -1)


def make_flow(device):
    model = nn.Sequential(*[Coupling(32) for _ in range(8)])
    return training_step(model, torch.randn(128, 32), device, torch.optim.Adamax)


def make_spectral(device):
    """Layers that work on frequencies."""

    class Spectral(nn.Module):
        def __init__(self, width):
            super().__init__()
            self.weight = nn.Parameter(torch.randn(width, width, 8, 2) * 0.02)
            self.beside = nn.Conv1d(width, width, 1)

        def forward(self, x):
            waves = torch.fft.rfft(x)
            weight = torch.view_as_complex(self.weight)
            mixed = torch.einsum("bik,iok->bok", waves[..., :8], weight)
            waves = functional.pad(mixed, (0, waves.shape[-1] - 8))
            return functional.gelu(torch.fft.irfft(waves, n=x.shape[-1]) + self.beside(x))

    model = nn.Sequential(*[Spectral(24) for _ in range(4)])
    return training_step(model, torch.randn(8, 24, 128), device, torch.optim.Adam)


def make_per_sample(device):
    """Gradients of every sample by vmap."""
    model = nn.Sequential(nn.Linear(20, 40), nn.Tanh(), nn.Linear(40, 1)).to(device)
    parameters = {name: value.detach() for name, value in model.named_parameters()}
    inputs = torch.randn(64, 20, device=device)

    def loss(parameters, row):
        return torch.func.functional_call(model, parameters, (row,)).square().sum()

    gradients = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))
    return lambda: gradients(parameters, inputs)


def make_images(device):
    """Inference of a plain network with few and large convolutions."""
    model = nn.Sequential(
        nn.Conv2d(3, 32, 7, 2, 3), nn.ReLU(), nn.MaxPool2d(2), nn.Conv2d(32, 64, 3, 1, 1),
        nn.ReLU(), nn.Conv2d(64, 128, 3, 2, 1), nn.ReLU(), nn.AdaptiveAvgPool2d(1), nn.Flatten(),
        nn.Linear(128, 100),
    )  # fmt: skip
    model.to(device).eval()
    images = torch.randn(4, 3, 128, 128, device=device)
    return torch.inference_mode()(lambda: model(images))


def make_augmented(device):
    """Training on samples that are changed in Python and put together by the data loader."""

    class Samples(torch.utils.data.Dataset):
        def __len__(self):
            return 100000

        def __getitem__(self, index):
            image = torch.full((3, 16, 16), float(index % 7))
            if index % 2:
                image = image.flip(-1)
            return {"image": image + 0.1 * torch.randn(3, 16, 16), "label": index % 10}

    loader = torch.utils.data.DataLoader(Samples(), batch_size=8)
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, 2), nn.ReLU(), nn.Conv2d(16, 32, 3, 2), nn.ReLU(), nn.Flatten(),
        nn.Linear(288, 10),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9, nesterov=True)
    batches = iter(loader)

    def step():
        batch = next(batches)
        optimizer.zero_grad()
        outputs = model(batch["image"].to(device))
        functional.cross_entropy(outputs, batch["label"].to(device)).backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()

    return step


def make_logistic(device):
    """LBFGS, which runs the model several times in a step."""
    model = nn.Linear(50, 3).to(device)
    inputs = torch.randn(300, 50, device=device)
    wanted = torch.randint(3, (300,), device=device)
    optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=6)

    def closure():
        optimizer.zero_grad()
        loss = functional.cross_entropy(model(inputs), wanted)
        loss.backward()
        return loss

    return lambda: optimizer.step(closure)


def make_writer(device):
    """Tokens one by one; numpy chooses them."""
    width, heads = 96, 4
    table = nn.Embedding(256, width).to(device)
    layers = nn.ModuleList(
        nn.TransformerDecoderLayer(width, heads, 192, batch_first=True) for _ in range(2)
    )
    layers.to(device).eval()
    head = nn.Linear(width, 256).to(device)
    memory = torch.randn(1, 20, width, device=device)
    choose = numpy.random.default_rng(0)

    @torch.inference_mode()
    def step():
        tokens = [1]
        for _ in range(8):
            x = table(torch.tensor([tokens], device=device))
            for layer in layers:
                x = layer(x, memory)
            chances = head(x[0, -1]).softmax(-1).double().cpu().numpy()
            tokens.append(int(choose.choice(256, p=chances / chances.sum())))
        return tokens

    return step


def make_fused(device):
    """Inference of a model that torch.compile has made."""
    model = nn.Sequential(
        nn.Linear(256, 512), nn.SiLU(), nn.LayerNorm(512), nn.Linear(512, 512), nn.SiLU(),
        nn.LayerNorm(512), nn.Linear(512, 64),
    )  # fmt: skip
    compiled = torch.compile(model.to(device).eval())
    inputs = torch.randn(128, 256, device=device)
    return torch.no_grad()(lambda: compiled(inputs).softmax(-1))


def make_returns(device):
    """Discounted sums, as loops of tiny ops."""
    rewards = torch.rand(60, 16, device=device)
    values = torch.rand(61, 16, device=device)

    @torch.no_grad()
    def step():
        advantage, found = torch.zeros(16, device=device), []
        for i in reversed(range(60)):
            error = rewards[i] + 0.99 * values[i + 1] - values[i]
            advantage = error + 0.99 * 0.95 * advantage
            found.append(advantage)
        found = torch.stack(found)
        return (found - found.mean()) / (found.std() + 1e-6)

    return step


def make_teacher(device):
    """A small network learns from a larger one that is averaged over its steps."""
    layers = [nn.Sequential(nn.Linear(128, 128), nn.GELU(), nn.Dropout(0.1)) for _ in range(5)]
    student = nn.Sequential(*layers).to(device)
    teacher = nn.Sequential(*[nn.Sequential(nn.Linear(128, 128), nn.GELU()) for _ in range(5)])
    teacher.to(device)
    optimizer = torch.optim.AdamW(student.parameters(), lr=1e-4, foreach=False)
    inputs = torch.randn(96, 128, device=device)

    def step():
        with torch.no_grad():
            wanted = teacher(inputs)
        optimizer.zero_grad()
        functional.smooth_l1_loss(student(inputs), wanted).backward()
        optimizer.step()
        with torch.no_grad():
            for old, new in zip(teacher.parameters(), student.parameters(), strict=True):
                old.lerp_(new, 0.01)

    return step


# name: (make, options of the recording)
UNSEEN = {
    "tables": (make_tables, "shapes"),
    "translation": (make_translation, "stacks"),
    "flow": (make_flow, "usual"),
    "spectral": (make_spectral, "memory"),
    "per_sample": (make_per_sample, "usual"),
    "images": (make_images, "all"),
    "augmented": (make_augmented, "usual"),
    "logistic": (make_logistic, "shapes"),
    "writer": (make_writer, "usual"),
    "fused": (make_fused, "plain"),
    "returns": (make_returns, "plain"),
    "teacher": (make_teacher, "all"),
}

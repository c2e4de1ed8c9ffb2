"""Models for the observers' tests."""

import torch
from torch import nn


class Mlp(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(8, 16)
        self.relu = nn.ReLU()
        self.linear2 = nn.Linear(16, 4)

    def forward(self, x):
        return self.linear2(self.relu(self.linear1(x)))


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.conv1 = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(width)
        self.conv2 = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.conv2(torch.relu_(self.bn1(self.conv1(x)))))


class Cnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 8, 3)
        self.layer1 = nn.Sequential(Block(8), Block(8))
        self.pool = nn.MaxPool2d(2)
        self.fc = nn.Linear(8 * 49, 5)

    def forward(self, x):
        return self.fc(self.pool(self.layer1(self.conv1(x))).flatten(1))


def train(model, *inputs):
    output = model(*inputs)
    output = output[0] if isinstance(output, tuple) else output
    output.float().sum().backward()
    for parameter in model.parameters():
        parameter.grad = None


torch.manual_seed(0)
MODELS = {
    "mlp": (Mlp(), torch.ones(4, 8)),
    "cnn": (Cnn(), torch.ones(2, 3, 16, 16)),
    "transformer": (
        nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, dropout=0.1),
        torch.ones(2, 5, 16),
    ),
    "lstm": (nn.LSTM(6, 8, num_layers=2, batch_first=True), torch.ones(3, 4, 6)),
}

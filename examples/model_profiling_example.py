"""Captures every forward pass of four models as a file and a table, and reads the files.

python model_profiling_example.py              # nothing is recorded
pyrometer python model_profiling_example.py    # one file and one table per forward
"""

import torch
import torch.nn as nn

from pyrometer import capture_model, parse_model_trace


@capture_model(model_name="MyModel", record_shapes=True, profile_memory=True)
class MyModel(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear1 = nn.Linear(100, 50)
        self.linear2 = nn.Linear(50, 10)
        self.relu = nn.ReLU()

    def forward(self, x):
        x = self.relu(self.linear1(x))
        x = self.linear2(x)
        return x


@capture_model(model_name="SimpleCNN", record_shapes=True, profile_memory=True)
class SimpleCNN(nn.Module):
    def __init__(self, num_classes=10):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 32, kernel_size=3, padding=1)
        self.conv2 = nn.Conv2d(32, 64, kernel_size=3, padding=1)
        self.pool = nn.MaxPool2d(2, 2)
        self.relu = nn.ReLU()
        self.fc1 = nn.Linear(64 * 8 * 8, 128)
        self.fc2 = nn.Linear(128, num_classes)

    def forward(self, x):
        x = self.pool(self.relu(self.conv1(x)))
        x = self.pool(self.relu(self.conv2(x)))
        x = torch.flatten(x, 1)
        x = self.relu(self.fc1(x))
        return self.fc2(x)


class Bottleneck(nn.Module):
    expansion = 4

    def __init__(self, inplanes, planes, stride=1):
        super().__init__()
        self.conv1 = nn.Conv2d(inplanes, planes, kernel_size=1, bias=False)
        self.bn1 = nn.BatchNorm2d(planes)
        self.conv2 = nn.Conv2d(planes, planes, 3, stride=stride, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(planes)
        self.conv3 = nn.Conv2d(planes, planes * self.expansion, kernel_size=1, bias=False)
        self.bn3 = nn.BatchNorm2d(planes * self.expansion)
        self.relu = nn.ReLU(inplace=True)
        self.downsample = None
        if stride != 1 or inplanes != planes * self.expansion:
            self.downsample = nn.Sequential(
                nn.Conv2d(inplanes, planes * self.expansion, 1, stride=stride, bias=False),
                nn.BatchNorm2d(planes * self.expansion),
            )

    def forward(self, x):
        identity = x if self.downsample is None else self.downsample(x)
        x = self.relu(self.bn1(self.conv1(x)))
        x = self.relu(self.bn2(self.conv2(x)))
        x = self.bn3(self.conv3(x))
        return self.relu(x + identity)


@capture_model(model_name="ResNet", record_shapes=True, profile_memory=True)
class ResNet(nn.Module):
    """ResNet-50."""

    def __init__(self, num_classes=1000):
        super().__init__()
        self.conv1 = nn.Conv2d(3, 64, kernel_size=7, stride=2, padding=3)
        self.bn1 = nn.BatchNorm2d(64)
        self.relu = nn.ReLU(inplace=True)
        self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)

        self.layer1 = self._make_layer(64, 64, 3)
        self.layer2 = self._make_layer(256, 128, 4, stride=2)
        self.layer3 = self._make_layer(512, 256, 6, stride=2)
        self.layer4 = self._make_layer(1024, 512, 3, stride=2)

        self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
        self.fc = nn.Linear(512 * Bottleneck.expansion, num_classes)

    def _make_layer(self, inplanes, planes, blocks, stride=1):
        layers = [Bottleneck(inplanes, planes, stride)]
        layers += [Bottleneck(planes * Bottleneck.expansion, planes) for _ in range(1, blocks)]
        return nn.Sequential(*layers)

    def forward(self, x):
        x = self.conv1(x)
        x = self.bn1(x)
        x = self.relu(x)
        x = self.maxpool(x)

        x = self.layer1(x)
        x = self.layer2(x)
        x = self.layer3(x)
        x = self.layer4(x)

        x = self.avgpool(x)
        x = torch.flatten(x, 1)
        x = self.fc(x)

        return x


@capture_model(model_name="TransformerBlock", record_shapes=True, profile_memory=True)
class TransformerBlock(nn.Module):
    def __init__(self, embed_dim=64, num_heads=4, ff_dim=128):
        super().__init__()
        self.attention = nn.MultiheadAttention(embed_dim, num_heads, batch_first=True)
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.feed_forward = nn.Sequential(
            nn.Linear(embed_dim, ff_dim), nn.ReLU(), nn.Linear(ff_dim, embed_dim)
        )

    def forward(self, x):
        attended, _ = self.attention(x, x, x)
        x = self.norm1(x + attended)
        return self.norm2(x + self.feed_forward(x))


def analyze(trace_file, model_name):
    """Prints the layers of a file, slowest first."""
    analysis = parse_model_trace(trace_file, model_name)
    if not analysis:
        print(f"{trace_file} was not recorded")
        return
    print(f"\n{analysis['trace_file']}:")
    layers = sorted(analysis["layer_stats"].items(), key=lambda item: -item[1]["total_time_us"])
    for layer_name, stats in layers[:5]:
        total_time_ms = stats["total_time_us"] / 1000
        print(f"{layer_name}: {total_time_ms:.2f}ms")
        print(f"  Calls: {stats['call_count']}")
        print(f"  Shapes: {sorted(stats['shapes'])}")
        print(f"  Operations: {sorted(stats['operations'])}")


def main():
    torch.manual_seed(0)

    model = MyModel()
    for batch in (8, 16, 32, 64, 128):  # five passes of different shapes, five files
        print("MyModel", tuple(model(torch.randn(batch, 100)).shape))

    print("SimpleCNN", tuple(SimpleCNN()(torch.randn(4, 3, 32, 32)).shape))
    print("ResNet", tuple(ResNet().eval()(torch.randn(1, 3, 64, 64)).shape))
    print("TransformerBlock", tuple(TransformerBlock()(torch.randn(2, 16, 64)).shape))

    for number in range(1, 6):
        analyze(f"MyModel_forward_{number:03d}.json", "MyModel")


if __name__ == "__main__":
    main()

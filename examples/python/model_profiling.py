"""Profiles a transformers model: latency, throughput, memory, and an HTML report.

    python examples/python/model_profiling.py FOLDER [BASELINE.json]

FOLDER is a model saved by transformers, here a BERT. If BASELINE.json exists, the run is compared
with it; otherwise the run is saved as the baseline.
"""

import os
import sys

import torch

from pyrometer import ModelProfiler, detect_regressions, load_baseline

model_path = sys.argv[1] if len(sys.argv) > 1 else "models/bert-base-uncased"
baseline_path = sys.argv[2] if len(sys.argv) > 2 else "baseline_profiling.json"
on_gpu = torch.cuda.is_available()

# Initialize profiler
profiler = ModelProfiler(
    model_path=model_path,
    device="cuda" if on_gpu else "cpu",
    precision="fp16" if on_gpu else "fp32",
)

# Prepare sample data
sample_inputs = torch.randint(0, 1000, (32, 128))  # batch_size=32, seq_len=128

# Run profiling
results = profiler.profile(
    input_data=sample_inputs,
    num_runs=100,
    warmup_runs=10,
    detailed_analysis=True,
)

# Print key metrics
print(f"Average Latency: {results['latency']['mean']:.2f}ms")
print(f"Throughput: {results['throughput']['samples_per_second']:.0f} samples/s")
print(f"Peak Memory: {results['memory']['peak'] / 1024**3:.2f} GB")
for row in profiler.recommendations():
    print(f"{row['subject']}: {row['recommendation']} ({row['gain']})")

# Generate report
profiler.generate_html_report("bert_profiling_report.html")

if not os.path.exists(baseline_path):
    profiler.export_json(baseline_path)

# Compare with baseline
baseline_results = load_baseline(baseline_path)
current_results = profiler.profile(model_path)

regressions = detect_regressions(baseline_results, current_results)
if regressions:
    print(f"Performance regressions detected: {regressions}")

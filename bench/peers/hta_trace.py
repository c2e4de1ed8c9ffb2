"""Loads a trace with HolisticTraceAnalysis and runs two analyses: python hta_trace.py TRACE"""

import contextlib
import io
import logging
import os
import sys
import warnings

os.environ.setdefault("HTA_PARSER_BACKEND", "json")
logging.disable(logging.CRITICAL)
warnings.filterwarnings("ignore")

from hta.trace_analysis import TraceAnalysis  # noqa: E402

with contextlib.redirect_stdout(io.StringIO()):
    analysis = TraceAnalysis(
        trace_files={0: sys.argv[1]}, trace_dir="", include_last_profiler_step=True
    )
    analysis.get_temporal_breakdown(visualize=False)
    analysis.get_gpu_kernel_breakdown(visualize=False)

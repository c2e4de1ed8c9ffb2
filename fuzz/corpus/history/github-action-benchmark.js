window.BENCHMARK_DATA = {
  "lastUpdate": 1790000000000,
  "repoUrl": "https://example.com/demo",
  "entries": {
    "Rust Benchmark": [
      {
        "commit": {"id": "aaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaaa", "timestamp": "2026-09-01T00:00:00Z"},
        "date": 1788220800000, "tool": "cargo",
        "benches": [{"name": "fib_20", "value": 24149, "range": "± 755", "unit": "ns/iter"}]
      },
      {
        "commit": {"id": "bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb", "timestamp": "2026-09-02T00:00:00Z"},
        "date": 1788307200000, "tool": "customBiggerIsBetter",
        "benches": [{"name": "requests", "value": 1200, "unit": "req"}]
      }
    ]
  }
}

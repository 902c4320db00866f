"""Benchmarks of speed and memory: somelab, the published notebooks, a dense block and other libraries, in one
run. `suite.BENCHES` lists the benchmarks; `somelab bench` runs them."""

"""What is claimed about speed and memory, measured: ours, the notebooks' way, a dense block and peers, in one run.
`suite.BENCHES` lists the benchmarks; `somelab bench` runs them."""

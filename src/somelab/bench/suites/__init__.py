"""The benchmarks, one file each."""

"""From run folders to numbers: usage, combinations, maps of the keys, traces, guilds, drift, intervals over
random seeds."""

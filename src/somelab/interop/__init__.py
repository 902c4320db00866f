"""somelab and other tools: Hugging Face, trackers of experiments, evaluation tasks. Each tool is an extra,
and is imported when it is asked for."""

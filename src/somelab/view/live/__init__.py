"""The page beside a run in progress: a local server, what it watches, and what it sends."""

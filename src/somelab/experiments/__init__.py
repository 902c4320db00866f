"""Experiments: the series of the seeds and one's own sweeps over seeds, and the ledger of what is true of the seeds' claims.
They use training as it is; nothing here is known to the rooms below."""

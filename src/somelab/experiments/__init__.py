"""Experiments: the published series and users' sweeps over random seeds, and the ledger of the reports'
claims. They use the packages below, which do not import from here."""

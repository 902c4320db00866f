"""Arms and random seeds of a plan, trained and summarised in one table."""

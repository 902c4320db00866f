"""The evidence ledger: claims, the runs that test them at tuned learning rates, their verdicts, and the page
about them."""

"""The command: one file per verb, dispatched by main. Heavy modules are imported only when a verb needs
them."""

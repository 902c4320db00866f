"""The command: one file a verb, dispatched by main. Nothing heavy is imported before a verb needs it."""

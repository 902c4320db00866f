"""One file a picture. Each has a function `draw` that runs the rules and returns a canvas."""
